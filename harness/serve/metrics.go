package serve

import (
	"math"
	"path/filepath"

	"heddle/collectors/scrape"
	"heddle/harness/measure"
)

// mostNodes is for how many nodes there are metrics of each.
const mostNodes = 500

// outcomes are what decisions can come to, as traces.Actuation says. Any other is
// counted as "other", so that the number of series is known.
var outcomes = []string{"honoured", "surplus", "unused", "none", "cancelled"}

// collect sends the metrics of the run. It reads what the run has told, and asks no
// cluster.
func (l *Live) collect(out scrape.Metrics) {
	l.mu.Lock()
	step, left, folder, ended, failed := l.step, l.left, l.folder, l.ended, l.failed
	var all measure.Now
	all.Count(&l.before)
	l.mu.Unlock()
	name := ""
	if folder != "" {
		name = filepath.Base(folder)
	}
	out.Gauge("run_info", "The run; always 1.", 1, "run", name)
	trials, trialsDone := step.Trials, max(0, step.Number-1)
	if ended == endDone {
		trialsDone = trials
	}
	out.Gauge("run_trials", "Trials of the run.", float64(trials))
	out.Gauge("run_trials_done", "Trials that have ended.", float64(trialsDone))
	out.Gauge("run_trials_failed", "Trials that have failed, of those that have ended.", float64(failed))
	leftSeconds := math.NaN()
	if left > 0 {
		leftSeconds = left.Seconds()
	}
	out.Gauge("run_left_seconds", "Estimated time until the run ends.", leftSeconds)
	if now, ok := step.Now(); ok {
		all.Count(&now)
		collectTrial(out, &now)
	}
	out.Counter("run_decisions_total", "Decisions of scheduler models.", float64(all.Decisions))
	other := 0
	for _, n := range all.Outcomes {
		other += n
	}
	outcome := func(name string, n int) {
		out.Counter("run_decision_outcomes_total", "What decisions came to: honoured means that one container came.", float64(n), "outcome", name)
	}
	for _, name := range outcomes {
		outcome(name, all.Outcomes[name])
		other -= all.Outcomes[name]
	}
	outcome("other", other)
	started := func(level string, n int) {
		out.Counter("run_maps_started_total", "Maps that have started, by how near their block was.", float64(n), "locality", level)
	}
	started("cache", all.Locality.Cache)
	started("node", all.Locality.Node)
	started("rack", all.Locality.Rack)
	started("off", all.Locality.Off)
	histogram(out, "run_decision_wait_seconds", "Times from a decision until its outcome was known.", &all.DecisionWaits)
	histogram(out, "run_container_wait_seconds", "Times from when a task could start until its first container did.", &all.TaskWaits)
}

// collectTrial sends the metrics of the trial under way.
func collectTrial(out scrape.Metrics, now *measure.Now) {
	jobs := func(n int, state string) {
		out.Gauge("run_jobs", "Jobs of the trial under way.", float64(n), "state", state)
	}
	jobs(now.Jobs-now.JobsEnded, "running")
	jobs(now.JobsEnded, "ended")
	for kind, t := range map[string]measure.TasksNow{"map": now.Maps, "reduce": now.Reduces} {
		for state, n := range map[string]int{"waiting": t.Waiting, "running": t.Running, "done": t.Done} {
			out.Gauge("run_tasks", "Tasks of the trial under way.", float64(n), "kind", kind, "state", state)
		}
		out.Gauge("run_tasks_planned", "All tasks of the jobs of the trial under way.", float64(t.All), "kind", kind)
	}
	up, running := 0, 0
	for i, n := range now.Nodes {
		if !n.Down {
			up++
		}
		running += n.Running
		if i < mostNodes {
			out.Gauge("run_node_containers", "Containers of the run's jobs on a node.", float64(n.Running), "node", string(n.Node), "rack", n.Rack)
		}
	}
	out.Gauge("run_containers", "Containers of the run's jobs on all nodes.", float64(running))
	out.Gauge("run_nodes", "Nodes of the cluster.", float64(up), "state", "up")
	out.Gauge("run_nodes", "Nodes of the cluster.", float64(len(now.Nodes)-up), "state", "down")
}

func histogram(out scrape.Metrics, name, help string, w *measure.Waits) {
	bounds := make([]float64, len(measure.WaitBoundsMs))
	for i, ms := range measure.WaitBoundsMs {
		bounds[i] = ms / 1000
	}
	out.Histogram(name, help, bounds, w.Counts[:], w.SumMs/1000)
}
