// Package sparktest writes event logs as Spark does, of applications that tests make up.
package sparktest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// Log is an event log that is being written. Times are in ms after Epoch.
type Log struct {
	out  *bufio.Writer
	tid  int
	jobs int
}

// Epoch is time 0 of logs, in ms since 1970.
const Epoch = 1795840000000

// New returns a log of an application that was submitted at 0 and whose driver started at a time.
// More settings may be given, each as a name and a value.
func New(out io.Writer, version, id, name string, started int64, settings ...string) *Log {
	l := &Log{out: bufio.NewWriter(out)}
	properties := map[string]string{
		"spark.master": "yarn", "spark.yarn.queue": "q", "spark.executor.memory": "512m", "spark.app.submitTime": fmt.Sprint(Epoch),
	}
	for i := 0; i+1 < len(settings); i += 2 {
		properties[settings[i]] = settings[i+1]
	}
	l.put("SparkListenerLogStart", fields{"Spark Version": version})
	l.put(
		"SparkListenerResourceProfileAdded",
		fields{"Resource Profile Id": 0, "Executor Resource Requests": fields{"memory": fields{"Amount": 512}}},
	)
	l.put(
		"SparkListenerBlockManagerAdded",
		fields{"Block Manager ID": fields{"Executor ID": "driver", "Host": "master", "Port": 1}, "Timestamp": Epoch + started},
	)
	l.put("SparkListenerEnvironmentUpdate", fields{"Spark Properties": properties, "System Properties": fields{"x": "y"}})
	l.put("SparkListenerApplicationStart", fields{"App Name": name, "App ID": id, "Timestamp": Epoch + started, "User": "u"})
	return l
}

type fields map[string]any

func (l *Log) put(event string, f fields) {
	text, err := json.Marshal(f)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(l.out, "{\"Event\":%q,%s\n", event, text[1:])
}

// Master is the ApplicationMaster of an application in client mode.
func (l *Log) Master(at int64) {
	l.put("org.apache.spark.scheduler.SparkListenerMiscellaneousProcessAdded", fields{
		"time":      Epoch + at,
		"processId": "yarn-am",
		"info":      fields{"hostPort": "h:8042", "logUrlInfo": fields{"stdout": "http://h/containerlogs/container_1_0001_01_000001/u/stdout"}},
	})
}

// Executor is an executor that registers.
func (l *Log) Executor(id int, host string, cores int, at int64) {
	l.put("SparkListenerExecutorAdded", fields{"Timestamp": Epoch + at, "Executor ID": fmt.Sprint(id), "Executor Info": fields{
		"Host":                host,
		"Total Cores":         cores,
		"Attributes":          fields{"CONTAINER_ID": fmt.Sprintf("container_1_0001_01_%06d", id+1)},
		"Resource Profile Id": 0,
	}})
}

// Removed is the end of an executor before that of the application.
func (l *Log) Removed(id int, at int64, reason string) {
	l.put("SparkListenerExecutorRemoved", fields{"Timestamp": Epoch + at, "Executor ID": fmt.Sprint(id), "Removed Reason": reason})
}

// Query is a query of SQL that runs from one time to another. Jobs of it are written in between.
func (l *Log) Query(id int, text string, from, to int64, jobs func()) {
	const sql = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecution"
	l.put(
		sql+"Start",
		fields{"executionId": id, "rootExecutionId": id, "description": text, "time": Epoch + from, "sparkPlanInfo": fields{"metrics": []int{}}},
	)
	jobs()
	l.put(sql+"End", fields{"executionId": id, "time": Epoch + to, "errorMessage": ""})
}

// Stage is a stage. RDD is the id of the one that it makes.
type Stage struct {
	ID, Attempt, Tasks, RDD int
	Parents                 []int
	Name                    string
	From, To                int64
	Failure                 string
}

func (s Stage) info(done bool) fields {
	f := fields{
		"Stage ID":         s.ID,
		"Stage Attempt ID": s.Attempt,
		"Stage Name":       s.Name,
		"Number of Tasks":  s.Tasks,
		"Parent IDs":       append([]int{}, s.Parents...),
		"RDD Info":         []fields{{"RDD ID": s.RDD}, {"RDD ID": 0}},
		"Submission Time":  Epoch + s.From,
	}
	if done {
		f["Completion Time"] = Epoch + s.To
	}
	if done && s.Failure != "" {
		f["Failure Reason"] = s.Failure
	}
	return f
}

// Job is a job of a query, or of none if that is below 0, that lists stages. Those that run are written in between.
func (l *Log) Job(query int, ok bool, lists []Stage, run func()) {
	properties := fields{}
	if query >= 0 {
		properties["spark.sql.execution.id"] = fmt.Sprint(query)
	}
	var infos []fields
	for _, s := range lists {
		infos = append(infos, s.info(false))
	}
	id := l.jobs
	l.jobs++
	l.put("SparkListenerJobStart", fields{"Job ID": id, "Stage Infos": infos, "Properties": properties})
	run()
	l.put(
		"SparkListenerJobEnd",
		fields{"Job ID": id, "Job Result": fields{"Result": map[bool]string{true: "JobSucceeded", false: "JobFailed"}[ok]}},
	)
}

// Run is a stage that runs, with its tasks.
func (l *Log) Run(s Stage, tasks ...Task) {
	l.put("SparkListenerStageSubmitted", fields{"Stage Info": s.info(false), "Properties": fields{}})
	for i := range tasks {
		l.task(s, tasks[i], true)
	}
	for i := range tasks {
		l.task(s, tasks[i], false)
	}
	l.tid += len(tasks)
	l.put("SparkListenerStageCompleted", fields{"Stage Info": s.info(true)})
}

// Task is an attempt of a task.
type Task struct {
	Index, Attempt, Executor int
	Host, Locality           string
	From, To                 int64
	Reason                   string // why it failed; empty: it did not
	Result                   bool   // it is of the last stage of a job
	Run, Deserialize, GC     int64  // ms; Run of 0: all of it
	FetchWait                int64
	Input, Remote, Local     int64 // bytes
	Spilt                    int64
	Lost                     bool // its end is not in the log
}

func (l *Log) task(s Stage, t Task, start bool) {
	id := l.tid + t.Index
	info := fields{
		"Task ID":      id,
		"Index":        t.Index,
		"Attempt":      t.Attempt,
		"Launch Time":  Epoch + t.From,
		"Executor ID":  fmt.Sprint(t.Executor),
		"Host":         t.Host,
		"Locality":     t.Locality,
		"Speculative":  false,
		"Finish Time":  0,
		"Accumulables": []fields{},
	}
	e := fields{"Stage ID": s.ID, "Stage Attempt ID": s.Attempt, "Task Info": info}
	if start {
		l.put("SparkListenerTaskStart", e)
		return
	}
	if t.Lost {
		return
	}
	info["Finish Time"] = Epoch + t.To
	info["Accumulables"] = []fields{{"ID": 1, "Name": "internal.metrics.executorRunTime", "Update": t.Run, "Internal": true}}
	e["Task Type"] = map[bool]string{true: "ResultTask", false: "ShuffleMapTask"}[t.Result]
	if e["Task End Reason"] = (fields{"Reason": "Success"}); t.Reason != "" {
		e["Task End Reason"] = fields{"Reason": t.Reason, "Loss Reason": "it was lost"}
	}
	if t.Run == 0 {
		t.Run = t.To - t.From - t.Deserialize
	}
	e["Task Metrics"] = fields{
		"Executor Deserialize Time": t.Deserialize,
		"Executor Run Time":         t.Run,
		"Executor CPU Time":         t.Run * 500000,
		"JVM GC Time":               t.GC,
		"Result Serialization Time": 0,
		"Memory Bytes Spilled":      2 * t.Spilt,
		"Disk Bytes Spilled":        t.Spilt,
		"Peak Execution Memory":     1,
		"Shuffle Read Metrics":      fields{"Remote Bytes Read": t.Remote, "Local Bytes Read": t.Local, "Fetch Wait Time": t.FetchWait},
		"Shuffle Write Metrics":     fields{"Shuffle Bytes Written": 10, "Shuffle Write Time": 1000000, "Shuffle Records Written": 1},
		"Input Metrics": fields{
			"Bytes Read":   t.Input,
			"Records Read": 1,
		},
		"Output Metrics": fields{"Bytes Written": 0, "Records Written": 0},
	}
	l.put("SparkListenerTaskEnd", e)
}

// End ends the application, if at is above 0, and the log.
func (l *Log) End(at int64) {
	if at > 0 {
		l.put("SparkListenerApplicationEnd", fields{"Timestamp": Epoch + at})
	}
	_ = l.out.Flush() // who reads the log sees what it lacks
}
