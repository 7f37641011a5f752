package cmd

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"heddle/harness/lab"
	"heddle/traces/exchange"
	"heddle/traces/format"
	"heddle/traces/printable"
)

func traceImport() *cli.Command {
	o := exchange.DefaultImport
	o.Writer = "heddle"
	flags := []cli.Flag{
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Destination: &o.Output, Usage: "write the trace to `FILE`, which must not exist"},
		&cli.StringFlag{Name: "from", Usage: "the files' `FORMAT`: " + exchange.Names(exchange.CanRead) + " (default: told by the content)"},
		&cli.BoolFlag{Name: "strict", Usage: "refuse what is otherwise mended and counted"},
		partialFlag(),
		&cli.Uint64Flag{Name: "seed", Value: o.Seed, Destination: &o.Seed, Usage: "`SEED` of what is made up"},
		&cli.IntFlag{Name: "nodes", Destination: &o.Nodes, Usage: "make up a cluster of `N` nodes for lists of jobs", DefaultText: "none"},
		&cli.IntFlag{Name: "racks", Value: o.Racks, Destination: &o.Racks, Usage: "with --nodes: `N` racks"},
		&cli.IntFlag{Name: "replication", Value: o.Replication, Destination: &o.Replication, Usage: "hosts of a split that are made up; swim: copies of a block"},
	}
	for _, f := range exchange.Formats {
		if f.Flags != nil {
			for _, own := range f.Flags(&o.Options) {
				flags = append(flags, formatFlag(f.Name, own))
			}
		}
	}
	return &cli.Command{
		Name: "import", Usage: "make a trace of job histories and of other tools' traces", ArgsUsage: "FILE|FOLDER … [TOPOLOGY]",
		Description: `Reads files of one of these formats, also compressed with gzip:

` + exchange.About(exchange.CanRead) + `
The format is told by the content. Of a folder, such as the history server's or a
JobTracker's, all histories are read, also in folders inside. A topology file, with the
nodes of the cluster, or a rack table may be among the files. For example:

   heddle trace import -o month.trace done/2026/11
   heddle trace import -o cluster.trace job-trace.json.gz topology.json
   heddle trace import -o day.trace --nodes 600 --racks 20 --block-size 64MiB FB-2009.tsv

Some formats lack times or hosts. heddle makes them up from --seed, and "heddle trace
info" lists what was made up. Defects of the files are mended and counted in the trace's
header, or refused with --strict. If more than one job, and more than 1 % of all, would be
left out, no trace is made without --partial.`,
		Flags: append(flags, jsonFlag()),
		Action: withArguments(func(c *cli.Context, files []string) error {
			o.Inputs = files
			if err := importArguments(c, &o); err != nil {
				return err
			}
			p := newProgress(c)
			o.Progress = p.imported()
			r, err := exchange.Import(c.Context, o)
			p.close()
			if c.Context.Err() != nil {
				return err
			}
			if err != nil {
				return withCode(copyCode(err), err)
			}
			if err := printResult(c, r, func(out io.Writer) error { return printImported(out, r, true) }); err != nil {
				return err
			}
			next(c, "heddle trace info", o.Output)
			return nil
		}),
	}
}

// partialFlag returns the flag of commands that import traces of other tools.
func partialFlag() cli.Flag {
	usage := "go on if more than one job, and more than 1 % of the jobs, of another tool's trace are left out"
	return &cli.BoolFlag{Name: "partial", Usage: usage}
}

// importArguments sets in o those options whose flags do not set them directly, and
// checks all.
func importArguments(c *cli.Context, o *exchange.ImportOptions) (err error) {
	from := c.String("from")
	o.Format, o.Strict, o.Partial = exchange.Find(from), c.Bool("strict"), c.Bool("partial")
	switch {
	case len(o.Inputs) == 0:
		err = errors.New("trace import takes one FILE or FOLDER, or more")
	case o.Output == "":
		err = errors.New("trace import needs --output FILE")
	case from != "" && (o.Format == nil || !exchange.CanRead(o.Format)):
		err = fmt.Errorf("--from %s is no format that can be imported; known are %s", from, exchange.Names(exchange.CanRead))
	case c.IsSet("nodes") && o.Nodes < 1:
		err = fmt.Errorf("--nodes %d: want 1 or more", o.Nodes)
	}
	if err != nil {
		return withCode(exitUsage, err)
	}
	return absent(o.Output)
}

// quantity holds the value of a command line flag for the import of a trace,
// such as a size in bytes.
type quantity struct {
	to   *int64
	read func(text string) (int64, error)
}

// Set parses the text of a flag's value, such as a size or a rate.
func (q *quantity) Set(text string) error {
	n, err := q.read(text)
	if err == nil {
		*q.to = n
	}
	return err
}

// String returns "", so that the help text does not print a default twice: the
// field DefaultText of the flag has it.
func (*quantity) String() string { return "" }

// formatFlag returns the command line flag for an option of a trace format that
// heddle can import, such as a block size.
func formatFlag(name string, f format.Flag) cli.Flag {
	// The variables size and rate get the types of two fields of lab.Config,
	// because these types can parse sizes and rates.
	size, rate := typed(lab.Config{}.BlockSize, *f.Value), typed(lab.Config{}.Disk, *f.Value)
	q := &quantity{to: f.Value}
	text := strconv.FormatInt(*f.Value, 10)
	switch f.Unit {
	case format.Bytes:
		q.read = func(text string) (int64, error) { err := size.Set(text); return int64(size), err }
		text = size.String()
	case format.BytesPerSecond:
		q.read = func(text string) (int64, error) { err := rate.Set(text); return int64(rate), err }
		text = rate.String()
	case format.Milliseconds:
		q.read = func(text string) (int64, error) { d, err := time.ParseDuration(text); return d.Milliseconds(), err }
		text = (time.Duration(*f.Value) * time.Millisecond).String()
	default:
		q.read = func(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }
	}
	return &cli.GenericFlag{Name: f.Name, Value: q, DefaultText: text, Usage: name + ": " + f.Usage}
}

// typed converts n to the type of its first argument. It is for types of
// another package that package main cannot name.
func typed[T ~int64](_ T, n int64) T { return T(n) }

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

// madeBy are the flags that change what an import makes up.
var madeBy = map[string][]string{
	"nodes": {"--nodes", "--racks"}, "replicas": {"--replication"}, "tasks": {"--block-size", "--reduce-size", "--max-reduces"},
	"durations": {"--map-rate", "--shuffle-rate", "--output-rate", "--task-start", "--spread"},
}

// printImported says what an import made. all is true if it also says what is left out.
func printImported(out io.Writer, r *exchange.Imported, all bool) error {
	var b strings.Builder
	printable.Fprintf(&b, "%s has %s of form %s: %s, %s; seed %d\n", r.Output, printable.Count(r.Jobs, "job"), r.Format, printable.Count(r.Events, "event"), printable.Count(r.Nodes, "node"), r.Seed)
	if len(r.Synthetic) > 0 {
		var flags []string
		for _, made := range r.Synthetic {
			flags = append(flags, madeBy[made]...)
		}
		printable.Fprintf(&b, "made up, not recorded: %s", strings.Join(r.Synthetic, ", "))
		if len(flags) > 0 {
			printable.Fprintf(&b, " (changed by %s of heddle trace import)", strings.Join(flags, ", "))
		}
		b.WriteString("\n")
	}
	if r.RacklessHosts > 0 {
		printable.Fprintf(&b, "the rack of %d hosts is in no file, and %d attempts ran there: the locality of maps is unknown if it depends on such a rack; a topology file would tell\n",
			r.RacklessHosts, r.RacklessAttempts)
	}
	for _, kind := range slices.Sorted(maps.Keys(r.Mended)) {
		if left := func(text string) bool { return strings.Contains(text, kind) }; !all && slices.ContainsFunc(r.LeftOut, left) {
			continue
		}
		printable.Fprintf(&b, "mended %s: %s\n  first at %s\n", printable.Count(r.Mended[kind], "time"), kind, r.First[kind])
	}
	_, err := io.WriteString(out, b.String())
	return err
}
