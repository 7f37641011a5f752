package cmd

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/harness/clients"
	"heddle/harness/config"
	"heddle/harness/doc"
	"heddle/harness/measure"
	"heddle/harness/queues"
	"heddle/harness/replay"
	"heddle/harness/replay/recorded"
	"heddle/harness/whatif"
	"heddle/traces"
	"heddle/traces/outfile"
	"heddle/yarnclient"
)

// queueOptions are about YARN's queues, and what they are compared with.
type queueOptions struct {
	Queues       string  `flag:"queues" text:"the model is YARN's Capacity scheduler with FILE, a capacity-scheduler.xml" of:"FILE" heading:"Queues"`
	Against      string  `flag:"against" text:"say what changes with the FILE of --queues in place of this one" of:"FILE" heading:"Queues"`
	Page         string  `flag:"page" text:"with --against: also write the answer to FILE, a page for a browser" of:"FILE" heading:"Queues"`
	Cluster      string  `flag:"cluster" text:"nodes are the machines of a cluster FILE, else those of its ResourceManager, which lists applications too" of:"FILE" heading:"Queues" without:"nodes of the trace"`
	Applications string  `flag:"applications" text:"with --against: all applications of the time, a FILE with the answer of /ws/v1/cluster/apps" of:"FILE" heading:"Queues"`
	Others       float64 `flag:"others" text:"with --against: PERCENT of the container-hours that other applications had" of:"PERCENT" heading:"Queues" min:"0" max:"100" without:"not known"`
}

// check returns an error if the options do not go together.
func (o *queueOptions) check(c *cli.Context, r *replayOptions) error {
	switch {
	case o.Queues == "" && o.Against != "":
		return usagef("--against: want --queues with it")
	case o.Against == "" && (o.Page != "" || o.Applications != "" || c.IsSet("others")):
		return usagef("--page, --applications, --others: want --against with them")
	case o.Queues == "":
		return nil
	case o.Against != "" && c.String("format") == "csv":
		return usagef("--against: its tables are of several shapes; want --json in place of --format csv")
	case o.Against != "" && (r.kept() || r.Out != "" || r.Calibrate || r.Observations || r.Metric != nil):
		return usagef("--against: it keeps no replay and has figures of its own; want it without --runs, --run-name, --traces, --out, " +
			"--calibrate, --observations and --metric")
	}
	for _, name := range []string{"model", "param", "command"} {
		if c.IsSet(name) {
			return usagef("both --queues and --%s; want one of them", name)
		}
	}
	return nil
}

// models returns the models of both files, first of that which is in force; without files those
// that are named.
func (o *replayOptions) models() (models []config.Model, files []*queues.File, err error) {
	if o.Queues == "" {
		models, err = o.Models()
		return models, nil, err
	}
	o.Actuator = config.ActuatorNone
	for _, path := range []string{o.Against, o.Queues} {
		if path == "" {
			continue
		}
		f, err := readWith(path, queues.Read)
		if err != nil {
			return nil, nil, err
		}
		m := config.Model{Model: "capacity", Params: map[string]string{"queues": f.String()}, Label: filepath.Base(path)}
		if _, err := m.Scheduler(1); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		models, files = append(models, m), append(files, f)
	}
	return models, files, nil
}

// warnKeys warns of keys in the models' files of queues that Hadoop does not know either.
func warnKeys(models []config.Model) {
	for _, m := range models {
		if !m.FollowsQueues() {
			continue
		}
		f, err := queues.Read(strings.NewReader(m.Params["queues"]))
		for i := 0; err == nil && i < len(f.NotSimulated); i++ {
			if k := &f.NotSimulated[i]; k.Unknown {
				warn(m.Label + ": " + k.Name + ": " + k.Why)
			}
		}
	}
}

// readWith reads a file with a function.
func readWith[T any](path string, read func(io.Reader) (T, error)) (x T, err error) {
	in, err := os.Open(path)
	if err != nil {
		return x, err
	}
	defer in.Close()
	if x, err = read(in); err != nil {
		return x, fmt.Errorf("%s: %w", path, err)
	}
	return x, nil
}

// cluster asks for the nodes and applications of a trace's cluster, and gives the trace these
// nodes.
func (o *queueOptions) cluster(c *cli.Context, r *replayOptions, list []*recorded.Trace) (*whatif.Cluster, error) {
	if len(list) > 1 && (o.Against != "" || o.Cluster != "") {
		return nil, fmt.Errorf("--against, --cluster: want one TRACE or FOLDER, found %d", len(list))
	}
	t := list[0]
	x := &whatif.Cluster{OthersPct: math.NaN(), Chains: r.Chains}
	if c.IsSet("others") {
		x.OthersPct = o.Others
	}
	if o.Cluster != "" {
		file, err := loadMachines(o.Cluster)
		if err != nil {
			return nil, err
		}
		if m := file.Machines; m != nil {
			facts, _ := m.Facts(file.Name, file.Rates)
			t.SetNodes(facts.Nodes)
		} else if err := o.ask(c.Context, file, t, x); err != nil {
			return nil, err
		}
	}
	if o.Applications != "" {
		apps, err := readWith(o.Applications, yarnclient.ReadApps)
		if err != nil {
			return nil, err
		}
		x.Apps = apps
	}
	return x, nil
}

// ask asks a ResourceManager for nodes and applications.
func (o *queueOptions) ask(ctx context.Context, file *config.Cluster, t *recorded.Trace, x *whatif.Cluster) error {
	to, err := clients.To(file, clients.Patience{})
	if err != nil {
		return err
	}
	defer to.Close()
	nodes, err := to.RM.Nodes(ctx, "RUNNING")
	if err != nil {
		return withCode(exitCluster, fmt.Errorf("--cluster %s: %w", o.Cluster, err))
	}
	var facts []traces.NodeFacts
	for i := range nodes {
		n := &nodes[i]
		total := n.Total
		if total.MemoryMB == 0 { // Hadoop before 3.3
			total.MemoryMB, total.VCores = n.UsedMB+n.AvailMB, 0
		}
		facts = append(facts, traces.NodeFacts{
			Node: traces.Node(n.Host), Rack: n.Rack, MemoryBytes: int64(total.MemoryMB) << 20, VCores: int32(total.VCores), Worker: true,
			Label: n.Label(),
		})
	}
	if len(facts) == 0 {
		return withCode(exitCluster, fmt.Errorf("--cluster %s: the ResourceManager has no node that runs", o.Cluster))
	}
	t.SetNodes(facts)
	x.Apps, err = to.RM.Apps(ctx, yarnclient.AppFilter{Without: []string{"resourceRequests"}})
	if err != nil {
		return withCode(exitCluster, fmt.Errorf("--cluster %s: %w", o.Cluster, err))
	}
	return nil
}

// printWhatIf prints what changes between the files, of outcomes that alternate between models
// by seeds: first all of the old file.
func (o *queueOptions) printWhatIf(
	c *cli.Context, t *recorded.Trace, x *whatif.Cluster, files []*queues.File, was *replay.Outcome, outcomes []replay.Outcome,
) error {
	sides := make([]whatif.Side, 2)
	half, called := len(outcomes)/2, filepath.Base
	if called(o.Against) == called(o.Queues) {
		called = filepath.Clean
	}
	for i, path := range []string{o.Against, o.Queues} {
		sides[i] = whatif.Side{Name: called(path), Queues: files[i]}
		for k := range half {
			sides[i].Figures = append(sides[i].Figures, outcomes[i*half+k].Figures)
		}
	}
	var figures *measure.Figures
	if was != nil {
		figures = was.Figures
	}
	warnDoubts(outcomes)
	report, err := whatif.New(sides[0], sides[1], figures, whatif.NewLeftOut(t, x, &outcomes[0].Header.Cluster))
	if err != nil {
		return usage(err)
	}
	d := report.Doc(replay.Basis(outcomes))
	if o.Page != "" {
		page := append(d, doc.Heading("Where this is from"), doc.Text("This page is made by:"), doc.Command(os.Args))
		for i, s := range sides {
			page = append(page, doc.Files{{Name: s.Name, Type: "text/xml", Text: files[i].XML()}})
		}
		if err := outfile.Create(o.Page, func(f *os.File) error { return doc.WritePage(f, page) }); err != nil {
			return failed(fmt.Errorf("write page: %w", err))
		}
		defer fmt.Fprintln(c.App.ErrWriter, "page:", o.Page)
	}
	return printDoc(c, report, d)
}
