package compare

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"heddle/harness/config"
	"heddle/harness/results"
)

// description is what a run recorded of its cluster, by key. nil means nothing.
type description map[string]string

// mostKeys is how many keys are named in which two clusters differ.
const mostKeys = 6

// unlikeClusters returns a warning for every two runs whose clusters differ, as far as
// the runs recorded them. Their trials must not be taken for repeats of each other.
func unlikeClusters(all []*results.Run) []string {
	var list []string
	clusters := mapped(all, describe)
	for i, a := range clusters {
		for j, b := range clusters[:i] {
			sameWorld := all[i].Manifest().World == all[j].Manifest().World
			if len(a) == 0 && len(b) == 0 || (len(a) == 0 || len(b) == 0) && !sameWorld {
				continue
			}
			if differ := unlikeIn(b, a); differ != "" {
				list = append(list, fmt.Sprintf("%s and %s ran on unlike clusters, so they are kept apart: %s",
					all[j].Dir, all[i].Dir, differ))
			}
		}
	}
	return list
}

// AlikeClusters reports whether the clusters of two runs are the same, as far as both
// recorded them. Only then are their trials repeats of each other.
func AlikeClusters(a, b *results.Run) bool { return unlikeIn(describe(a), describe(b)) == "" }

// unlikeIn says in which keys two descriptions differ, "" if in none.
func unlikeIn(a, b description) string {
	if len(a) == 0 || len(b) == 0 {
		return "one of them did not record its cluster"
	}
	keys := slices.Concat(slices.Collect(maps.Keys(a)), slices.Collect(maps.Keys(b)))
	slices.Sort(keys)
	keys = slices.DeleteFunc(slices.Compact(keys), func(key string) bool {
		return a[key] == b[key] || !a.describes(key) || !b.describes(key)
	})
	if named := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return strings.HasSuffix(key, "all") }); len(named) > 0 {
		keys = named
	}
	var texts []string
	for _, key := range keys[:min(len(keys), mostKeys)] {
		texts = append(texts, fmt.Sprintf("%s (%s, %s)", key, cmp.Or(a[key], "none"), cmp.Or(b[key], "none")))
	}
	if more := len(keys) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, ", ")
}

// describes reports whether a description is also about what the key is about: the
// cluster of a replayed trace is described only in runs that replayed this trace.
func (d description) describes(key string) bool {
	of, _, ok := strings.Cut(key, ": ")
	if !ok {
		return true
	}
	for other := range d {
		if strings.HasPrefix(other, of+": ") {
			return true
		}
	}
	return false
}

// describe returns what a run recorded of its clusters. The keys of a model's own
// cluster, and of a replayed trace's, begin with "model NAME: " and "trace NAME: ".
func describe(run *results.Run) description {
	m := run.Manifest()
	d := description{}
	for workload, known := range m.Clusters {
		for key, value := range known {
			d["trace "+workload+": "+key] = value
		}
	}
	for _, f := range m.Files {
		label, own := strings.CutPrefix(strings.TrimSuffix(f.Name, ".yaml"), "cluster-")
		prefix := ""
		switch {
		case own:
			prefix = "model " + label + ": "
		case f.Name != "cluster.yaml":
			continue
		}
		for key, value := range recorded(run, f.Name) {
			d[prefix+key] = value
		}
	}
	maps.Copy(d, m.Cluster)
	return d
}

// recorded returns what a cluster file in a run folder says of its nodes, or only
// where the cluster is if the file does not describe its nodes.
func recorded(run *results.Run, file string) map[string]string {
	var c *config.Cluster
	data, err := run.ReadFile(file)
	if err == nil {
		c, err = config.ParseCluster(filepath.Join(run.Dir, file), data)
	}
	if err != nil {
		return map[string]string{file: err.Error()}
	}
	known := c.Described()
	if c.Machines == nil {
		known["resourceManagers"] = strings.Join(c.ResourceManagers, " ")
	}
	return known
}
