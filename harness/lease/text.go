package lease

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"heddle/traces/printable"
)

// WriteText writes the state of the cluster's labels and lease as text for
// people.
func (s State) WriteText(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	printable.Fprintf(w, "cluster %s\n\nNODE\tRACK\tSTATE\tLABEL\tMEMORY\tVCORES\n", s.Cluster)
	for _, n := range s.Nodes {
		printable.Fprintf(w, "%s\t%s\t%s\t%s\t%d MiB\t%d\n", n.ID, n.Rack, n.State, or(n.Label, "-"), n.MemoryMB, n.VCores)
	}
	var pool []string
	printable.Fprintf(w, "\nLABEL\tEXCLUSIVE\tNODES\n")
	for _, l := range s.Labels {
		if l.Pool && len(l.Nodes) == 0 {
			pool = append(pool, l.Name)
			continue
		}
		printable.Fprintf(w, "%s\t%v\t%s\n", l.Name, l.Exclusive, or(strings.Join(l.Nodes, " "), "-"))
	}
	printable.Fprintf(w, "\nfree labels of the pool (%d): %s\n", len(pool), or(strings.Join(pool, " "), "none; heddle labels prepare adds them"))
	if s.Lease == nil {
		fmt.Fprintln(w, "held by nobody so far")
	} else {
		printable.Fprintf(w, "hold %d: %s; %v, since %s, renewed %s\n", s.Lease.Epoch, s.Hold, s.Lease.Owner,
			s.Lease.Since.Format(time.DateTime), s.Lease.Renewed.Format(time.TimeOnly))
	}
	printable.Fprintf(w, "noted in the journal: %d\n", len(s.Noted))
	for _, c := range s.Noted {
		printable.Fprintf(w, "  %v\n", c)
	}
	for _, text := range s.Warnings {
		printable.Fprintln(w, "warning:", text)
	}
	return w.Flush()
}

// WriteText writes the report on the changes put back as text for people.
func (r Report) WriteText(out io.Writer) error {
	var b strings.Builder
	if r.Epoch == 0 {
		b.WriteString("nothing to put back\n")
	}
	for _, group := range []struct {
		title string
		items []Item
	}{{"put back", r.Back}, {"was so already", r.Same}, {"kept", r.Kept}, {"NOT put back", r.Left}} {
		for _, i := range group.items {
			printable.Fprintf(&b, "%-15s %v", group.title, i.Change)
			if i.Why != "" {
				printable.Fprintf(&b, ": %s", i.Why)
			}
			b.WriteByte('\n')
		}
	}
	for _, w := range r.Warnings {
		printable.Fprintf(&b, "%-15s %s\n", "warning", w)
	}
	for _, app := range r.Stranded {
		printable.Fprintf(&b, "%-15s %s, which no running node has: kill it (yarn application -kill), or steer it again\n", "left waiting", app)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// WriteText writes as text for people which labels and settings were added. If
// dry is true, the text says that they are missing and were not added.
func (p Preparation) WriteText(out io.Writer, dry bool) error {
	var b strings.Builder
	would := ""
	if dry {
		would = "would be "
	}
	if len(p.Labels)+len(p.Settings) == 0 {
		printable.Fprintf(&b, "ready: all labels are there, and queue %s has the whole of each\n", p.Queue)
	}
	for _, l := range p.Labels {
		printable.Fprintf(&b, "label %s %sadded\n", l, would)
	}
	if p.ByHand {
		printable.Fprintf(&b, "the ResourceManager takes queue settings from its file only; put these into capacity-scheduler.xml, then yarn rmadmin -refreshQueues\n")
	}
	for _, name := range slices.Sorted(maps.Keys(p.Settings)) {
		if p.ByHand {
			printable.Fprintf(&b, "%s=%s\n", name, p.Settings[name])
			continue
		}
		printable.Fprintf(&b, "%s %sset to %s\n", name, would, p.Settings[name])
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
