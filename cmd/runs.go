package cmd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"heddle/harness/doc"
	"heddle/harness/nearest"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/traces/printable"
)

type listOptions struct {
	inRuns
	printed
}

func runsList(c *cli.Context, o *listOptions, _ []string) error {
	root, err := runsRoot(o.Runs)
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
	return printDoc(c, list, results.Table(list))
}

// describe returns the summaries of runs. It prints a warning for each run whose
// experiment cannot be read.
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

type runShowOptions struct {
	inRuns
	verified
	printed
}

func runsShow(c *cli.Context, o *runShowOptions, args []string) error {
	found, err := openRuns(o.Runs, args)
	if err != nil {
		return err
	}
	found[0].Unverified = o.Unverified
	s, err := results.Show(found[0], describe(found)[0])
	if err != nil {
		return err
	}
	return show(c, s)
}

type removeOptions struct {
	inRuns
	Yes bool `flag:"yes,y" text:"do not ask"`
	asJSON
}

func removeRuns(c *cli.Context, o *removeOptions, args []string) error {
	found, err := openRuns(o.Runs, args)
	if err != nil {
		return usage(err)
	}
	list := describe(found)
	for _, run := range found {
		foreign, err := run.Foreign()
		if err != nil {
			return err
		}
		if len(foreign) > 0 {
			warn(fmt.Sprintf("%s has what heddle did not write, which goes with it: %s", run.Dir, printable.First(10, foreign)))
		}
	}
	if !o.Yes {
		if err := confirm(list); err != nil {
			return err
		}
	}
	removed, err := runs.Remove(found)
	list = list[:len(removed)]
	text := ""
	for _, a := range list {
		text += printable.Sprintf("removed %s: %d of %d trials, %s\n", a.Folder, a.Done, a.Trials, a.Size())
	}
	return errors.Join(err, printText(c, list, text))
}

// confirm asks the user whether to delete the listed runs, and returns an error unless
// the answer is yes.
func confirm(list []results.About) error {
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return usagef("runs rm asks on a terminal, and there is none; use --yes to remove without asking")
	}
	if err := doc.WriteText(stderr, results.Table(list), false); err != nil {
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

// openRuns opens the runs that a command line names, below the folder that --runs gives.
// A run that is named twice is opened once.
func openRuns(given string, names []string) (found []*runs.Run, err error) {
	root, err := runsRoot(given)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		run, err := openRun(root, name)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(found, func(r *runs.Run) bool { return r.Dir == run.Dir }) {
			found = append(found, run)
		}
	}
	return found, nil
}

// openRun opens a run by the name or the path of its folder. A name without a
// slash means a run in the folder root, unless only a folder at that path is a
// run.
func openRun(root, name string) (*runs.Run, error) {
	below := filepath.Clean(name)
	none := func(err error) bool { return errors.Is(err, runs.ErrNotRun) || errors.Is(err, os.ErrNotExist) }
	if filepath.Base(below) == below {
		if run, err := runs.Open(filepath.Join(root, below)); !none(err) {
			return run, err
		}
	}
	run, err := runs.Open(below)
	if none(err) {
		hint := ""
		if near := nearest.Name(below, namesIn(root)); near != "" {
			hint = fmt.Sprintf("did you mean %q? ", near)
		}
		return nil, fmt.Errorf("no run %s, neither in %s nor as a path; %s'heddle runs list' lists them", name, root, hint)
	}
	return run, err
}

// runOrTrace opens a run as openRun does. It returns nil if arg is a trace: a file, or a
// folder that is no run, in which job histories are.
func runOrTrace(given, arg string) (*runs.Run, error) {
	info, err := os.Stat(arg)
	if err == nil && !info.IsDir() {
		return nil, nil
	}
	root, rerr := runsRoot(given)
	if rerr != nil {
		return nil, rerr
	}
	run, rerr := openRun(root, arg)
	if _, is := runs.Open(arg); rerr != nil && err == nil && errors.Is(is, runs.ErrNotRun) {
		return nil, nil
	} else if rerr != nil {
		return nil, fmt.Errorf("%w; a TRACE is a file, or a folder of job histories", rerr)
	}
	return run, nil
}

func namesIn(root string) (names []string) {
	found, _ := runs.List(root)
	for _, run := range found {
		names = append(names, filepath.Base(run.Dir))
	}
	return names
}

// runsRoot returns the folder that contains the run folders: the given one, or
// the default if none is given.
func runsRoot(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	return runs.DefaultRoot()
}

// newRun returns the folder in which a run folder is to be made at the end of a command.
// It fails if that cannot be.
func newRun(given, name string) (root string, err error) {
	if root, err = runsRoot(given); err == nil {
		err = runs.Free(root, name)
	}
	return root, usage(err)
}
