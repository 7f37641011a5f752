package yarntest

import (
	"io"
	"net/http"
	"slices"
	"strings"
)

// proxy answers requests to the jobs' ApplicationMasters. If a job's
// ApplicationMaster does not run, the request is redirected as by the
// ResourceManager's proxy.
func (c *Fake) proxy(w http.ResponseWriter, r *http.Request) {
	a := c.appByID[r.PathValue("app")]
	host := "http://" + r.Host
	switch {
	case a == nil:
		c.notFound(w, r, r.PathValue("app"))
		return
	case a.ended() && len(a.masters) > 0 && a.state != "KILLED":
		w.Header().Set("Location", "http://master:19888/jobhistory/job/job_"+a.serial+r.URL.Path[len("/proxy/"+a.id):])
	case a.ended(), a.state != "RUNNING":
		w.Header().Set("Location", host+"/cluster/app/"+a.id)
	}
	if w.Header().Get("Location") != "" {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusFound)
		_, _ = io.WriteString(w, "<html><title>Moved</title></html>")
		return
	}
	path := strings.TrimPrefix(r.URL.Path, "/proxy/"+a.id+"/ws/v1/mapreduce/")
	c.job(w, r, strings.Split(path, "/"), false, []*app{a})
}

// history answers requests to the JobHistory server, which has the jobs that
// have ended.
func (c *Fake) history(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/ws/v1/history/")
	if path == "info" {
		c.write(w, r, natural, "historyInfo", func(w *writer) {
			w.num("startedOn", c.id)
			w.text("hadoopVersion", c.version())
		})
		return
	}
	var ended []*app
	for _, a := range c.apps {
		if a.ended() && len(a.masters) > 0 {
			ended = append(ended, a)
		}
	}
	c.job(w, r, strings.Split(strings.TrimPrefix(path, "mapreduce/"), "/"), true, ended)
}

// job answers requests to an ApplicationMaster or the history server whose path
// starts with "jobs": for one job, its tasks and their attempts.
func (c *Fake) job(w http.ResponseWriter, r *http.Request, path []string, history bool, apps []*app) {
	if path[0] != "jobs" || len(path) == 1 {
		c.notFound(w, r, "path")
		return
	}
	i := slices.IndexFunc(apps, func(a *app) bool { return "job_"+a.serial == path[1] })
	if i < 0 {
		c.notFound(w, r, "job, "+path[1]+", is")
		return
	}
	a, rest := apps[i], path[2:]
	switch {
	case len(rest) == 0:
		c.write(w, r, natural, "job", func(w *writer) { a.write(w, history) })
	case rest[0] == "tasks" && len(rest) == 1:
		c.write(w, r, natural, "tasks", func(w *writer) {
			w.list("task", len(a.tasks), func(i int) { a.tasks[i].write(w) })
		})
	case rest[0] == "tasks":
		c.task(w, r, a, rest[1:])
	default:
		c.notFound(w, r, "path")
	}
}

func (c *Fake) task(w http.ResponseWriter, r *http.Request, a *app, path []string) {
	t := a.byTask[path[0]]
	if t == nil {
		c.notFound(w, r, "task not found with id "+path[0])
		return
	}
	if len(path) == 2 && path[1] == "counters" {
		c.write(w, r, natural, "jobTaskCounters", func(w *writer) { t.writeCounters(w) })
		return
	}
	if len(path) == 1 || path[1] != "attempts" {
		c.notFound(w, r, "path")
		return
	}
	if len(path) == 2 {
		c.write(w, r, natural, "taskAttempts", func(w *writer) { t.writeAttempts(w) })
		return
	}
	x := a.attemptByName[path[2]]
	switch {
	case x == nil || x.task != t:
		c.notFound(w, r, "attempt, "+path[2]+", is")
	case len(path) == 4 && path[3] == "state" && r.Method == http.MethodPut:
		var body struct{ State string }
		if !c.read(w, r, &body) {
			return
		}
		if body.State == "KILLED" && !x.ended() {
			c.endAttempt(x, "KILLED")
		}
		c.write(w, r, mapped, "jobTaskAttemptState", func(w *writer) { w.text("state", "KILLED") })
	default:
		c.notFound(w, r, "path")
	}
}

func (a *app) jobState() string {
	if a.state == "FINISHED" {
		return "SUCCEEDED"
	}
	return a.state
}

func (a *app) write(w *writer, history bool) {
	if history {
		w.num("submitTime", ms(a.submitted))
	}
	w.num("startTime", ms(a.registered))
	w.text("id", "job_"+a.serial)
	w.text("user", a.User)
	w.text("state", a.jobState())
	w.num("mapsTotal", int64(len(a.Maps)))
	w.num("mapsCompleted", int64(a.mapsDone))
	w.num("reducesTotal", int64(a.Reduces))
	w.num("reducesCompleted", int64(a.reducesDone))
	if !history {
		maps, reduces := int64(0), int64(0)
		for _, t := range a.tasks {
			switch {
			case t.done || t.waiting || len(t.attempts) == 0:
			case t.reduce:
				reduces++
			default:
				maps++
			}
		}
		w.num("mapsRunning", maps)
		w.num("reducesRunning", reduces)
	}
	w.num("failedMapAttempts", int64(a.failedMap))
	w.num("killedMapAttempts", int64(a.killedMap))
	w.num("failedReduceAttempts", int64(a.failedReduce))
	w.num("killedReduceAttempts", int64(a.killedReduce))
}

func (t *task) write(w *writer) {
	state, successful := "SCHEDULED", ""
	started := t.since
	var finished int64
	for _, x := range t.attempts {
		if x.state == "RUNNING" {
			state, started = "RUNNING", x.started
		}
		if x.state == "SUCCEEDED" {
			state, started, finished, successful = "SUCCEEDED", x.started, ms(x.finished), x.id()
		}
	}
	w.num("startTime", ms(started))
	w.num("finishTime", finished)
	w.text("id", t.id())
	w.text("state", state)
	w.text("type", t.kind())
	w.text("successfulAttempt", successful)
}

// writeCounters writes the counters of a task into an answer: the one that
// Job.MapOutput gives a map that has succeeded.
func (t *task) writeCounters(w *writer) {
	w.text("id", t.id())
	if t.reduce || !t.done || t.app.MapOutput == nil {
		return
	}
	w.list("taskCounterGroup", 1, func(int) {
		w.text("counterGroupName", "org.apache.hadoop.mapreduce.TaskCounter")
		w.list("counter", 1, func(int) {
			w.num("value", t.app.MapOutput(t.index))
			w.text("name", "MAP_OUTPUT_MATERIALIZED_BYTES")
		})
	})
}

// writeAttempts writes the attempts of a task into an answer. An attempt that
// waits for a container has state STARTING, as in Hadoop.
func (t *task) writeAttempts(w *writer) {
	n := len(t.attempts)
	if t.waiting {
		n++
	}
	w.list("taskAttempt", n, func(i int) {
		if i < len(t.attempts) {
			t.attempts[i].write(w)
			return
		}
		w.num("startTime", 0)
		w.num("finishTime", 0)
		w.text("id", (&attempt{task: t, number: i}).id())
		w.text("state", "STARTING")
		w.text("type", t.kind())
	})
}

func (x *attempt) write(w *writer) {
	w.num("startTime", ms(x.started))
	w.num("finishTime", ms(x.finished))
	w.text("id", x.id())
	w.text("rack", x.container.node.Rack)
	w.text("state", x.state)
	w.text("nodeHttpAddress", x.container.node.Host+":8042")
	w.text("diagnostics", "")
	w.text("type", x.task.kind())
	w.text("assignedContainerId", x.container.id)
}
