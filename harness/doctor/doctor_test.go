package doctor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"heddle/collectors/hdfs"
	"heddle/harness/change"
	"heddle/harness/config"
	"heddle/harness/doc"
	"heddle/harness/internal/golden"
	"heddle/harness/lease"
	"heddle/harness/require"
	"heddle/traces"
	"heddle/traces/errtest"
)

// lacks are clusters that lack something, by the name of what is said of them.
var lacks = map[string]func(*fake){
	"rm-down":        func(f *fake) { f.down["rm"] = true },
	"rm-starting":    says("info", `{"clusterInfo":{"id":1,"haState":"INITIALIZING","resourceManagerVersion":"3.4.2"}}`),
	"rm-wrong-port":  says("info", "<html><body>Welcome to nginx</body></html>"),
	"rm-denied":      refuses("info", 403, "no"),
	"rm-second-down": func(f *fake) { f.cluster.ResourceManagers = []string{"http://127.0.0.1:1"} },
	"namenode-down":  func(f *fake) { f.hdfs.root = hdfs.ErrUnreachable },
	"history-down":   func(f *fake) { f.down["history"] = true },
	"all-down": func(f *fake) {
		f.down = map[string]bool{"rm": true, "history": true, "namenode": true}
		f.hdfs.root = hdfs.ErrUnreachable
	},
	"kerberos": func(f *fake) { f.conf["hadoop.security.authentication"] = "kerberos" },
	"no-nodes": says("nodes", `{"nodes":{}}`),
	"lost-node": says("nodes", `{"nodes":{"node":[
				{"id":"master:45454","nodeHostName":"master","state":"RUNNING","version":"3.4.2","nodeLabels":["am"]},
				{"id":"r1n1:45454","nodeHostName":"r1n1","state":"LOST","version":"3.4.2"}]}}`),
	"old-history-server": says("history/info", `{"historyInfo":{"startedOn":1,"hadoopVersion":"2.10.2"}}`),
	"history-denied":     func(f *fake) { f.hdfs.folders[stagingRoot+"/history/done"] = errDenied },
	"history-missing":    func(f *fake) { f.hdfs.folders[stagingRoot+"/history/done_intermediate"] = errMissing },
	"history-unset":      func(f *fake) { delete(f.historyConf, "mapreduce.jobhistory.done-dir") },
	"staging-denied":     func(f *fake) { f.hdfs.folders[stagingRoot+"/bench/.staging"] = errDenied },

	"fair-scheduler": func(f *fake) {
		f.conf["yarn.node-labels.enabled"] = "false"
		f.says("scheduler", fairScheduler)
		f.refuses("scheduler-conf", 400, "This API only supports the Capacity Scheduler")
		f.says("get-node-labels", "<nodeLabelsInfo/>")
	},
	"labels-distributed": func(f *fake) { f.conf["yarn.node-labels.configuration-type"] = "distributed" },
	"label-writes":       func(f *fake) { f.conf["yarn.admin.acl"] = "yarn" },
	"label-writes-group": func(f *fake) { f.conf["yarn.admin.acl"] = " hadoop" },
	"no-labels":          says("get-node-labels", "<nodeLabelsInfo/>"),
	"shared-labels": func(f *fake) {
		f.says("get-node-labels", "<nodeLabelsInfo>"+strings.Repeat(
			"<nodeLabelInfo><name>a00</name><exclusivity>false</exclusivity></nodeLabelInfo>", 3)+"</nodeLabelsInfo>")
	},
	"labels-without-queue": prodQueue(`{"partitionName":"m00","capacity":0.0,"maxAMLimitPercentage":100.0}`),
	// As of the label m00, which no node has, Hadoop 3.4.2 gave NaN without quotes.
	"absolute-queues": queuesOf(`"mode":"absolute","isAbsoluteResource":true,"absoluteCapacity":%d,"capacities":{"queueCapacitiesByPartition":[
		{"partitionName":"m00","capacity":0.0,"absoluteCapacity":0.0,"maxCapacity":NaN,"configuredMinResource":{"memory":512,"vCores":1}}]}`),
	"weight-queues": queuesOf(`"mode":"weight","weight":3.0,"capacity":0.0,"absoluteCapacity":%d,"creationMethod":"static"`),
	"made-queues":   queuesOf(`"mode":"weight","absoluteCapacity":%d,"creationMethod":"dynamicFlexible"`),
	"idle-in-queue": func(f *fake) {
		text := string(recorded(f.t, "scheduler.json.gz"))
		whole := `"queueCapacitiesByPartition":[`
		f.says("scheduler", strings.ReplaceAll(text, whole, whole+`{"partitionName":"idle","capacity":0.0,"maxAMLimitPercentage":0.0},`))
	},
	"viewfs": func(f *fake) {
		f.conf["fs.defaultFS"] = "viewfs://nsX/"
		f.historyConf["mapreduce.jobhistory.done-dir"] = "viewfs://nsX/mr-history/done"
		f.historyConf["mapreduce.jobhistory.intermediate-done-dir"] = "hdfs://GalaxyNameNode/mr-history/tmp"
		f.historyConf["yarn.app.mapreduce.am.staging-dir"] = "hdfs://namenode/tmp/staging"
	},
	"nameservices": func(f *fake) {
		f.conf["fs.defaultFS"], f.conf["dfs.nameservices"] = "hdfs://ns1", "ns1,ns2"
		f.historyConf["mapreduce.jobhistory.done-dir"] = "hdfs://ns1/mr-history/done"
		f.historyConf["mapreduce.jobhistory.intermediate-done-dir"] = "hdfs://ns2/mr-history/tmp"
	},
	"object-store": func(f *fake) {
		f.conf["fs.defaultFS"] = "s3a://bucket/"
		f.historyConf["mapreduce.jobhistory.done-dir"] = "s3a://bucket/done"
	},
	"nodes-unread":     says("nodes", "something else"),
	"datanodes-unread": func(f *fake) { f.hdfs.disks = errors.New("NameNode namenode:8020: no answer") },
	"rm-redirects": func(f *fake) {
		f.refuses("info", 302, "https://gw.invalid:8443/gateway/knoxsso/api/v1/websso?originalUrl=http://rm/")
	},
	"stock-settings": func(f *fake) {
		delete(f.conf, "yarn.resourcemanager.node-labels.am.default-node-label-expression")
		f.conf["yarn.node-labels.fs-store.root-dir"] = ""
		f.conf["yarn.cluster.max-application-priority"] = "0"
		f.conf["yarn.scheduler.configuration.store.class"] = "file"
		f.refuses("scheduler-conf", 400, "Configuration change only supported by MutableConfScheduler.")
	},
	"slow-scheduler": says("scheduler-conf",
		"<configuration><property><name>yarn.scheduler.capacity.root.queues</name><value>default</value></property></configuration>"),
	"stored-settings": func(f *fake) {
		f.conf["yarn.scheduler.configuration.store.class"] = "zk"
		f.says("scheduler-conf", "<configuration></configuration>")
	},
	"settings-refused": func(f *fake) {
		f.conf["yarn.admin.acl"] = "yarn"
		f.refuses("scheduler-conf", 403, `{"RemoteException":{"exception":"ForbiddenException","message":"java.lang.Exception: Only admins can carry out this operation.","javaClassName":"org.apache.hadoop.yarn.webapp.ForbiddenException"}}`)
	},
	"settings-unanswered": refuses("scheduler-conf", 500, "out of memory"),
	"am-label-empty": func(f *fake) {
		f.conf["yarn.resourcemanager.node-labels.am.default-node-label-expression"] = "masters"
	},

	"no-cache": func(f *fake) {
		for i := range f.hdfs.nodes {
			f.hdfs.nodes[i].CacheCapacity = 0
		}
	},
	"half-cache":   func(f *fake) { f.hdfs.nodes[0].CacheCapacity = 0 },
	"no-superuser": func(f *fake) { f.hdfs.disks = errDenied },
	"no-superuser-pool": func(f *fake) {
		f.hdfs.disks, f.hdfs.pools = errDenied, []hdfs.CachePool{{Name: "open", Owner: "hdfs", Mode: 0o757}}
	},
	"no-datanodes": func(f *fake) { f.hdfs.nodes = nil },

	"no-agents":         func(f *fake) { f.cluster.Agents = nil },
	"agent-missing":     func(f *fake) { f.cluster.Agents = f.cluster.Agents[:2] },
	"agent-refuses":     func(f *fake) { f.agents[1] = nil },
	"agent-wants-tls":   func(f *fake) { f.agentTLS[1] = agentTLSUnasked },
	"agent-without-tls": func(f *fake) { f.agentTLS[1] = agentPlainAsked },
	"agent-unknown-ca":  func(f *fake) { f.agentTLS[1] = agentUnknownCA },
	"agent-gone":        func(f *fake) { f.agentTLS[1] = agentGone },
	"agents-gone":       func(f *fake) { f.agentTLS[0], f.agentTLS[1], f.agentTLS[2] = agentGone, agentGone, agentGone },
	"agent-hostile":     func(f *fake) { f.agentTLS[1] = agentHostile },
	"may-not-drop": func(f *fake) {
		f.agents[1].DropCaches, f.agents[1].NoDropCaches = false, "drop caches: /proc/sys/vm/drop_caches: permission denied"
	},
	"clock-5s": func(f *fake) { f.agents[1].NowWallNs = 5e9 },
	"clock-of-two": func(f *fake) {
		f.cluster.Agents, f.agents[1].NowWallNs = f.cluster.Agents[:2], -5e9
	},
	"disk-full": func(f *fake) {
		f.hdfs.nodes[0].Capacity, f.hdfs.nodes[0].Remaining = 100<<30, 1<<20
		f.hdfs.nodes[1].Capacity, f.hdfs.nodes[1].Remaining = 100<<30, 50<<30
	},
	"disk-full-yarn": says("nodes", `{"nodes":{"node":[
				{"id":"master:45454","nodeHostName":"master","state":"RUNNING","version":"3.4.2","nodeLabels":["am"]},
				{"id":"r1n2:45454","nodeHostName":"r1n2","state":"RUNNING","version":"3.4.2"},
				{"id":"r1n1:45454","nodeHostName":"r1n1","state":"UNHEALTHY","version":"3.4.2","healthReport":`+
		`"1/1 local-dirs usable space is below configured utilization percentage/no more usable space [ /data/nm-local : used space above threshold of 90.0% ] "}]}}`),
	"warm-reads":     func(f *fake) { f.agents[2].DropCaches = false },
	"clock-ahead":    func(f *fake) { f.agents[0].NowWallNs, f.agents[2].NowWallNs = -1e9, 2e9 },
	"no-client":      func(f *fake) { f.cluster.Hadoop = config.Hadoop{} },
	"wrong-home":     func(f *fake) { f.cluster.Hadoop.Home = "/nowhere" },
	"hibench-broken": func(f *fake) { f.cluster.HiBench = "/nowhere" },
}

// Each lack shows as testdata/golden/NAME.txt says: the checks that are not
// fine, and the verdicts.
func TestLacks(t *testing.T) {
	for name, lack := range lacks {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			// What a clock was when the agent was recorded does not matter.
			for _, a := range f.agents {
				a.NowWallNs, a.Clock.Synchronised = 0, true
			}
			lack(f)
			golden.Check(t, "testdata/golden/"+name+".txt", trouble(f.text(t, f.examine(t))))
		})
	}
}

// queuesOf gives a cluster the queues root.dev of 40 % and root.prod.etl of 60 %
// with these fields.
func queuesOf(fields string) func(*fake) {
	leaf := func(path string, percent int) string {
		return fmt.Sprintf(`{"queuePath":"%s","queueName":"%s",`+fields+`}`, path, path[strings.LastIndexByte(path, '.')+1:], percent)
	}
	return func(f *fake) {
		f.says("scheduler", schedulerStart+
			leaf("root.dev", 40)+`,{"queueName":"prod","queuePath":"root.prod","mode":"weight","capacity":60,"queues":{"queue":[`+
			leaf("root.prod.etl", 60)+`]}}]}}}}`)
		f.says("scheduler-conf", "<configuration></configuration>")
	}
}

const (
	schedulerStart = `{"scheduler":{"schedulerInfo":{"type":"capacityScheduler","queueName":"root","queuePath":"root","queues":{"queue":[`
	fairScheduler  = `{"scheduler":{"schedulerInfo":{"type":"fairScheduler","rootQueue":{"queueName":"root","childQueues":{}}}}}`
)

// prodQueue gives a cluster one leaf queue with this share of node labels.
func prodQueue(partitions string) func(*fake) {
	return says("scheduler", schedulerStart+`{"queueName":"prod","queuePath":"root.prod","capacities":{"queueCapacitiesByPartition":[`+
		partitions+`]}}]}}}}`)
}

// breach makes a cluster on which a setting is not good.
func breach(s require.Setting) func(*fake) {
	whole := `{"partitionName":"%s","capacity":100.0,"absoluteCapacity":100.0,"maxAMLimitPercentage":0.0}`
	switch property := strings.TrimPrefix(s.Property, require.Queues+"QUEUE."); property {
	case "accessible-node-labels.LABEL.capacity":
		return prodQueue(`{"partitionName":"m00","capacity":50.0,"maxAMLimitPercentage":100.0}`)
	case "accessible-node-labels":
		return prodQueue("")
	case "maximum-am-resource-percent":
		return prodQueue(fmt.Sprintf(whole+","+whole+","+whole, "a00", "m00", "r00"))
	case "yarn.resourcemanager.scheduler.class":
		return says("scheduler", fairScheduler)
	case "dfs.datanode.max.locked.memory", "dfs.datanode.pmem.cache.dirs":
		return lacks["no-cache"]
	}
	bad := []string{"", "0", "false", "file:///tmp/x"}
	bad = bad[slices.IndexFunc(bad, func(v string) bool { return !s.Met(v) }):]
	return func(f *fake) {
		switch s.File {
		case "capacity-scheduler.xml":
			f.says("scheduler-conf", "<configuration>"+
				"<property><name>"+require.Queues+"schedule-asynchronously.enable</name><value>true</value></property>"+
				"<property><name>"+s.Property+"</name><value>"+bad[0]+"</value></property></configuration>")
		case "mapred-site.xml":
			f.historyConf[s.Property] = bad[0]
		default:
			f.conf[s.Property] = bad[0]
		}
	}
}

// Each row of the requirements, not met, is found by the check that it names,
// which says the property.
func TestEveryRequirementIsFound(t *testing.T) {
	for _, s := range require.All(0).Settings {
		t.Run(s.Property, func(t *testing.T) {
			f := newFake(t)
			breach(s)(f)
			feature := f.examine(t).Feature(s.Feature)
			i := slices.IndexFunc(feature.Checks, func(c Check) bool { return c.ID == s.Check })
			if i < 0 {
				t.Fatalf("%s has no check %s", s.Feature, s.Check)
			}
			c := feature.Checks[i]
			want := Warn
			if s.Required {
				want = Missing
			}
			name := regexp.MustCompile("^" + regexp.MustCompile("QUEUE|LABEL").ReplaceAllString(regexp.QuoteMeta(s.Property), "[a-z0-9.]+") + "$")
			if c.Status != want || !slices.ContainsFunc(c.Set, func(p Property) bool { return p.File == s.File && name.MatchString(p.Name) }) {
				t.Errorf("%s: %s, to set: %v; want %s and the property", c.Status, c.Found, c.Set, want)
			}
		})
	}
}

func TestHealthy(t *testing.T) {
	f := newFake(t)
	for _, a := range f.agents {
		a.NowWallNs = 0
	}
	r := f.examine(t)
	golden.Check(t, "testdata/golden/healthy.txt", f.text(t, r))
	for _, feature := range r.Features {
		if feature.Verdict != Yes {
			t.Errorf("%s: %s, want yes", feature.Name, feature.Verdict)
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	mustDo(t, enc.Encode(r))
	golden.Check(t, "testdata/golden/healthy.json", f.stable(b.String()))
}

func TestOtherClientVersion(t *testing.T) {
	f := newFake(t)
	for _, a := range f.agents {
		a.NowWallNs, a.Clock.Synchronised = 0, true
	}
	f.installClient(t, "3.3.6")
	golden.Check(t, "testdata/golden/old-client.txt", trouble(f.text(t, f.examine(t))))
}

// Everything that is not fine says what to do about it, or has been said by
// the check that it follows from.
func TestTroubleHasARemedy(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		data := errtest.Must(os.ReadFile(file))
		for _, block := range regexp.MustCompile(`(?m)^missing .*\n( .*\n)*`).FindAllString(string(data), -1) {
			if !strings.Contains(block, "set in ") && !strings.Contains(block, "next: ") {
				t.Errorf("%s: nothing to do about\n%s", filepath.Base(file), block)
			}
		}
	}
}

func (f *fake) text(t *testing.T, r *Report) string {
	t.Helper()
	var b bytes.Buffer
	mustDo(t, doc.WriteText(&b, r.Doc(), false))
	return f.stable(b.String())
}

// stable gives what differs from run to run a name.
func (f *fake) stable(text string) string {
	text = strings.NewReplacer(f.names...).Replace(text)
	text = regexp.MustCompile(`within [0-9.]+m?s`).ReplaceAllString(text, "within 1s")
	return regexp.MustCompile(`at most [0-9.]+(µs|ms|s) apart`).ReplaceAllString(text, "at most 1ms apart")
}

// trouble leaves out what is fine.
func trouble(text string) string {
	return regexp.MustCompile(`(?m)^ok .*\n`).ReplaceAllString(text, "")
}

// TestLeftOver names what a killed heddle has left changed, and the command that puts
// it back.
func TestLeftOver(t *testing.T) {
	f := newFake(t)
	find := func() Check {
		checks := f.examine(t).Feature(Run).Checks
		return checks[len(checks)-1]
	}
	h := errtest.Must(change.Take(t.Context(), &change.Target{Files: f.files}, change.Options{Purpose: "a test"}))
	if c := find(); c.ID != "leftOver" || c.Status != OK {
		t.Errorf("a heddle that has changed nothing: %+v", c)
	}
	mustDo(t, h.NoteFaults(t.Context(), config.FaultDown, []traces.Node{"r1n1", "r1n2"}))
	h.Abandon()
	c := find()
	if c.Status != Warn || !strings.Contains(c.Found, "2 changes, the first: daemons of node r1n1 (before: running); by ") ||
		!strings.Contains(c.Found, "(a test)") || c.Next != "if it has ended: heddle restore --cluster blue" {
		t.Errorf("a killed heddle: %+v", c)
	}
	mustDo(t, f.files.Create(t.Context(), lease.Folder(1)+"/released", nil))
	if c := find(); c.Status != Warn || c.Next != "heddle restore --cluster blue" {
		t.Errorf("what could not be put back: %+v", c)
	}
}
