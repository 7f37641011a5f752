package cmd

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/traces/exchange"
	"heddle/traces/printable"
)

type importOptions struct {
	exchange.ImportOptions
	From string `flag:"from" values:"{imports}" text:"the files' FORMAT" of:"FORMAT" without:"told by the content"`
	asJSON
}

func traceImport() *cli.Command {
	o := importOptions{ImportOptions: exchange.DefaultImport}
	o.Writer = "heddle"
	return reader("trace import", &o, importTrace)
}

func importTrace(c *cli.Context, o *importOptions, files []string) error {
	if o.Output == "" {
		return errors.New("trace import needs --output FILE")
	}
	if err := absent(o.Output); err != nil {
		return err
	}
	p := newProgress(c)
	o.Inputs, o.Format, o.Progress = files, exchange.Find(o.From), p.imported()
	r, err := exchange.Import(c.Context, o.ImportOptions)
	p.close()
	if err != nil {
		return err
	}
	if err := printText(c, r, importedText(r, true)); err != nil {
		return err
	}
	next(c, "heddle trace info", o.Output)
	return nil
}

// imported returns a function that shows how far an import is.
func (p *progress) imported() func(exchange.Progress) {
	w, doing := &work{}, ""
	return func(x exchange.Progress) {
		if x.Doing != doing {
			w, doing = &work{progress: p}, x.Doing
		}
		w.counted(float64(x.Done), float64(x.All), func() string {
			if doing == "write" {
				return fmt.Sprintf("write %d of %d events", x.Done, x.All)
			}
			return fmt.Sprintf("%s %.0f %%: %d jobs, %d events", x.Doing, 100*float64(x.Done)/float64(max(1, x.All)), x.Jobs, x.Events)
		})
	}
}

// madeBy are the flags, and keys of --set, that change what an import makes up.
var madeBy = map[string]string{
	"nodes": "--nodes, --racks", "replicas": "--replication", "tasks": "--block-size, --set reduce-size and max-reduces",
	"durations": "--set map-rate, shuffle-rate, output-rate, task-start and spread",
}

// importedText says what an import made. all is true if it also says what is left out.
func importedText(r *exchange.Imported, all bool) string {
	var b strings.Builder
	printable.Fprintf(&b, "%s has %s of form %s: %s, %s; seed %d\n", r.Output, printable.Count(r.Jobs, "job"), r.Format,
		printable.Count(r.Events, "event"), printable.Count(r.Nodes, "node"), r.Seed)
	if len(r.Synthetic) > 0 {
		var flags []string
		for _, made := range r.Synthetic {
			if by := madeBy[made]; by != "" {
				flags = append(flags, by)
			}
		}
		printable.Fprintf(&b, "made up, not recorded: %s", strings.Join(r.Synthetic, ", "))
		if len(flags) > 0 {
			printable.Fprintf(&b, " (changed by %s of heddle trace import)", strings.Join(flags, ", "))
		}
		b.WriteString("\n")
	}
	if r.RacklessAttempts > 0 {
		printable.Fprintf(&b, "the rack of %d hosts is in no file, and %d attempts ran there: the locality of maps is unknown "+
			"if it depends on such a rack; a topology file would tell\n",
			r.RacklessHosts, r.RacklessAttempts)
	}
	for _, kind := range slices.Sorted(maps.Keys(r.Mended)) {
		if left := func(text string) bool { return strings.Contains(text, kind) }; !all && slices.ContainsFunc(r.LeftOut, left) {
			continue
		}
		printable.Fprintf(&b, "mended %s: %s\n  first at %s\n", printable.Count(r.Mended[kind], "time"), kind, r.First[kind])
	}
	return b.String()
}
