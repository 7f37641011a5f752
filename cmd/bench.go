package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"heddle/harness/bench"
)

type benchOptions struct {
	Load   []string `flag:"load" list:"," text:"only LOAD; may be repeated" of:"LOAD" without:"all"`
	Repeat int      `flag:"repeat" text:"runs of each load" min:"1"`
	SWIM   string   `flag:"swim" text:"FOLDER with SWIM's lists" of:"FOLDER"`
	printed
}

func runBench(c *cli.Context, o *benchOptions, _ []string) error {
	loads := bench.Loads(o.SWIM)
	for _, name := range o.Load {
		if !slices.ContainsFunc(loads, func(l bench.Load) bool { return l.Name == name }) {
			return usagef("no load %q; want one of\n%s", name, loadLines())
		}
	}
	measures := []*bench.Measure{}
	results, asJSON, before := c.App.Writer, wantsJSON(c), "[\n"
	// for JSON output, print the result of each benchmark input as soon as it is measured, since the largest inputs take minutes
	if asJSON {
		defer func() {
			if len(measures) == 0 {
				fmt.Fprint(results, "[")
			}
			fmt.Fprintln(results, "]")
		}()
	}
	for i := range loads {
		l := &loads[i]
		if len(o.Load) > 0 && !slices.Contains(o.Load, l.Name) {
			continue
		}
		if err := l.Missing(); err != nil {
			if len(o.Load) > 0 {
				return usagef("load %s: %w; --swim names its folder", l.Name, err)
			}
			fmt.Fprintf(c.App.ErrWriter, "heddle: load %s skipped: %v; --swim names its folder\n", l.Name, err)
			continue
		}
		m, err := measured(c, l, o.Repeat)
		switch {
		case err == nil:
		case asJSON:
			return err
		default:
			// also after an error, print the results of those benchmark inputs that were measured
			return errors.Join(err, printDoc(c, measures, bench.Doc(measures)))
		}
		if measures = append(measures, m); !asJSON {
			continue
		}
		fmt.Fprint(results, before)
		before = ",\n"
		if err := printJSON(results, m); err != nil {
			return err
		}
	}
	if asJSON {
		return nil
	}
	return printDoc(c, measures, bench.Doc(measures))
}

// measured runs a load and shows how far its repeats are.
func measured(c *cli.Context, l *bench.Load, repeat int) (*bench.Measure, error) {
	w := &work{progress: newProgress(c), estimate: estimate{since: time.Now()}}
	defer w.close()
	if w.bottom == nil {
		fmt.Fprintf(c.App.ErrWriter, "heddle: %s, %d times\n", l.Name, repeat)
	}
	return l.Median(c.Context, repeat, func(done int) {
		w.counted(float64(done), float64(repeat), func() string { return fmt.Sprintf("%s, %d of %d times", l.Name, done+1, repeat) })
	})
}

func loadLines() string {
	var text strings.Builder
	for _, l := range bench.Loads("") {
		fmt.Fprintf(&text, "   %-20s %s\n", l.Name, l.About)
	}
	return text.String()
}
