package cmd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"heddle/harness/doc"
	"heddle/harness/nearest"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/traces/printable"
)

func runsCommand() *cli.Command {
	return &cli.Command{
		Name:  "runs",
		Usage: "run folders: list, show, export and remove them",
		Description: `A RUN is the name of a run folder below --runs, or the path of one. For example:

   heddle runs list
   heddle runs show 20261121-153601-first
   heddle runs export -o trials.parquet 20261121-153601-first
   heddle runs rm --yes 20261121-153601-first`,
		Subcommands: []*cli.Command{runsList(), runsShow(), runsExport(), runsRemove()},
	}
}

func runsList() *cli.Command {
	return &cli.Command{
		Name:  "list",
		Usage: "what runs there are, the latest first",
		Description: `For example:

   heddle runs list
   heddle runs list --runs runs --json | jq -r '.[] | select(.state != "finished") | .name'`,
		Flags: []cli.Flag{runsFlag(nil), tableFlag(), jsonFlag()},
		Action: func(c *cli.Context) error {
			root, err := runsRoot(c.String("runs"))
			if err != nil {
				return err
			}
			found, err := runs.List(root)
			if err != nil && found == nil {
				return err
			} else if err != nil {
				warn(strings.Split(err.Error(), "\n")...)
			}
			list := describe(found)
			slices.SortStableFunc(list, func(a, b results.About) int { return b.Started.Compare(a.Started) })
			if len(list) == 0 {
				fmt.Fprintln(c.App.ErrWriter, "no runs in", root)
			}
			return printDoc(c, list, listRuns(list))
		},
	}
}

// describe returns the summaries of runs, for "heddle runs list". It prints a
// warning for each run whose experiment cannot be read.
func describe(found []*runs.Run) []results.About {
	list := []results.About{}
	for _, run := range found {
		about, err := results.Describe(run)
		if err != nil {
			text, _, _ := strings.Cut(err.Error(), "\n")
			warn(text)
		}
		list = append(list, about)
	}
	return list
}

func listRuns(list []results.About) doc.Doc {
	t := &doc.Table{Name: "runs", Columns: []string{"name", "world", "state", "trials", "models", "workloads", "started", "size"}}
	for _, a := range list {
		t.Add(doc.Words(a.Name), doc.Words(a.World), doc.Words(string(a.State)), doc.Wordsf("%d of %d", a.Done, a.Trials),
			doc.Words(few(a.Models)), doc.Words(few(a.Workloads)), doc.Words(local(a.Started)), doc.Bytes(a.Bytes))
	}
	return doc.Doc{t}
}

// mostListed is how many models and workloads of a run a list of runs names.
const mostListed = 6

// few returns the first names of a list, for a cell.
func few(names []string) string {
	if more := len(names) - mostListed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostListed], ","), more)
	}
	return orDash(strings.Join(names, ","))
}

func local(t time.Time) string { return t.Local().Format(time.DateTime) }

func runsShow() *cli.Command {
	return &cli.Command{
		Name:      "show",
		Usage:     "a run's manifest, and a row per trial",
		ArgsUsage: "RUN",
		Description: `For example:

   heddle runs show 20261121-153601-first
   heddle runs show runs/first --json | jq .manifest.versions`,
		Flags: []cli.Flag{runsFlag(nil), unverifiedFlag(), tableFlag(), jsonFlag()},
		Action: withRuns(func(c *cli.Context, found []*runs.Run) error {
			if len(found) != 1 {
				return withCode(exitUsage, fmt.Errorf("runs show takes one RUN; found %d", len(found)))
			}
			run := found[0]
			run.Unverified = c.Bool("unverified")
			s := shown{About: describe(found)[0], Manifest: run.Manifest(), Results: []results.Trial{}}
			trials, err := results.List(run)
			switch {
			case err == nil:
				s.Results = append(s.Results, trials...)
			case !errors.Is(err, results.ErrNone): // no error if the file of results is missing, as of a capture
				return withCode(exitUsage, err)
			}
			s.Warnings = run.Warnings()
			return printDoc(c, s, s.doc())
		}),
	}
}

// shown is what "heddle runs show" prints as JSON.
type shown struct {
	About    results.About   `json:"about"`
	Manifest runs.Manifest   `json:"manifest"`
	Results  []results.Trial `json:"results"`
	Warnings []string        `json:"warnings,omitempty"`
}

func (s *shown) doc() doc.Doc {
	a, m := s.About, s.Manifest
	about := &doc.Table{Name: "run", Columns: []string{"", ""}}
	row := func(name, format string, args ...any) { about.Add(doc.Words(name), doc.Wordsf(format, args...)) }
	row("run", "%s", a.Name)
	row("folder", "%s, %s", a.Folder, a.Size())
	row("world", "%s", a.World)
	row("state", "%s", a.State)
	if a.Error != "" {
		row("error", "%s", a.Error)
	}
	row("started", "%s, took %s", local(a.Started), took(m.Started, m.Finished))
	row("process", "%d on %s", m.Owner.PID, m.Owner.Host)
	row("trials", "%d of %d done", a.Done, a.Trials)
	row("models", "%s", orDash(strings.Join(a.Models, ", ")))
	row("workloads", "%s", orDash(strings.Join(a.Workloads, ", ")))
	row("seed", "%d", m.Seed)
	row("heddle", "%s", strings.TrimSpace(m.Heddle.Version+" "+m.Heddle.Revision))
	for _, values := range []map[string]string{m.Versions, m.Settings} {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			row(name, "%s", values[name])
		}
	}
	row("command", "%s", orDash(strings.Join(m.Command, " ")))
	warnings := slices.Clone(s.Warnings)
	gave := map[string]*results.Trial{}
	listed := m.Trials
	var failed doc.Doc
	for i := range s.Results {
		r := &s.Results[i]
		gave[r.Name] = r
		failed = append(failed, failedParts(r)...)
		if len(m.Trials) == 0 { // if a run has no trial folders, the results of its trials are in one table
			listed = append(listed, runs.TrialRecord{Name: r.Name, State: runs.TrialDone})
		}
	}
	warnings = append(append(warnings, trialWarnings(s.Results)...), runs.Failures(m.Trials)...)
	trials := &doc.Table{Name: "trials", Columns: []string{"trial", "state", "started", "took", "jobs", "makespan", "cores of others", "warnings"}}
	for _, t := range listed {
		started, jobs, makespan, others, n := "-", "-", doc.Words("-"), doc.Words("-"), 0
		if !t.Started.IsZero() {
			started = local(t.Started)
		}
		if r := gave[t.Name]; r != nil {
			n = len(r.Warnings)
			if r.OthersCores != nil {
				others = doc.Fixed(*r.OthersCores, 2, "")
			}
			makespan = doc.Number(float64(r.MakespanMs)/1000, "s")
			if c := r.Completion(); c.Jobs() > 0 {
				jobs = fmt.Sprintf("%d of %d succeeded", c.Succeeded, c.Jobs())
			}
		}
		state := string(t.State)
		if t.Warmup {
			state += " (warm-up)"
		}
		trials.Add(doc.Words(t.Name), doc.Words(state), doc.Words(started), took(t.Started, t.Finished), doc.Words(jobs), makespan, others, doc.Count(n))
	}
	return append(append(doc.Doc{about, trials}, failed...), doc.Warnings(warnings))
}

// took returns the time between two others, "-" if one of them is not known.
func took(from, to time.Time) doc.Cell {
	if from.IsZero() || to.IsZero() {
		return doc.Words("-")
	}
	return doc.Duration(float64(to.Sub(from)) / 1e6)
}

func runsRemove() *cli.Command {
	return &cli.Command{
		Name:      "rm",
		Usage:     "remove runs with their folders",
		ArgsUsage: "RUN [RUN …]",
		Description: `Asks first on a terminal; elsewhere --yes is needed. If a process works on one of
the runs, none is removed. For example:

   heddle runs rm 20261121-153601-first
   heddle runs list --json | jq -r '.[] | select(.state == "failed") | .name' | xargs heddle runs rm --yes`,
		Flags: []cli.Flag{runsFlag(nil), &cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask"}, jsonFlag()},
		Action: withRuns(func(c *cli.Context, found []*runs.Run) error {
			if len(found) == 0 {
				return withCode(exitUsage, errors.New("want one RUN or more"))
			}
			list := describe(found)
			for _, run := range found {
				foreign, err := run.Foreign()
				if err != nil {
					return err
				}
				if n := len(foreign); n > 0 {
					more := ""
					if n > mostForeign {
						more = fmt.Sprintf(", and %d more", n-mostForeign)
					}
					warn(fmt.Sprintf("%s has what heddle did not write, which goes with it: %s%s", run.Dir, strings.Join(foreign[:min(n, mostForeign)], ", "), more))
				}
			}
			if !c.Bool("yes") {
				if err := confirm(list); err != nil {
					return err
				}
			}
			removed, err := runs.Remove(found)
			list = list[:len(removed)]
			return errors.Join(runError(err), printResult(c, list, func(out io.Writer) error {
				for _, a := range list {
					printable.Fprintf(out, "removed %s: %d of %d trials, %s\n", a.Folder, a.Done, a.Trials, a.Size())
				}
				return nil
			}))
		}),
	}
}

// mostForeign is how many files are listed that heddle did not write.
const mostForeign = 10

// confirm asks the user whether to delete the listed runs, and reports whether
// the answer is yes.
func confirm(list []results.About) error {
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return withCode(exitUsage, errors.New("runs rm asks on a terminal, and there is none; use --yes to remove without asking"))
	}
	if err := doc.WriteText(stderr, listRuns(list), false); err != nil {
		return err
	}
	fmt.Fprint(stderr, "remove these folders and everything in them? [y/N] ")
	answer, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))) {
		return errors.New("nothing was removed")
	}
	return nil
}

// withRuns makes an action of a function that gets the runs that the command line
// names. A run that is named twice is opened once.
func withRuns(action func(c *cli.Context, found []*runs.Run) error) cli.ActionFunc {
	return withArguments(func(c *cli.Context, names []string) error {
		root, err := runsRoot(c.String("runs"))
		if err != nil {
			return err
		}
		var found []*runs.Run
		for _, name := range names {
			run, err := openRun(root, name)
			if err != nil {
				return withCode(exitUsage, err)
			}
			if !slices.ContainsFunc(found, func(r *runs.Run) bool { return r.Dir == run.Dir }) {
				found = append(found, run)
			}
		}
		return action(c, found)
	})
}

// openRun opens a run by the name or the path of its folder. A name without a
// slash means a run in the folder root, unless only a folder at that path is a
// run.
func openRun(root, name string) (*runs.Run, error) {
	below := filepath.Clean(name)
	if filepath.Base(below) == below {
		if run, err := runs.Open(filepath.Join(root, below)); !errors.Is(err, runs.ErrNotRun) && !errors.Is(err, os.ErrNotExist) {
			return run, err
		}
	}
	run, err := runs.Open(below)
	if errors.Is(err, runs.ErrNotRun) || errors.Is(err, os.ErrNotExist) {
		hint := ""
		if near := nearest.Name(below, namesIn(root)); near != "" {
			hint = fmt.Sprintf("did you mean %q? ", near)
		}
		return nil, fmt.Errorf("no run %s, neither in %s nor as a path; %s'heddle runs list' lists them", name, root, hint)
	}
	return run, err
}

// runNames returns the names of the run folders, for a shell's completion.
func runNames(c *cli.Context) (names []string) {
	root, err := runsRoot(c.String("runs"))
	if err != nil {
		return nil
	}
	return namesIn(root)
}

func namesIn(root string) (names []string) {
	found, _ := runs.List(root)
	for _, run := range found {
		names = append(names, filepath.Base(run.Dir))
	}
	return names
}
