package measure

import (
	"cmp"
	"fmt"

	"heddle/harness/doc"
	"heddle/traces"
	"heddle/traces/printable"
)

// Spark has the figures of an application of Spark besides those that a job has, too. Its tasks
// are the job's attempts.
type Spark struct {
	Version   string `json:"version"`
	Executors int    `json:"executors"`
	Lost      int    `json:"executorsLost"` // those that neither the driver gave back nor the end of the application
	Queries   int    `json:"queries"`
	// Locality counts tasks that succeeded by Spark's level, by the names of traces.SparkLocalities.
	Locality [traces.SparkAny + 1]int `json:"locality"`
	// CoreMs is how long the cores of executors were there, and TaskMs how long tasks ran on
	// them: in it RunMs without what starts and ends a task, and in RunMs CPUMs, GCMs and FetchWaitMs.
	CoreMs      float64 `json:"coreMs"`
	TaskMs      float64 `json:"taskMs"`
	RunMs       int64   `json:"runMs"`
	CPUMs       int64   `json:"cpuMs"`
	GCMs        int64   `json:"gcMs"`
	FetchWaitMs int64   `json:"fetchWaitMs"`
	RemoteBytes int64   `json:"shuffleRemoteBytes"`
	SpiltBytes  int64   `json:"spilledDiskBytes"`
	Stages      []Stage `json:"stages"` // attempts of stages, in the order of their submissions

	end traces.Time // 0: not known
	at  map[[2]int32]int
}

// Stage has the figures of an attempt of a stage of Spark.
type Stage struct {
	Stage      int32          `json:"stage"`
	Attempt    int32          `json:"attempt"`
	Name       string         `json:"name"`
	SubmitMs   float64        `json:"submitMs"`
	TookMs     float64        `json:"tookMs"` // -1: it has not ended
	Outcome    traces.Outcome `json:"outcome"`
	Tasks      Attempts       `json:"tasks"`
	MedianMs   float64        `json:"medianMs"` // of tasks that succeeded
	MaxMs      float64        `json:"maxMs"`
	Bytes      Bytes          `json:"bytes"`
	SpiltBytes int64          `json:"spilledDiskBytes"`

	took *Durations
}

// spark takes an event of an application of Spark into account.
func (c *Collector) spark(e traces.Event) {
	j := c.job(traces.JobOf(e))
	if j.Spark == nil {
		j.Spark = &Spark{Stages: []Stage{}, at: map[[2]int32]int{}}
	}
	s := j.Spark
	c.sizesKnown = false // Spark's containers are not among those of attempts
	switch e := e.(type) {
	case *traces.SparkApplication:
		c.offered.begin(e.T)
		j.Name, j.SubmitMs, j.submitted, j.started, j.Queue = e.Name, ms(e.T), e.T, e.AMStart, e.Queue
		s.Version, s.end = e.Version, e.End
		if e.End != 0 {
			c.last = max(c.last, e.End)
			j.hadoop = traces.Uncounted(e.End, "", e.Outcome)
		}
	case *traces.SparkQuery:
		s.Queries++
	case *traces.SparkStage:
		x := Stage{Stage: e.Stage, Attempt: e.Attempt, Name: e.Name, SubmitMs: ms(e.T), TookMs: -1, Outcome: e.Outcome, took: &Durations{}}
		if e.End != 0 {
			x.TookMs = ms(e.End - e.T)
		}
		s.at[[2]int32{e.Stage, e.Attempt}] = len(s.Stages)
		s.Stages = append(s.Stages, x)
	case *traces.SparkExecutor:
		s.Executors++
		if e.Outcome == traces.Failed {
			s.Lost++
		}
		s.CoreMs += float64(e.Cores) * ms(max(0, cmp.Or(e.End, s.end, e.T)-e.T))
	case *traces.SparkTask:
		c.sparkTask(j, e)
	}
}

func (c *Collector) sparkTask(j *Job, e *traces.SparkTask) {
	s, n := j.Spark, c.node(e.Node)
	j.ranFrom(e.T)
	n.Attempts++
	x := &Stage{took: &Durations{}} // of a damaged trace
	if i, ok := s.at[[2]int32{e.Stage, e.StageAttempt}]; ok {
		x = &s.Stages[i]
	}
	if e.End == 0 {
		return
	}
	c.last = max(c.last, e.End)
	n.busy += e.End - e.T
	s.TaskMs += ms(e.End - e.T)
	j.Attempts.add(e.Outcome)
	x.Tasks.add(e.Outcome)
	addTo(&s.RunMs, e.RunMs)
	addTo(&s.CPUMs, e.CPUMs)
	addTo(&s.GCMs, e.GCMs)
	addTo(&s.FetchWaitMs, e.FetchWaitMs)
	addTo(&s.RemoteBytes, e.ShuffleRemoteBytes)
	addTo(&s.SpiltBytes, e.SpilledDiskBytes)
	addTo(&x.SpiltBytes, e.SpilledDiskBytes)
	if e.Outcome != traces.Succeeded {
		j.FirstError = cmp.Or(j.FirstError, e.Error)
		return
	}
	s.Locality[min(e.Locality, traces.SparkAny)]++
	x.took.Add(e.End - e.T)
	for _, b := range []*Bytes{&j.Bytes, &x.Bytes} {
		b.add(e.InputBytes, traces.AddCount(max(0, e.ShuffleLocalBytes), e.ShuffleRemoteBytes), e.OutputBytes)
	}
}

// add counts an attempt that ended.
func (a *Attempts) add(o traces.Outcome) {
	switch o {
	case traces.Succeeded:
		a.OK++
	case traces.Killed:
		a.Killed++
	default:
		a.Failed++
	}
}

// Applications returns how many of the jobs are applications of Spark.
func (f *Figures) Applications() (n int) {
	for _, j := range f.JobList {
		if j.Spark != nil {
			n++
		}
	}
	return n
}

// ran says in words what ran: jobs of MapReduce, applications of Spark, or both.
func (f *Figures) ran() string {
	n := f.Applications()
	if n == 0 {
		return fmt.Sprintf("%s with %s and %s", printable.Count(f.Jobs, "job"), printable.Count(f.Maps, "map"),
			printable.Count(f.Reduces, "reduce"))
	}
	tasks, stages, executors := 0, 0, 0
	for _, j := range f.JobList {
		if s := j.Spark; s != nil {
			tasks, stages, executors = tasks+j.Attempts.OK, stages+len(s.Stages), executors+s.Executors
		}
	}
	text := fmt.Sprintf("%s of Spark with %s, %s and %s", printable.Count(n, "application"), printable.Count(executors, "executor"),
		printable.Count(stages, "stage"),
		printable.Count(tasks, "task"))
	if f.Jobs > n {
		text = fmt.Sprintf("%s of MapReduce with %s and %s, and %s", printable.Count(f.Jobs-n, "job"), printable.Count(f.Maps, "map"),
			printable.Count(f.Reduces, "reduce"), text)
	}
	return text
}

// sparkDoc has tables of applications of Spark and of their stages.
func (f *Figures) sparkDoc() doc.Doc {
	apps := doc.NewTable("applications", "application", "name", "queue", "submitted", "waited", "took", "outcome", "executors", "lost",
		"tasks", "failed", "killed", "cores used", "CPU", "GC", "fetch wait", "read", "shuffled", "from other executors", "spilt", "wrote")
	near := doc.NewTable("locality of Spark", append([]string{"tasks by Spark's locality"}, traces.SparkLocalities...)...)
	stages := doc.NewTable("stages", "stage", "application", "name", "submitted", "took", "outcome", "tasks", "failed", "median task",
		"longest", "read", "shuffled", "spilt")
	left, rest := 0, 0
	for _, j := range f.JobList {
		s := j.Spark
		if s == nil {
			continue
		}
		if len(apps.Rows) == maxRows {
			left++
			continue
		}
		apps.Add(j.application()...)
		row := []any{j.ID}
		for _, n := range s.Locality {
			row = append(row, n)
		}
		near.Add(row...)
		for _, x := range s.Stages {
			if len(stages.Rows) == maxRows {
				rest++
				continue
			}
			stages.Add(doc.Wordsf("%d.%d", x.Stage, x.Attempt), j.ID, x.Name, doc.Duration(x.SubmitMs),
				lasting(x.TookMs), x.Outcome.String(), x.Tasks.OK, x.Tasks.Failed, doc.Duration(x.MedianMs),
				doc.Duration(x.MaxMs), doc.Bytes(x.Bytes.Input), doc.Bytes(x.Bytes.Shuffle), doc.Bytes(x.SpiltBytes))
		}
	}
	return doc.Doc{apps, more(left, "more applications"), near, stages, more(rest, "more stages")}
}

// application returns the row of an application of Spark.
func (j *Job) application() []any {
	s := j.Spark
	waitMs, waited := j.WaitMs()
	return []any{
		j.ID, j.Name, j.Queue, doc.Duration(j.SubmitMs), doc.Known(waited, doc.Duration(waitMs)), lasting(j.CompletionMs),
		j.Outcome.String(), s.Executors, s.Lost, j.Attempts.OK, j.Attempts.Failed,
		j.Attempts.Killed, doc.Known(s.CoreMs > 0, doc.Fixed(100*s.TaskMs/s.CoreMs, 0,
			"%")), doc.Duration(s.CPUMs), doc.Duration(s.GCMs), doc.Duration(s.FetchWaitMs),
		doc.Bytes(j.Bytes.Input), doc.Bytes(j.Bytes.Shuffle), doc.Bytes(s.RemoteBytes), doc.Bytes(s.SpiltBytes), doc.Bytes(j.Bytes.Output),
	}
}

// lasting is a duration in ms, below 0 if it is not known.
func lasting(ms float64) any { return doc.Known(ms >= 0, doc.Duration(ms)) }
