package emulate

import (
	"encoding/json"
	"fmt"
	"html"
	"net"
	"net/http"
	"reflect"
	"time"

	"heddle/traces"
	"heddle/traces/jhist"
	"heddle/yarnclient"
)

// amBeat is the property with the interval of an ApplicationMaster's heartbeats, in ms.
const amBeat = "yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms"

// serve serves the REST of all ApplicationMasters, to which the ResourceManager's proxy
// passes requests on, and the one setting that is asked of a history server.
func (c *Cluster) serve() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	c.web = "http://" + l.Addr().String()
	mux := http.NewServeMux()
	job := func(pattern string, answer func(m *master, r *http.Request) any) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			m, err := Files{c}.job(r.PathValue("job"))
			var body any
			if err == nil {
				body = answer(m, r)
			}
			if body == nil {
				http.Error(w, "no such job, task or attempt", http.StatusNotFound)
				return
			}
			reply(w, body)
		})
	}
	const at = "/ws/v1/mapreduce/jobs/{job}"
	job("GET "+at, func(m *master, _ *http.Request) any { return map[string]any{"job": wire(m.progress())} })
	job("GET "+at+"/tasks", func(m *master, _ *http.Request) any {
		return map[string]any{"tasks": map[string]any{"task": m.list()}}
	})
	job("GET "+at+"/tasks/{task}/attempts", func(m *master, r *http.Request) any {
		return m.ofTask(r, func(t *task) any {
			return map[string]any{"taskAttempts": map[string]any{"taskAttempt": t.attempts()}}
		})
	})
	job("GET "+at+"/tasks/{task}/counters", func(m *master, r *http.Request) any { return m.ofTask(r, (*task).counters) })
	job("PUT "+at+"/tasks/{task}/attempts/{attempt}/state", func(m *master, r *http.Request) any {
		if !m.killAttempt(r.PathValue("attempt")) {
			return nil
		}
		return map[string]any{"jobTaskAttemptState": map[string]any{"state": "KILLED"}}
	})
	// The proxy shows this page for whatever is asked of an ApplicationMaster that has unregistered.
	mux.HandleFunc("GET /jobhistory/job/{job}/", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "<html>%s has ended</html>", html.EscapeString(r.PathValue("job")))
	})
	mux.HandleFunc("GET /conf", func(w http.ResponseWriter, r *http.Request) {
		name, value := r.FormValue("name"), ""
		if name == amBeat {
			value = fmt.Sprint(time.Duration(c.Config.Machines.AMHeartbeat).Milliseconds())
		} else {
			w.WriteHeader(http.StatusNotFound)
		}
		reply(w, map[string]any{"property": map[string]any{"key": name, "value": value}})
	})
	c.server = &http.Server{Handler: mux, ReadHeaderTimeout: callLimit}
	go func() { _ = c.server.Serve(l) }() // it ends when it is closed
	return nil
}

func reply(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) // the caller may have gone
}

// wire returns a struct of package yarnclient as Hadoop's JSON has it.
func wire(x any) map[string]any {
	v, m := reflect.ValueOf(x), map[string]any{}
	for i := range v.NumField() {
		if name := v.Type().Field(i).Tag.Get("wire"); name != "" {
			m[name] = v.Field(i).Interface()
		}
	}
	return m
}

func (m *master) progress() yarnclient.Job {
	m.mu.Lock()
	defer m.mu.Unlock()
	j := yarnclient.Job{
		ID: m.id, User: m.h.User, State: "RUNNING", StartedMs: m.h.LaunchMs, Maps: len(m.Maps), Reduces: len(m.Reduces),
		MapsCompleted: len(m.Maps) - m.left[traces.Map], ReducesCompleted: len(m.Reduces) - m.left[traces.Reduce],
	}
	for _, list := range m.tasks {
		for _, t := range list {
			runs, killed := 0, max(0, len(t.h.Attempts)-1)
			if t.now != nil {
				runs = 1
			}
			if t.kind == traces.Map {
				j.MapsRunning, j.KilledMapAttempts = j.MapsRunning+runs, j.KilledMapAttempts+killed
			} else {
				j.ReducesRunning, j.KilledReduceAttempts = j.ReducesRunning+runs, j.KilledReduceAttempts+killed
			}
		}
	}
	j.RunningMapAttempts, j.RunningReduceAttempts = j.MapsRunning, j.ReducesRunning
	return j
}

func (m *master) list() (list []any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.h.Tasks {
		state := t.Status
		if state == "" {
			state = "SCHEDULED"
			if n := len(t.Attempts); n > 0 && t.Attempts[n-1].StartMs > 0 && t.Attempts[n-1].Status == "" {
				state = "RUNNING"
			}
		}
		list = append(list, wire(yarnclient.Task{
			ID: t.ID, Type: t.Type, State: state, SuccessfulAttempt: t.Winner, StartedMs: t.StartMs, FinishedMs: t.FinishMs,
		}))
	}
	return list
}

// ofTask answers a request about a task; nil if the job has none of that name.
func (m *master) ofTask(r *http.Request, answer func(*task) any) any {
	m.mu.Lock()
	defer m.mu.Unlock()
	id, err := traces.ParseTask(r.PathValue("task"))
	if err != nil || string(id.Job) != m.id || id.Kind > traces.Reduce || int(id.Index) >= len(m.tasks[id.Kind]) || id.Index < 0 {
		return nil
	}
	return answer(m.tasks[id.Kind][id.Index])
}

func (t *task) attempts() []any {
	list := []any{}
	for _, a := range t.h.Attempts {
		list = append(list, wire(attemptOf(t.h, a)))
	}
	return list
}

func attemptOf(t *jhist.Task, a *jhist.Attempt) yarnclient.TaskAttempt {
	x := yarnclient.TaskAttempt{
		ID: a.ID, Type: t.Type, State: a.Status, ContainerID: a.Container, NodeHTTPAddress: fmt.Sprintf("%s:%d", a.Host, webPort),
		Rack: a.Rack, StartedMs: a.StartMs, FinishedMs: a.FinishMs, Diagnostics: a.Error,
	}
	if x.State == "" {
		x.State = "RUNNING"
		if a.StartMs == 0 {
			x.State = "STARTING"
		}
	}
	return x
}

// counters has what is asked of a map's counters: how much it has left for reduces.
func (t *task) counters() any {
	var bytes int64
	if t.h.Status == "SUCCEEDED" {
		bytes = max(0, t.Counters.MapOutputBytes)
	}
	return map[string]any{"jobTaskCounters": map[string]any{"taskCounterGroup": []any{map[string]any{
		"counterGroupName": "org.apache.hadoop.mapreduce.TaskCounter",
		"counter":          []any{map[string]any{"name": "MAP_OUTPUT_MATERIALIZED_BYTES", "value": bytes}},
	}}}}
}
