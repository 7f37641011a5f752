package change

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"heddle/harness/lease"
	"heddle/harness/require"
	"heddle/yarnclient"
)

// State is what Inspect found on a cluster: node labels, nodes, the process
// that held the cluster last, and the changes in its journal. The JSON keys
// are stable.
type State struct {
	Cluster string  `json:"cluster"`
	Labels  []Label `json:"labels"`
	Nodes   []Node  `json:"nodes"`
	// Lease is the lease of the last process that held the cluster, nil if no
	// process did. Hold is the state of this lease: "none" (no lease),
	// "released", "held" or "void" (not renewed in time).
	Hold  string       `json:"hold"`
	Lease *lease.Lease `json:"lease,omitempty"`
	// Noted are the changes in the journal: those that Prepare made, and those
	// that will be put back when the holder releases the cluster.
	Noted []Change `json:"noted"`
	// Warnings are messages about the cluster's state to show to the user.
	Warnings []string `json:"warnings"`
}

// Label is a node label of the cluster. The field Pool says whether the label
// is one of those that heddle uses to steer jobs.
type Label struct {
	Name      string   `json:"name"`
	Exclusive bool     `json:"exclusive"`
	Pool      bool     `json:"pool"`
	Nodes     []string `json:"nodes"`
}

// Node is a NodeManager with its node label and its size.
type Node struct {
	ID       string `json:"node"`
	Rack     string `json:"rack"`
	State    string `json:"state"`
	Label    string `json:"label"`
	MemoryMB int64  `json:"memoryMB"`
	VCores   int    `json:"vcores"`
}

// Journal is the journal of a cluster, with the lease of its last holder.
type Journal struct {
	Lease   lease.Lease
	Changes []Change
}

// ReadJournal reads the journal of a cluster. It changes nothing.
func ReadJournal(ctx context.Context, files lease.Files) (j Journal, err error) {
	if j.Lease, err = lease.Newest(ctx, files); err != nil {
		return j, err
	}
	_, noted, err := notesBefore(ctx, files, j.Lease.Epoch+1)
	j.Changes = list(noted.sorted(""))
	return j, err
}

// Inspect reads a cluster's node labels and finds out who holds the cluster. It
// changes nothing on the cluster. To learn the NameNode's time, it creates a
// file in HDFS and removes it again.
func Inspect(ctx context.Context, c *Target) (State, error) {
	s := State{Cluster: c.Name, Hold: "none", Labels: []Label{}, Nodes: []Node{}, Warnings: []string{}}
	if err := s.inspect(ctx, c); err != nil {
		return s, fmt.Errorf("inspect cluster %s: %w", c.Name, err)
	}
	return s, nil
}

func (s *State) inspect(ctx context.Context, c *Target) error {
	var labels []yarnclient.NodeLabel
	var nodes []yarnclient.Node
	var apps []yarnclient.App
	var labelOf map[string][]string
	if _, err := c.RM.Info(ctx); err != nil { // fail at once if no ResourceManager answers, rather than wait for one
		return err
	}
	err := whileActive(ctx, c.RM, func() (err error) {
		if labels, err = c.RM.NodeLabels(ctx); err != nil {
			return err
		}
		if nodes, err = c.RM.Nodes(ctx); err != nil {
			return err
		}
		if labelOf, err = c.RM.NodesToLabels(ctx); err != nil {
			return err
		}
		apps, err = c.RM.Apps(ctx, yarnclient.AppFilter{States: yarnclient.Unfinished})
		return err
	})
	if err != nil {
		return err
	}
	j, err := ReadJournal(ctx, c.Files)
	if l := j.Lease; err == nil && l.Epoch > 0 {
		s.Lease = &l
		s.Hold, err = l.State(ctx, c.Files)
	}
	if err != nil {
		return err
	}
	s.Noted = j.Changes
	for _, n := range nodes {
		s.Nodes = append(s.Nodes, Node{n.ID, n.Rack, n.State, strings.Join(labelOf[n.ID], ","), n.Total.MemoryMB, n.Total.VCores})
		explains := func(c Change) bool { return c.Kind == NodeLabel && c.Name == n.ID }
		if require.InPool(n.Label()) && !slices.ContainsFunc(j.Changes, explains) {
			s.Warnings = append(s.Warnings, fmt.Sprintf(`node %s has label %s of the pool, and no journal says what it had before; `+
				`'yarn rmadmin -replaceLabelsOnNode "%s="' takes it off`,
				n.ID, n.Label(), n.ID))
		}
	}
	slices.SortFunc(s.Nodes, func(a, b Node) int { return strings.Compare(a.ID, b.ID) })
	s.addLabels(labels, labelOf)
	switch s.Hold {
	case "held":
		return nil
	case "void":
		s.Warnings = append(s.Warnings, "the lease was not renewed in time and is void: 'heddle restore', or an agent with --watchdog, "+
			"puts back the noted changes")
	case "released":
		if slices.ContainsFunc(s.Noted, func(c Change) bool { return !c.Prepared }) {
			s.Warnings = append(s.Warnings, "some changes could not be put back: try 'heddle restore'")
		}
	}
	for _, app := range strandedApps(apps, nodes) {
		s.Warnings = append(s.Warnings, app+", which no running node has, and no harness steers: it waits for ever; kill it")
	}
	return nil
}

func (s *State) addLabels(labels []yarnclient.NodeLabel, labelOf map[string][]string) {
	for _, l := range labels {
		label := Label{Name: l.Name, Exclusive: l.Exclusive, Pool: require.InPool(l.Name), Nodes: []string{}}
		for node, names := range labelOf {
			if slices.Contains(names, l.Name) {
				label.Nodes = append(label.Nodes, node)
			}
		}
		slices.Sort(label.Nodes)
		s.Labels = append(s.Labels, label)
		if label.Pool && !label.Exclusive {
			s.Warnings = append(s.Warnings, fmt.Sprintf("label %s of the pool is not exclusive: other jobs may use its nodes; remove it and "+
				"let heddle labels prepare add it", l.Name))
		}
	}
	slices.SortFunc(s.Labels, func(a, b Label) int { return strings.Compare(a.Name, b.Name) })
}
