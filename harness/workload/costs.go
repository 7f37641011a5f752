package workload

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"heddle/harness/config"
	"heddle/hibench"
)

// Costs names what the tasks of a workload cost: its name, and those of its keys and
// Hadoop properties that change how long a task takes for the same bytes. Workloads
// with the same Costs share a calibration, whatever their labels, sizes and numbers
// of tasks.
func Costs(w config.Workload) string {
	parts := []string{w.Name}
	if _, ok := config.Generated(w.Name); ok {
		parts[0] = config.WorkloadTrace // the same program runs with what each task is asked to do
	}
	add := func(key string, value any) { parts = append(parts, fmt.Sprintf("%s=%v", key, value)) }
	if w.Regex != "" {
		add("regex", w.Regex)
	}
	switch s := w.Spec(); {
	case w.Name == hibench.Sleep:
		ofMap, ofReduce := s.Sleeps()
		add("sleep", ofMap)
		add("reduceSleep", ofReduce)
	case hibench.DFSIO(w.Name):
		add("file", s.FileBytes())
	case w.Script != "":
		add("script", w.Script)
	}
	if w.Name == config.WorkloadJar {
		add("file", filepath.Base(w.Jar))
		add("main", w.Main)
		add("args", w.Args)
	}
	if w.Name == config.Streaming {
		add("cpu", time.Duration(w.CPU))
		add("sleep", time.Duration(w.Sleep))
		add("mapOutput", orOne(w.MapOutput))
		add("output", orOne(w.Output))
		add("taskMemory", int64(w.TaskMemory))
	}
	for _, name := range slices.Sorted(maps.Keys(w.Settings)) {
		if !slices.Contains(simulatedSettings, name) && !slices.Contains(splitSettings, name) {
			add(name, w.Settings[name])
		}
	}
	return strings.Join(parts, " ")
}

// splitSettings are the Hadoop properties that change how many tasks there are and not
// what a task costs.
var splitSettings = []string{
	"mapreduce.input.fileinputformat.split.maxsize", "mapreduce.input.fileinputformat.split.minsize",
	"mapreduce.job.maps", "mapreduce.job.reduces",
}
