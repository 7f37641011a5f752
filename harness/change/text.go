package change

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"heddle/harness/doc"
	"heddle/traces/printable"
)

// Doc returns the state of the cluster's labels and lease for people to read.
func (s State) Doc() doc.Doc {
	nodes := doc.NewTable("nodes", "node", "rack", "state", "label", "memory", "vcores")
	for _, n := range s.Nodes {
		nodes.Add(n.ID, n.Rack, n.State, cmp.Or(n.Label, "-"),
			doc.Bytes(int64(n.MemoryMB)<<20), n.VCores)
	}
	labels := doc.NewTable("labels", "label", "exclusive", "nodes")
	var pool, noted []string
	for _, l := range s.Labels {
		if l.Pool && len(l.Nodes) == 0 {
			pool = append(pool, l.Name)
			continue
		}
		labels.Add(l.Name, fmt.Sprint(l.Exclusive), cmp.Or(strings.Join(l.Nodes, " "), "-"))
	}
	held := "held by nobody so far"
	if s.Lease != nil {
		held = fmt.Sprintf("hold %d: %s; %v, since %s, renewed %s", s.Lease.Epoch, s.Hold, s.Lease.Owner,
			s.Lease.Since.Format(time.DateTime), s.Lease.Renewed.Format(time.TimeOnly))
	}
	for _, c := range s.Noted {
		noted = append(noted, c.String())
	}
	var journal doc.Part = doc.Heading(fmt.Sprintf("noted in the journal: %d", len(s.Noted)))
	if len(noted) == 0 { // a heading over nothing is left out
		journal = doc.Text("noted in the journal: 0")
	}
	return doc.Doc{
		doc.Text("cluster " + s.Cluster), nodes, labels,
		doc.Text(fmt.Sprintf("free labels of the pool (%d): %s", len(pool),
			cmp.Or(strings.Join(pool, " "), "none; heddle labels prepare adds them"))),
		doc.Text(held), journal, doc.List(noted), doc.Warnings(s.Warnings),
	}
}

// Doc returns the report on the changes put back for people to read.
func (r Report) Doc() doc.Doc {
	var d doc.Doc
	if r.Epoch == 0 {
		d = doc.Doc{doc.Text("nothing to put back")}
	}
	t := doc.NewTable("changes", "", "", "")
	for _, group := range []struct {
		title string
		items []Item
		tone  doc.Tone
	}{{"put back", r.Back, doc.Good}, {"was so already", r.Same, doc.Good}, {"kept", r.Kept, doc.Notable}, {"NOT put back", r.Left, doc.Bad}} {
		for _, i := range group.items {
			t.Add(doc.Words(group.title).In(group.tone), i.Change.String(), i.Why)
		}
	}
	for _, app := range r.Stranded {
		t.Add(doc.Words("left waiting").In(doc.Bad), app, "no running node has it: kill it (yarn application -kill), "+
			"or steer it again")
	}
	return append(d, t, doc.Warnings(r.Warnings))
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
		printable.Fprintf(&b, "the ResourceManager takes queue settings from its file only; put these into capacity-scheduler.xml, then "+
			"yarn rmadmin -refreshQueues\n")
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
