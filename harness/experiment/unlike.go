package experiment

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"heddle/harness/config"
	"heddle/harness/results"
	"heddle/harness/runs"
)

// Unlike returns a warning if times of an earlier run may not be those of an
// experiment, since the run's own experiment was another one. It names the keys
// that differ, and the workloads and models of the same label that differ. If
// costs is true, only what changes the costs of tasks counts, as for a
// calibration: neither models nor what they may do. The result is empty if
// nothing differs, or the run kept no experiment.
func Unlike(e *config.Experiment, run *runs.Run, costs bool) (warning string) {
	was, err := results.Experiment(run, "")
	switch {
	case err != nil:
		return fmt.Sprintf("it cannot be told whether %s is of a like experiment: %v", run.Dir, err)
	case was == nil:
		return ""
	}
	differ := unlikeKeys(e, was, costs)
	for _, w := range e.Workloads {
		i := slices.IndexFunc(was.Workloads, func(x config.Workload) bool { return x.Label == w.Label })
		if i >= 0 && !reflect.DeepEqual(w, was.Workloads[i]) {
			differ = append(differ, "workload "+w.Label)
		}
	}
	for _, m := range e.Models {
		i := slices.IndexFunc(was.Models, func(x config.Model) bool { return x.Label == m.Label })
		if costs || i < 0 {
			continue
		}
		x := was.Models[i]
		m.Cluster, x.Cluster = filepath.Base(m.Cluster), filepath.Base(x.Cluster)
		if !reflect.DeepEqual(m, x) {
			differ = append(differ, "model "+m.Label)
		}
	}
	if len(differ) == 0 {
		return ""
	}
	return fmt.Sprintf("%s is of another experiment: it differs in %s, so its times may not be those of this one",
		run.Dir, strings.Join(differ, ", "))
}

// unlikeKeys returns the keys in which two experiments differ, of those that
// change how long a trial takes.
func unlikeKeys(e, was *config.Experiment, costs bool) []string {
	var differ []string
	add := func(key string, a, b any) {
		if !reflect.DeepEqual(a, b) {
			differ = append(differ, key)
		}
	}
	add("cluster", filepath.Base(e.Cluster), filepath.Base(was.Cluster))
	if !costs {
		add("cache", cacheOf(e), cacheOf(was))
	}
	differ = append(differ, e.Differs(&was.Behaviour, costs)...)
	add("coldReads", e.ColdReads, was.ColdReads)
	return differ
}

// cacheOf returns what an experiment puts into the HDFS cache. If that is nothing,
// no other value of the key cache matters.
func cacheOf(e *config.Experiment) config.Cache {
	if e.Cache.Fraction == 0 {
		return config.Cache{}
	}
	return e.Cache
}
