package traces

import "strings"

// JobTracker reports whether a JobTracker of Hadoop 0.18 to 1.x ran the job. Its jobs are
// numbered from a date of 12 digits, those of YARN from 13 digits of ms since 1970.
func (id JobID) JobTracker() bool {
	since, _, _ := strings.Cut(strings.TrimPrefix(string(id), "job_"), "_")
	return len(since) == len("201204031444") && strings.HasPrefix(since, "20")
}

// Words puts a text about the job in the words of MapReduce 1 if a JobTracker ran it.
func (id JobID) Words(text string) string {
	if id.JobTracker() {
		return ofMapReduce1.Replace(text)
	}
	return text
}

// ofMapReduce1 has YARN's words with those of MapReduce 1, longer ones first.
var ofMapReduce1 = strings.NewReplacer(
	"since its ApplicationMaster asked for it", "since the JobTracker had it to start",
	"ApplicationMasters started", "the JobTracker set jobs up",
	"the ApplicationMaster of", "what the JobTracker sets up for",
	"their ApplicationMaster", "the JobTracker",
	"its ApplicationMaster", "the JobTracker",
	"an ApplicationMaster of", "the JobTracker of",
	"yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms, the NodeManagers' heartbeat", "mapreduce.tasktracker.outofband.heartbeat",
	"yarn.resourcemanager.am.max-attempts", "mapred.jobtracker.restart.recover",
	"yarn.resourcemanager.nm.liveness-monitor.expiry-interval-ms", "mapred.tasktracker.expiry.interval",
	"yarn.resourcemanager.scheduler.monitor.enable", "mapred.fairscheduler.preemption",
	"yarn.scheduler.capacity.maximum-am-resource-percent", "mapred.jobinit.threads",
	"yarn.scheduler.capacity.node-locality-delay", "mapred.fairscheduler.locality.delay",
	"mapreduce.job.reduce.slowstart.completedmaps", "mapred.reduce.slowstart.completed.maps",
	"mapreduce.input.fileinputformat.split.maxsize", "mapred.max.split.size",
	"mapreduce.map.output.compress", "mapred.compress.map.output",
	"mapreduce.map.speculative", "mapred.map.tasks.speculative.execution",
	"YARN", "the scheduler", "container", "slot",
)
