package results

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"heddle/harness/doc"
	"heddle/harness/runs"
)

// Provenance says where the results of a run are from: the command, versions and
// settings, then the cluster, and the hashes of its inputs and of its trials' files.
// Times are UTC.
func Provenance(run *runs.Run) doc.Doc {
	m := run.Manifest()
	about := doc.NewTable(m.Name, "", "")
	row := func(name, text string) {
		if text != "" {
			about.Add(name, text)
		}
	}
	row("command", strings.Join(m.Command, " "))
	row("where", m.Place())
	row("state", strings.TrimSuffix(string(m.State)+": "+m.ErrorLine(), ": "))
	row("began", when(m.Started))
	row("ended", when(m.Finished))
	row("seed", fmt.Sprint(m.Seed))
	build := strings.TrimSpace(m.Heddle.Version + " " + m.Heddle.Revision)
	if m.Heddle.Modified {
		build += ", with changes"
	}
	row("heddle", build)
	row("go", m.Heddle.Go)
	for _, values := range []map[string]string{m.Versions, m.Settings} {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			row(name, values[name])
		}
	}
	cluster := doc.NewTable(m.Name+" cluster", "", "")
	described := func(prefix string, values map[string]string) {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			cluster.Add(prefix+name, values[name])
		}
	}
	described("", m.Cluster)
	for _, trace := range slices.Sorted(maps.Keys(m.Clusters)) {
		described(trace+": ", m.Clusters[trace])
	}
	files := doc.NewTable(m.Name+" files", "file", "bytes", "SHA-256")
	add := func(folder string, list []runs.File) {
		for _, f := range list {
			files.Add(folder+f.Name, f.Bytes, f.SHA256)
		}
	}
	add("", m.Files)
	for i := range m.Trials {
		add(m.Trials[i].Name+"/", m.Trials[i].Files)
	}
	return doc.Doc{about, &doc.Fold{Title: "The cluster", Parts: doc.Doc{cluster}}, &doc.Fold{
		Title: "Files and their SHA-256",
		Parts: doc.Doc{files},
	}}
}

func when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}
