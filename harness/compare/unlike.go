package compare

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"heddle/harness/config"
	"heddle/harness/results"
)

// apartWorkloads gives trials of one workload whose jobs are unlike by the experiments of
// several runs, such as in their size, workloads of their own, which are named by what
// differs. It returns a warning for each such workload.
func apartWorkloads(all []*results.Run, trials []trial) (list []string) {
	by := map[string]map[int]description{} // by label, then by run
	for i, run := range all {
		e, err := results.Experiment(run.Run, "")
		if err != nil || e == nil {
			continue
		}
		for _, w := range e.Workloads {
			if by[w.Label] == nil {
				by[w.Label] = map[int]description{}
			}
			by[w.Label][i] = describeWorkload(run, &w)
		}
	}
	named := map[string]map[int]string{}
	for _, label := range slices.Sorted(maps.Keys(by)) {
		var keys, with []string
		for _, a := range by[label] {
			for _, b := range by[label] {
				for k := range a { // what only b has is found when both change places
					if a[k] != b[k] {
						keys = append(keys, k)
					}
				}
			}
		}
		slices.Sort(keys)
		if keys = slices.Compact(keys); len(keys) == 0 {
			continue
		}
		named[label] = map[int]string{}
		for _, i := range slices.Sorted(maps.Keys(by[label])) {
			var texts []string
			for _, k := range keys[:min(len(keys), mostKeys)] {
				texts = append(texts, k+" "+cmp.Or(by[label][i][k], "none"))
			}
			named[label][i] = " (" + strings.Join(texts, ", ") + ")"
			with = append(with, filepath.Base(all[i].Dir)+" has"+named[label][i])
		}
		list = append(list, fmt.Sprintf("%s is not the same in these runs, so it is kept apart: %s", label, strings.Join(with, ", ")))
	}
	for i := range trials {
		trials[i].workload += named[trials[i].workload][trials[i].run]
	}
	return list
}

// describeWorkload returns what the jobs of a workload are, by the keys of its experiment.
func describeWorkload(run *results.Run, w *config.Workload) description {
	d, m := description(w.Values()), run.Manifest()
	for _, file := range []string{"trace", "jar"} { // by its content, wherever it is
		if d[file] != "" {
			d[file] = fmt.Sprintf("%s %.8s", filepath.Base(d[file]), m.Settings[file+"SHA256."+w.Label])
		}
	}
	if n := w.JobReduces(); n > 0 {
		d["reduces"] = cmp.Or(m.Settings["reduces."+w.Label], strconv.Itoa(n))
	}
	delete(d, "label")
	return d
}
