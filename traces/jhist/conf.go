package jhist

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"heddle/traces"
	"heddle/traces/format"
)

// jobID is the form of Hadoop's ids of jobs. The name of a file is made from no other.
var jobID = regexp.MustCompile(`^job_[0-9]{1,20}_[0-9]{1,20}$`)

// mostConfBytes is how much of a configuration file is read.
const mostConfBytes = 16 << 20

// confOf reads the job's configuration, which Hadoop puts beside its history, from the folder of the
// history. Without that file, or with one that is damaged, it returns what there is.
func confOf(history, job string) map[string]string {
	if !jobID.MatchString(job) {
		return nil
	}
	path := filepath.Join(filepath.Dir(history), job+"_conf.xml")
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	in, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer in.Close()
	conf, _ := format.Configuration(io.LimitReader(in, mostConfBytes))
	return conf
}

// configured adds to a job's submission what its configuration says of its containers. It returns a
// note on that; nil if there is nothing.
func configured(e *traces.JobSubmitted, conf map[string]string) traces.Event {
	if len(conf) == 0 {
		return nil
	}
	format.Properties(e, conf["mapreduce.map.memory.mb"], conf["mapreduce.reduce.memory.mb"],
		conf["mapreduce.map.cpu.vcores"], conf["mapreduce.reduce.cpu.vcores"], conf["mapreduce.job.reduce.slowstart.completedmaps"])
	if e.Priority == 0 {
		e.Priority = format.Priority(conf["mapreduce.job.priority"])
	}
	e.Queue, e.User = cmp.Or(e.Queue, conf["mapreduce.job.queuename"]), cmp.Or(e.User, conf["mapreduce.job.user.name"])
	label := conf["mapreduce.job.node-label-expression"]
	e.MapLabel = cmp.Or(conf["mapreduce.map.node-label-expression"], label)
	e.ReduceLabel = cmp.Or(conf["mapreduce.reduce.node-label-expression"], label)
	return &traces.Note{
		T: e.T, Text: string(e.Job) + ": containers, slow start, priority and labels are those of the configuration file beside its history",
	}
}
