package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"heddle/harness/doc"
	"heddle/harness/nearest"
	"heddle/harness/paper"
	"heddle/harness/paper/clqlmrs"
	"heddle/harness/paper/learning"
	"heddle/harness/paper/modfair"
	"heddle/harness/paper/reverse"
	"heddle/harness/paper/rhc"
	"heddle/harness/runs"
	"heddle/traces/outfile"
)

// papers are the published papers whose experiments heddle can repeat: a line
// each, and nothing else in this command is about one of them.
var papers = []func() *paper.Paper{
	clqlmrs.Paper,
	learning.Paper,
	modfair.Paper,
	reverse.Paper,
	rhc.Paper,
}

func paperNames() (names []string) {
	for _, of := range papers {
		names = append(names, of().Name)
	}
	return names
}

// How many seeds the simulations of a paper's experiments use: normally, and
// with the flag --quick. With fewer than six, differences that are the same with
// every seed have no interval.
const fullSeeds, quickSeeds = 20, 6

type paperOptions struct {
	Quick    bool     `flag:"quick" text:"a preview with 6 seeds instead of 20"`
	Seeds    int      `flag:"seeds" text:"simulate N seeds" of:"N" without:"20, or fewer for the matrix of some papers" min:"2" max:"10000"`
	Seed     uint64   `flag:"seed" text:"number from which all seeds are drawn"`
	Reading  string   `flag:"reading" text:"the READING of the paper" of:"READING" without:"as printed"`
	Set      []string `flag:"set" text:"change a property of the set-up or an axis, NAME=VALUE, such as containers=8 or cache=16GB, or a parameter of a model, MODEL.NAME=VALUE; with --matrix, axes=AXIS,AXIS are the axes to vary, and full=true takes all combinations of values instead of all pairs; may be repeated" of:"NAME=VALUE"`
	Also     []string `flag:"also" list:"," suggest:"models" text:"compare with this MODEL too, in the figures and as a control; may be repeated" of:"MODEL"`
	Matrix   bool     `flag:"matrix" text:"judge the claims in many readings: as printed, those with a name, one axis at a time, and all pairs of values"`
	Output   string   `flag:"output,o" text:"also write an offline HTML page to FILE, which must not exist" of:"FILE"`
	Pictures string   `flag:"pictures" text:"also draw each figure, and how the model learns, as SVG files in the folder DIR" of:"DIR"`
	Write    string   `flag:"experiments" text:"write the paper's experiments for a cluster to the folder DIR, for heddle run" of:"DIR"`
	named
	printed
}

// paperResult is what the command prints: a report or a matrix.
type paperResult interface {
	Doc() doc.Doc
}

func runPaper(c *cli.Context, o *paperOptions, args []string) (err error) {
	began := time.Now()
	if len(args) == 0 {
		return show(c, paper.List(papers))
	}
	if args[0] == "new" && len(args) == 2 {
		folder, err := paper.Begin("", args[1])
		if err != nil {
			return usage(err)
		}
		next(c, "heddle paper --quick", "./"+folder)
		return nil
	}
	p, err := findPaper(args[0])
	if err != nil {
		return err
	}
	if o.Matrix && o.Reading != "" {
		return usagef("--reading: a matrix has all readings; want it without --matrix")
	}
	if o.Write != "" {
		if err := os.CopyFS(o.Write, p.Experiments); err != nil {
			return usagef("write experiments of paper %s: %w", p.Name, err)
		}
		next(c, "heddle run --dry-run", filepath.Join(o.Write, "live.yaml"))
		return nil
	}
	if err := absent(o.Output); err != nil {
		return err
	}
	root, err := newRun(o.Runs, o.RunName)
	if err != nil {
		return err
	}
	r, err := simulatedPaper(c, o, p, args[1:])
	if err != nil {
		return err
	}
	run, err := keepPaper(r, root, o.RunName, began)
	if err != nil {
		return err
	}
	if err := writePaperFiles(o, r, run); err != nil {
		return err
	}
	if err := show(c, r); err != nil {
		return err
	}
	if run != nil {
		fmt.Fprintln(c.App.ErrWriter, "run folder:", run.Dir)
		next(c, "heddle runs show", run.Dir)
	}
	return nil
}

// findPaper returns the paper with a name, or that of a folder with a paper's files.
func findPaper(name string) (*paper.Paper, error) {
	for _, of := range papers {
		if p := of(); p.Name == name {
			return p, nil
		}
	}
	if _, err := os.Stat(filepath.Join(name, paper.PaperFile)); err != nil {
		return nil, usagef("no paper %q, and no folder with %s; %s", name, paper.PaperFile, nearest.Hint(name, paperNames()))
	}
	p, err := paper.Load(os.DirFS(name), paper.Program{})
	if err != nil {
		return nil, usagef("%s: %w", name, err)
	}
	return p, nil
}

// keepPaper writes what was simulated to a run folder. It returns nil if nothing was.
func keepPaper(r paperResult, root, name string, began time.Time) (*runs.Run, error) {
	var kept *paper.Kept
	switch x := r.(type) {
	case *paper.Report:
		kept = &x.Kept
	case *paper.Matrix:
		kept = &x.Kept
	}
	if kept == nil || len(kept.Trials) == 0 { // what ran on a cluster has its folder
		return nil, nil
	}
	return kept.Write(root, name, os.Args, began)
}

// writePaperFiles writes the files that were asked for besides the output.
func writePaperFiles(o *paperOptions, r paperResult, run *runs.Run) error {
	if o.Output != "" {
		source, err := paper.Source(run)
		if err == nil {
			err = outfile.Create(o.Output, func(f *os.File) error { return doc.WritePage(f, append(r.Doc(), source...)) })
		}
		if err != nil {
			return fmt.Errorf("write page: %w", err)
		}
	}
	if x, ok := r.(*paper.Report); ok && o.Pictures != "" {
		return paper.WritePictures(o.Pictures, x.Figures)
	}
	return nil
}

// simulatedPaper simulates a paper's experiments in one reading, or in the
// readings of a matrix.
func simulatedPaper(c *cli.Context, o *paperOptions, p *paper.Paper, parts []string) (r paperResult, err error) {
	w := &work{progress: newProgress(c)}
	defer w.close()
	x := paper.Options{
		Parts: parts, Reading: o.Reading, Set: map[string]string{},
		Seed: o.Seed, Seeds: o.Seeds, Workers: runtime.GOMAXPROCS(0), Progress: paperProgress(w),
	}
	if o.Quick {
		x.Seeds = cmp.Or(x.Seeds, quickSeeds)
		x.Preview = x.Seeds < fullSeeds
	}
	var vary paper.Vary
	for _, text := range o.Set {
		name, value, ok := strings.Cut(text, "=")
		switch {
		case !ok || name == "":
			return nil, usagef("--set %q: want NAME=VALUE", text)
		case (name == "axes" || name == "full") && !o.Matrix:
			return nil, usagef("--set %s: want --matrix with it", name)
		case name == "axes":
			vary.Axes = strings.FieldsFunc(value, func(r rune) bool { return r == ',' })
		case name == "full":
			vary.Full = value == "true"
		default:
			x.Set[p.Key(name)] = value
		}
	}
	for _, model := range o.Also {
		x.Also = append(x.Also, paper.Scheduler{Label: model, Model: model})
	}
	if o.Matrix {
		p.Size(&x, vary)
	}
	x.Seeds = cmp.Or(x.Seeds, fullSeeds)
	if o.Matrix {
		r, err = p.Matrix(c.Context, x, vary)
	} else {
		r, err = p.Run(c.Context, x)
	}
	switch {
	case errors.Is(err, paper.ErrUnknown):
		return nil, usage(err)
	case err != nil:
		return nil, fmt.Errorf("paper %s: %w", p.Name, err)
	}
	return r, nil
}

// paperProgress returns a function that shows which figure, claim or reading of
// a paper is being computed.
func paperProgress(w *work) func(paper.Progress) {
	return func(p paper.Progress) {
		w.counted(float64(p.Done), float64(p.All), func() string {
			return fmt.Sprintf("%d/%d  %s (%d simulations, %d trainings)", p.Done, p.All, p.Doing, p.Simulated, p.Trained)
		})
	}
}
