package lanes

import (
	"fmt"
	"strings"

	"heddle/traces"
)

// An application of Spark is drawn as a group of nodes: its executors, with a lane for each core. Above, it is a
// job as its queries and stages are, and its tasks are those of their stage.

// spark takes an event of an application of Spark into account.
func (c *collector) spark(e traces.Event, t int64) {
	id := traces.JobOf(e)
	switch e := e.(type) {
	case *traces.SparkApplication:
		c.sparkJob(string(id), e.Name, t, e.End, e.Outcome)
		if !c.submitted {
			c.submitted, c.d.Begin = true, t
		}
		c.d.Begin = min(c.d.Begin, t)
		if e.End != 0 {
			c.d.End = max(c.d.End, e.End.Milliseconds())
		}
	case *traces.SparkQuery:
		c.sparkJob(fmt.Sprintf("%s query %d", id, e.Query), strings.Join(strings.Fields(e.Text), " "), t, e.End, e.Outcome)
	case *traces.SparkStage:
		name := fmt.Sprintf("stage %d.%d", e.Stage, e.Attempt)
		c.sparkJob(stageName(id, e.Stage, e.Attempt), name+": "+e.Name, t, e.End, e.Outcome).maps = e.Tasks
	case *traces.SparkExecutor:
		i := c.node(executorName(id, e.Executor))
		c.d.nodes[i] = node{
			name:   fmt.Sprintf("%s %s", e.Node, e.Executor),
			rack:   string(id),
			worker: true,
			slots:  int64(min(e.Cores, mostKindSlots)),
		}
		if what := map[traces.Outcome]string{traces.Failed: "down", traces.Killed: "capacity"}[e.Outcome]; what != "" && e.End != 0 {
			c.mark(mark{What: what, Node: i, From: e.End.Milliseconds(), To: unknown, Text: e.Reason})
		}
	case *traces.SparkTask:
		c.sparkTask(e, t)
	}
}

func stageName(id traces.JobID, stage, attempt int32) string {
	return fmt.Sprintf("%s stage %d.%d", id, stage, attempt)
}

func executorName(id traces.JobID, executor string) traces.Node {
	return traces.Node(string(id) + " executor " + executor)
}

// sparkJob is a job that stands for an application, a query or a stage.
func (c *collector) sparkJob(id, name string, t int64, end traces.Time, o traces.Outcome) *job {
	j := c.job(traces.JobID(id))
	j.name, j.submit, j.end, j.outcome, j.reduces = c.text(name), t, unknown, o, unknown
	if end != 0 {
		j.end = end.Milliseconds()
		c.d.To = max(c.d.To, j.end)
	}
	return j
}

func (c *collector) sparkTask(e *traces.SparkTask, t int64) {
	id := stageName(e.App, e.Stage, e.StageAttempt)
	b := bar{
		from:     t,
		to:       e.End.Milliseconds(),
		waited:   max(0, t-c.job(traces.JobID(id)).submit),
		node:     c.node(executorName(e.App, e.Executor)),
		job:      c.jobs[traces.JobID(id)],
		index:    e.Index,
		number:   e.Attempt,
		outcome:  min(e.Outcome, traces.Killed),
		spec:     e.Speculative,
		spark:    true,
		replica:  traces.Level(min(e.Locality, traces.SparkAny)),
		read:     e.InputBytes,
		cpuMs:    e.CPUMs,
		error:    c.text(e.Error),
		shuffled: traces.AddCount(max(0, e.ShuffleLocalBytes), e.ShuffleRemoteBytes),
		written:  traces.AddCount(max(0, e.ShuffleWriteBytes), e.OutputBytes),
	}
	if e.End == 0 {
		b.to = unknown
	}
	c.d.To = max(c.d.To, b.to)
	if c.d.Attempts++; c.d.Attempts > c.most && c.d.Grid == nil {
		c.fold()
	}
	if c.d.Grid == nil {
		c.d.bars = append(c.d.bars, b)
	} else if b.to != unknown {
		c.d.Grid.add(b)
	}
}
