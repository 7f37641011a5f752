package doctor_test

import (
	"strings"
	"testing"

	"heddle/harness/doc"
	"heddle/harness/doctor"
	"heddle/harness/queues"
	"heddle/traces/errtest"
)

// TestQueues says what may not be meant in a file of queues, and nothing of one that is fine.
func TestQueues(t *testing.T) {
	const fine = "root.queues=a,b\nroot.a.capacity=40\nroot.b.capacity=60\nuser-limit-factor=1.5\nroot.a.user-limit-factor=2\nroot.a.maximum-capacity=80\nroot.b.maximum-capacity=90\nmaximum-am-resource-percent=0.5\n"
	const monitor, p = "yarn.resourcemanager.scheduler.monitor.enable", "yarn.resourcemanager.monitor.capacity.preemption."
	const within = "intra-queue-preemption."
	for more, want := range map[string]string{
		monitor + "=true":                                        "",
		p + "observe_only=true":                                  p + "observe_only: " + monitor + " is not true",
		monitor + "=true\n" + p + "observe_only=true":            "only logs what it would take",
		monitor + "=true\n" + p + "total_preemption_per_round=0": "a round may take no part",
		monitor + "=true\nroot.disable_preemption=true":          "it is disabled for all queues",
		monitor + "=true\n" + p + within + "enabled=true\nroot.a.minimum-user-limit-percent=25\nroot.b." + within + "disable_preemption=true": "",
		monitor + "=true\n" + p + within + "enabled=true\nroot.a.minimum-user-limit-percent=25":                                               "root.b.minimum-user-limit-percent: nothing is preempted within",
		monitor + "=true\n" + p + within + "minimum-threshold=1": p +
			within + "minimum-threshold: " + p + within + "enabled is not true",
		p + within + "preemption-order-policy=age": "is neither userlimit_first nor priority_first",
		"":                                       "",
		"root.a.state=STOPPED":                   "root.a.state: the queue is STOPPED",
		"root.a.maximum-capacity=20":             "root.a.maximum-capacity: 20 percent is below its capacity of 40",
		"root.a.capacity=0\nroot.b.capacity=100": "root.a.capacity: it is guaranteed nothing",
		"root.a.priority=4":                      "root.a.priority: it does nothing",
		"root.a.priority=4\nroot.ordering-policy=priority-utilization":        "",
		"root.a.maximum-am-resource-percent=0.01":                             "a second one of 1.5 GB needs a cluster of 751 GB",
		"root.a.maximum-applications=1\nroot.a.minimum-user-limit-percent=25": "as large a share as of the queue: none",
		"root.a.user-limit-factor=1":                                          "one user gets at most 40 percent of the cluster, 1 times its capacity: only several reach the maximum-capacity of 80",
		"root.a.user-limit-factor=3":                                          "3 times its capacity is 120 percent of the cluster, which no user reaches",
		"root.a.user-limit-factor=-1":                                         "",
		"root.a.user-limit-factor=-2":                                         "is below 0",
		"root.a.minimum-user-limit-percent=0":                                 "outside 1 to 100",
		"root.c.capacity=10":                                                  "root.c.capacity: no queue of the file has this path",
		"root.a.maximum-capcity=60":                                           `root.a.maximum-capcity: no such key; did you mean "maximum-capacity"?`,
		"user-limit-facter=2":                                                 `user-limit-facter: no such key; did you mean "user-limit-factor"?`,
		"root.a.maximum-allocation=memory=2048":                               "root.a.maximum-allocation: the simulated scheduler knows nothing of it",
		"root.a.default-application-lifetime=60":                              "the simulated scheduler knows nothing of it",
		"root.b.capacity=50":                                                  "No ResourceManager starts with this file",
		"root.a.capacity=[memory=2048,vcores=2]\nroot.b.capacity=[memory=999999,vcores=9]\nroot.a.maximum-capacity=[memory=4096,vcores=4]": "within its guarantee of 2048 MB, one job at a time",
	} {
		r := doctor.ExamineQueues(queues.Read(strings.NewReader(fine + more)))
		var said strings.Builder
		for _, f := range r.Findings {
			said.WriteString(f.Key + ": " + f.Says + "\n")
		}
		for _, k := range r.NotSimulated {
			said.WriteString(k.Name + ": " + k.Why + "\n")
		}
		if r.Refused != "" {
			errtest.None(t, doc.WriteText(&said, r.Doc(), false))
		}
		if got := said.String(); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: it says\n%s\nwant %s", more, got, want)
		}
	}
}
