package hibench

import (
	"fmt"
	"path"
	"path/filepath"
)

// dataDir and the functions below it return the workload's folders in HDFS. The
// name of the data folder contains everything that changes the data. So
// workloads with another size or block size do not overwrite each other's
// input. The folders in it have HiBench's names.

func (r *Runner) dataDir() string {
	name := r.spec.dataName()
	switch {
	case r.w.program == Scripts || SQL(r.spec.Workload) && r.env.Checkout != "":
		name += fmt.Sprintf("-hibench-%s-%dreduces", r.w.group, r.spec.Reduces)
	case SQL(r.spec.Workload):
		name += fmt.Sprintf("-seed%d", r.spec.Seed)
	}
	return path.Join(r.env.DataDir, name)
}

func (r *Runner) workDir() string    { return path.Join(r.dataDir(), r.w.folder) }
func (r *Runner) inputPath() string  { return path.Join(r.workDir(), "Input") }
func (r *Runner) markerPath() string { return path.Join(r.workDir(), "Input.json") }

// mapInputPath returns the folder with the files that the workload's maps read.
// The SQL workloads read uservisits. They have a second, smaller table.
func (r *Runner) mapInputPath() string {
	part := ""
	switch {
	case SQL(r.spec.Workload):
		part = visitsTable
	case r.spec.Workload == DFSIORead:
		part = "io_data"
	case r.w.program == Mahout:
		part = recipes[r.spec.Workload].reads
	}
	return path.Join(r.inputPath(), part)
}

func (r *Runner) outputPath(tag string) string { return path.Join(r.workDir(), "Output-"+tag) }
func (r *Runner) hivePath(tag string) string   { return path.Join(r.workDir(), "Hive-"+tag) } // Hive's own temporary files in HDFS
func (r *Runner) checkPath(tag string) string  { return path.Join(r.workDir(), "Check-"+tag) }
func (env *Env) tagDir(tag string) string      { return filepath.Join(env.RunDir, tag) }
