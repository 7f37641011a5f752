package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"heddle/harness/lab"
	"heddle/traces/exchange"
)

func traceImport() *cli.Command {
	o := exchange.DefaultImport
	o.Writer = "heddle"
	// The types that read sizes and rates are the lab's; their values end here.
	block, reduce := lab.Config{}.BlockSize, lab.Config{}.BlockSize
	mapRate, shuffleRate, outputRate := lab.Config{}.Disk, lab.Config{}.Disk, lab.Config{}.Disk
	start := time.Duration(o.Rules.StartMs) * time.Millisecond
	return &cli.Command{
		Name: "import", Usage: "make a trace of job histories and of other tools' traces", ArgsUsage: "FILE … [TOPOLOGY]",
		Description: `Reads job histories (jhist), traces of Rumen and of the Scheduler Load Simulator (sls),
and lists of jobs of SWIM (swim), also compressed with gzip. Their form is told by
their content, and so is that of a topology file of Rumen or SLS. For example:

   heddle trace import -o cluster.trace job-trace.json.gz topology.json
   heddle trace import -o day.trace --nodes 600 --racks 20 --block-size 64MiB FB-2009.tsv

What a form does not hold is made up by a rule from --seed, as the hosts of SLS's further
replicas by HDFS's placement. SWIM's lists are kept as they are, with the rules by which
replays make tasks of their jobs. "heddle trace info" says what is made up. Defects of the files are mended, counted
and kept in the trace's header, or refused with --strict.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Destination: &o.Output, Usage: "write the trace to `FILE`, which must not exist"},
			&cli.StringFlag{Name: "from", Usage: "the files' `FORM`: jhist, rumen, sls or swim (default: told by the content)"},
			&cli.BoolFlag{Name: "strict", Usage: "refuse what is otherwise mended"},
			&cli.BoolFlag{Name: "lenient", Usage: "mend what can be mended and count it (default)"},
			&cli.Uint64Flag{Name: "seed", Value: o.Seed, Destination: &o.Seed, Usage: "`SEED` of what is made up"},
			&cli.IntFlag{Name: "nodes", Destination: &o.Nodes, Usage: "make up a cluster of `N` nodes for lists of jobs", DefaultText: "none"},
			&cli.IntFlag{Name: "racks", Value: o.Racks, Destination: &o.Racks, Usage: "with --nodes: `N` racks"},
			&cli.IntFlag{Name: "replication", Value: o.Replication, Destination: &o.Replication, Usage: "hosts of a split that are made up; swim: copies of a block"},
			&cli.GenericFlag{Name: "block-size", Value: &block, DefaultText: "128MiB", Usage: "swim: a map for each block of the input"},
			&cli.GenericFlag{Name: "reduce-size", Value: &reduce, DefaultText: "1GiB", Usage: "swim: a reduce for so much of the shuffle (a guess)"},
			&cli.IntFlag{Name: "max-reduces", Value: o.Rules.MaxReduces, Destination: &o.Rules.MaxReduces, Usage: "swim: reduces a job at most (a guess)"},
			&cli.GenericFlag{Name: "map-rate", Value: &mapRate, DefaultText: "10MB/s", Usage: "swim: input a map reads and maps (a guess)"},
			&cli.GenericFlag{Name: "shuffle-rate", Value: &shuffleRate, DefaultText: "20MB/s", Usage: "swim: what a reduce fetches (a guess)"},
			&cli.GenericFlag{Name: "output-rate", Value: &outputRate, DefaultText: "20MB/s", Usage: "swim: what a reduce writes (a guess)"},
			&cli.DurationFlag{Name: "task-start", Value: start, Destination: &start, Usage: "swim: `TIME` a task takes besides its bytes (a guess)"},
			&cli.IntFlag{Name: "spread", Value: o.Rules.SpreadPercent, Destination: &o.Rules.SpreadPercent, Usage: "swim: tasks take up to `PERCENT` more or less (a guess)"},
			jsonFlag(),
		},
		Action: func(c *cli.Context) error {
			var err error
			if o.Inputs, err = arguments(c); err != nil {
				return err
			}
			o.Form, o.Strict = exchange.Form(c.String("from")), c.Bool("strict")
			switch {
			case len(o.Inputs) == 0:
				return withCode(exitUsage, errors.New("trace import takes one FILE or more"))
			case o.Output == "":
				return withCode(exitUsage, errors.New("trace import needs --output FILE"))
			case o.Strict && c.Bool("lenient"):
				return withCode(exitUsage, errors.New("trace import takes --strict or --lenient, not both"))
			case o.Form != "" && !o.Form.Known(exchange.Imports):
				return withCode(exitUsage, fmt.Errorf("--from %s is no form that can be imported; known are %s", o.Form, forms(exchange.Imports)))
			case c.IsSet("nodes") && o.Nodes < 1:
				return withCode(exitUsage, fmt.Errorf("--nodes %d: want 1 or more", o.Nodes))
			}
			if _, err := os.Lstat(o.Output); err == nil {
				return withCode(exitUsage, fmt.Errorf("trace import: %s exists: choose another file", o.Output))
			}
			for _, v := range []struct {
				flag string
				n    int64
				to   *int64
			}{
				{"block-size", int64(block), &o.Rules.BlockBytes},
				{"reduce-size", int64(reduce), &o.Rules.BytesPerReduce},
				{"map-rate", int64(mapRate), &o.Rules.MapRate},
				{"shuffle-rate", int64(shuffleRate), &o.Rules.ShuffleRate},
				{"output-rate", int64(outputRate), &o.Rules.OutputRate},
			} {
				if c.IsSet(v.flag) {
					*v.to = v.n
				}
			}
			o.Rules.StartMs = start.Milliseconds()
			o.Progress = importProgress(c.App.ErrWriter)
			r, err := exchange.Import(c.Context, o)
			if c.Context.Err() != nil {
				return err
			}
			if err != nil {
				return withCode(copyCode(err), err)
			}
			if c.Bool("json") {
				return printJSON(c.App.Writer, r)
			}
			return printImported(c.App.Writer, r)
		},
	}
}

// importProgress says every few seconds how far an import is.
func importProgress(out io.Writer) func(int, int64) {
	last := time.Now()
	return func(jobs int, events int64) {
		if time.Since(last) >= quietFor {
			last = time.Now()
			fmt.Fprintf(out, "%d jobs, %d events\n", jobs, events)
		}
	}
}

func printImported(out io.Writer, r *exchange.Imported) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s has %d jobs of form %s: %d events, %d nodes; seed %d\n", r.Output, r.Jobs, r.Form, r.Events, r.Nodes, r.Seed)
	if len(r.Synthetic) > 0 {
		fmt.Fprintf(&b, "made up, not recorded: %s\n", strings.Join(r.Synthetic, ", "))
	}
	if r.RacklessHosts > 0 {
		fmt.Fprintf(&b, "the rack of %d hosts is in no file, and %d attempts ran there: where it decides, how near maps were to their data is unknown; a topology file would tell\n",
			r.RacklessHosts, r.RacklessAttempts)
	}
	for _, kind := range slices.Sorted(maps.Keys(r.Mended)) {
		fmt.Fprintf(&b, "mended %d times: %s\n  first at %s\n", r.Mended[kind], kind, r.First[kind])
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func forms(list []exchange.Form) string {
	var names []string
	for _, f := range list {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}
