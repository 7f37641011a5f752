package demo

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"heddle/harness/compare"
	"heddle/harness/config"
	"heddle/harness/doc"
	"heddle/harness/experiment"
	"heddle/harness/internal/units"
	"heddle/harness/measure"
	"heddle/harness/replay"
	"heddle/harness/replay/recorded"
	"heddle/harness/report"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/traces"
	"heddle/traces/outfile"
	"heddle/traces/tracefile"
)

// shipped has the traces that are part of heddle, under its licence. They were measured
// under YARN's own scheduler on a lab of four workers with two containers each: one
// WordCount whose input is in the HDFS cache, one of 16 maps, and three at once. Public
// traces are not among them: those known to us do not say that others may ship them.
//
//go:embed traces/*.heddle
var shipped embed.FS

// simulatedModels are the scheduler models that Simulate compares: YARN's own scheduler,
// and one that knows the HDFS cache.
var simulatedModels = []string{config.ModelYARN, aware}

const (
	aware          = "acl"
	simulatedSeeds = 6 // the fewest of which a difference can be shown, and not just so
	pageFile       = "page.html"

	// cached is the shipped trace whose input is in the HDFS cache. The replays of slow are
	// of the same job, on disks that read slowDisk.
	cached, slow = "cached", "slowdisks"
	slowDisk     = units.Rate(1e6) // of its 8 MiB a map then reads for 8 s
)

// Simulated are the results of Simulate. Other programs may rely on its JSON keys.
type Simulated struct {
	Folder string `json:"folder"` // path of the run folder
	Page   string `json:"page"`   // path of the page for a browser
	// Story has what came out in sentences: the first says what this is, the next ones answer
	// a question each.
	Story   []string        `json:"story"`
	Compare *compare.Report `json:"compare"`
	// Trace is the path of the trace of the Story's last question.
	Trace string `json:"trace"`
	// Full says that Doc has the tables too.
	Full bool `json:"-"`

	why string // the command that answers the last question
}

// Simulate replays the shipped traces in virtual time under two scheduler models,
// compares them, and writes a page of it. It leaves a run folder below root, which has
// the page and all traces. It needs neither Hadoop nor root nor a network.
func Simulate(ctx context.Context, root string, command []string) (*Simulated, error) {
	kept := experiment.Replays{Root: root, Command: command, Traces: true}
	defer kept.Close()
	run, err := replays(ctx, &kept)
	if err != nil {
		return nil, err
	}
	s := &Simulated{Folder: run.Dir, Page: filepath.Join(run.Dir, pageFile)}
	s.Trace = filepath.Join(run.TrialDir(config.TrialName(1, cached, config.ModelRecorded)), results.TraceFile)
	if s.Compare, err = compare.Runs([]string{run.Dir},
		compare.Options{Metrics: []string{"makespan", "cacheLocal", "nodeLocal"}}); err != nil {
		return nil, err
	}
	if err := s.tell(); err != nil {
		return nil, err
	}
	page, err := report.Of(ctx, report.Options{Runs: []string{run.Dir}, Command: command})
	if err != nil {
		return nil, err
	}
	const title = doc.Heading("What heddle finds in five jobs of a real cluster")
	page = slices.Concat(doc.Doc{title}, s.story(), page[2:]) // its first sentence is of all workloads together
	if err := outfile.Create(s.Page, func(f *os.File) error { return doc.WritePage(f, page) }); err != nil {
		return nil, fmt.Errorf("write page: %w", err)
	}
	return s, nil
}

// replays replays each shipped trace under each model and with each seed, and keeps
// what came of it as a run folder.
func replays(ctx context.Context, kept *experiment.Replays) (*runs.Run, error) {
	files, err := shipped.ReadDir("traces")
	if err != nil {
		return nil, err
	}
	var list []*recorded.Trace
	var measured []*replay.Outcome
	var onSlow recorded.Trace
	for _, file := range files {
		data, err := shipped.ReadFile(path.Join("traces", file.Name()))
		if err != nil {
			return nil, err
		}
		r, err := tracefile.NewReader(bytes.NewReader(data), file.Name())
		if err != nil {
			return nil, err
		}
		keep, figures := kept.Trace(file.Name(), r), measure.New(r.Header())
		t, err := recorded.Read(file.Name(), r, func(e traces.Event) { figures.Add(e); keep(e) })
		if err != nil {
			return nil, err
		}
		if file.Name() == cached+".heddle" {
			onSlow = *t
			onSlow.Name = slow
		}
		list, measured = append(list, t), append(measured, replay.Recorded(t, figures.Figures()))
	}
	costs, err := replay.Calibrate(list, recorded.Change{}, "")
	if err != nil {
		return nil, err
	}
	var configs []replay.Config
	for _, t := range append(list, &onSlow) {
		change := recorded.Change{}
		if t == &onSlow {
			change.Disk = recorded.Rate{Rate: slowDisk, Given: true}
		}
		for _, model := range simulatedModels {
			for seed := range uint64(simulatedSeeds) {
				configs = append(configs, replay.Config{
					Trace: t, Change: change, Model: config.Model{Label: model, Model: model}, Seed: seed + 1,
					Calibration: costs, Modelled: true, Reasons: true, Interrupted: ctx.Err,
				})
			}
		}
	}
	kept.Record(configs)
	outcomes, err := replay.Outcomes(configs)
	if err != nil {
		return nil, err
	}
	return kept.Keep(replay.Beside(measured, outcomes))
}

// Doc returns the story for people to read, and with Full the tables behind it.
func (s *Simulated) Doc() doc.Doc {
	d := s.story()
	if s.Full {
		d = append(d, s.Compare.Doc()...)
	}
	return append(d, doc.Facts{
		{Name: "page", Value: s.Page},
		{Name: "tables", Value: "heddle compare " + s.Folder},
		{Name: "why", Value: s.why},
		{Name: "your own", Value: "heddle run --new my.yaml, or heddle replay FOLDER of a job history server"},
	})
}
