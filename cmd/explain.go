package cmd

import (
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"heddle/harness/compare"
	"heddle/harness/doc"
	"heddle/harness/explain"
	"heddle/traces/exchange"
	"heddle/traces/tracefile"
)

type explainOptions struct {
	inRuns
	printed
	verified
}

// explained is what "heddle explain" prints of a trial or trace as JSON.
type explained struct {
	Workload string `json:"workload,omitempty"`
	Model    string `json:"model,omitempty"`
	Trial    string `json:"trial,omitempty"`
	Trace    string `json:"trace"`
	*explain.Explanation

	imported bool // from the format of another tool
}

func runExplain(c *cli.Context, o *explainOptions, args []string) error {
	list, err := toExplain(o, args[0])
	if err != nil {
		return err
	}
	var d doc.Doc
	for i := range list {
		x := &list[i]
		if err := x.read(c); err != nil {
			return err
		}
		title := x.Trace
		if x.Trial != "" {
			title = fmt.Sprintf("%s under %s, trial %s", x.Workload, x.Model, x.Trial)
		}
		first, more := x.Doc(title, 1, explain.List)
		d = slices.Concat(d, doc.Doc{doc.Heading(fmt.Sprintf("%s: %v", title, x.Makespan))}, first, more)
	}
	gain := "What a change would gain: heddle replay tells it of nodes, slots, queues and models, and with --calibration of " +
		"cores, disks and links; a job with other reduces must run again."
	if list[0].Spark {
		gain = "What a change would gain is not known: nothing of Spark is replayed."
	}
	d = append(d, doc.Text(gain))
	err = printDoc(c, list, d)
	if x := &list[0]; err == nil && len(x.Lines) > 0 && x.Lines[0].Ask != "" && !x.imported {
		next(c, "heddle trace why", x.Trace, x.Lines[0].Ask)
	}
	return err
}

// toExplain lists the traces to explain: that of a file, or those of a run's median trials.
func toExplain(o *explainOptions, arg string) (list []explained, err error) {
	run, err := runOrTrace(o.Runs, arg)
	if err != nil {
		return nil, err
	}
	if run == nil {
		return []explained{{Trace: arg}}, nil
	}
	r, err := compare.Runs([]string{run.Dir}, compare.Options{Metrics: []string{"makespan"}, Unverified: o.Unverified})
	if err != nil {
		return nil, err
	}
	for _, w := range r.Workloads() {
		for _, m := range r.AllModels() {
			if t, ok := r.Median(w, m); ok && t.TracePath() != "" {
				list = append(list, explained{Workload: w, Model: m, Trial: t.Name, Trace: t.TracePath()})
			}
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("run %s has no traces; 'heddle replay --traces' keeps the traces of replays", arg)
	}
	return list, nil
}

// read explains the trace.
func (x *explained) read(c *cli.Context) error {
	r, imported, err := exchange.Any(c.Context, x.Trace, nil)
	if err != nil {
		return err
	}
	defer r.Close()
	if x.imported = imported != nil; x.imported {
		imported.Output = x.Trace
		warn(imported.LeftOut...)
		fmt.Fprint(c.App.ErrWriter, importedText(imported, false))
	}
	h := r.Header()
	if h.List != nil {
		return fmt.Errorf("trace %s is a list of jobs, of which none has run; \"heddle replay --out FILE %s\" makes a trace of a run", x.Trace,
			x.Trace)
	}
	reader := explain.New(&h)
	for e := range r.All() {
		reader.Add(e)
	}
	if err := r.Err(); errors.As(err, new(*tracefile.DamageError)) {
		warn(err.Error())
	} else if err != nil {
		return err
	}
	found, ok := reader.Explain()
	if !ok {
		return fmt.Errorf("trace %s: no job of it ended, so that there is no makespan to explain", x.Trace)
	}
	x.Explanation = found
	return nil
}
