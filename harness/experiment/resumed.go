package experiment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"heddle/harness/config"
	"heddle/harness/runs"
	"heddle/traces/printable"
)

// clusterFile is the description of its cluster that a run folder keeps.
const clusterFile = "cluster.yaml"

// Load reads the experiment from a file, or from the folder of the run that is resumed.
// The result old is the resumed run, nil for a new run.
func (o *Options) Load(file string) (old *runs.Run, err error) {
	if o.Resume == "" {
		o.Experiment, o.Source, err = config.LoadExperiment(file)
		return nil, err
	}
	if old, err = runs.Open(o.Resume); err != nil {
		return nil, err
	}
	old.Unverified = o.Unverified
	if o.Source, err = old.ReadFile("experiment.yaml"); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("resume %s: it has no experiment.yaml: either heddle was ended before anything ran, and the run can "+
			"be started anew, or it is a capture", o.Resume)
	} else if err == nil {
		o.Experiment, err = config.ParseExperiment(filepath.Join(o.Resume, "experiment.yaml"), o.Source)
	}
	if err == nil {
		err = FindFiles(o.Experiment, old.Manifest())
	}
	return old, err
}

// Foreign returns an error if a run that is taken up would run what a folder says
// that this user's heddle did not begin: any program can stand there. On a cluster, the
// folder also says which cluster that is, and which keys and tokens are sent to it.
func (o *Options) Foreign(old *runs.Run, simulated bool) error {
	if old == nil || old.Own() {
		return nil
	}
	var list []string
	for _, m := range o.Experiment.Models {
		if len(m.Command) > 0 {
			list = append(list, "model "+m.Label+": "+strings.Join(m.Command, " "))
		}
	}
	if simulated && len(list) == 0 {
		return nil
	}
	if !simulated {
		for _, w := range o.Experiment.Workloads {
			if w.Jar != "" {
				list = append(list, "workload "+w.Label+": "+w.Jar)
			}
		}
		c := o.Cluster
		commands := [][]string{{c.Hadoop.Home}, {c.HiBench}}
		if f := c.Faults; f != nil {
			commands = append(commands, f.NodeDown, f.NodeUp, f.NodeSlow)
		}
		for _, command := range commands {
			if text := strings.Join(command, " "); text != "" {
				list = append(list, "cluster "+c.Name+": "+text)
			}
		}
		list = append(list, "on "+strings.Join(c.ResourceManagers, ", "))
	}
	return fmt.Errorf("resume %s: this user's heddle did not begin that run on this machine, and it would run programs of the "+
		"folder's choice (%s). If you know them, give the experiment file yourself, which continues the same run: "+
		"heddle run --runs %s --run-name %s EXPERIMENT.yaml",
		o.Resume, printable.Line(strings.Join(list,
			"; ")), printable.ShellWord(filepath.Dir(filepath.Clean(o.Resume))), printable.ShellWord(filepath.Base(filepath.Clean(o.Resume))))
}

// ClusterOf returns the cluster of the run folder that a calibration is
// fitted to. It returns nil if the calibration is a file, or if the run kept no
// description of its cluster.
func ClusterOf(calibration string, unverified bool) (*config.Cluster, error) {
	if info, err := os.Stat(calibration); err != nil || !info.IsDir() {
		return nil, nil // who reads the calibration reports a file that cannot be read
	}
	run, err := runs.Open(calibration)
	if err != nil {
		return nil, err
	}
	run.Unverified = unverified
	if _, ok := run.File(clusterFile); !ok {
		return nil, nil
	}
	data, err := run.ReadFile(clusterFile)
	if err != nil {
		return nil, err
	}
	cluster, err := config.ParseCluster(filepath.Join(calibration, clusterFile), data)
	if err == nil && cluster.Machines == nil {
		err = fmt.Errorf("calibration: %s does not describe its nodes (key machines); give a cluster file that does, with --cluster",
			filepath.Join(calibration, clusterFile))
	}
	return cluster, err
}
