package require

import "math"

// Names of the features of heddle that need Hadoop settings, as in doctor's
// report.
const (
	Captured = "captured" // name of the feature of making traces of jobs
	Steered  = "steered"  // name of the feature of placing containers by heddle's scheduler models
	Cached   = "cached"   // name of the feature of caching job inputs in HDFS
)

// Queues is the text with which the name of every property of the Capacity
// scheduler starts.
const Queues = "yarn.scheduler.capacity."

const (
	coreXML     = "core-site.xml"
	hdfsXML     = "hdfs-site.xml"
	mapredXML   = "mapred-site.xml"
	yarnXML     = "yarn-site.xml"
	capacityXML = "capacity-scheduler.xml"

	history         = "JobHistoryServer"
	resourceManager = "ResourceManager"
	dataNode        = "DataNode"
	nameAndData     = "NameNode and DataNode"
	allDaemons      = "all daemons"

	capacityClass = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler"
	doneFolder    = "${yarn.app.mapreduce.am.staging-dir}/history/done"
)

// settings lists all Hadoop settings that heddle needs. Settings that the same
// doctor check looks at follow each other; doctor shows only the first one's
// reason.
var settings = []Setting{
	{
		Feature: Captured, Check: "authentication", File: coreXML, Property: "hadoop.security.authentication", Value: "simple",
		Rule: "simple or kerberos", met: func(v string) bool { return v == "simple" || v == "kerberos" },
		Default: "simple", Required: true, Restart: allDaemons,
		Why: "everything",
	},
	{
		Feature: Captured, Check: "authentication", File: hdfsXML, Property: "dfs.encrypt.data.transfer", Value: "false",
		Default: "false", Required: true, Restart: nameAndData,
		Why: "reading files and rewriting splits: heddle's connections to DataNodes are not encrypted",
	},
	{
		Feature: Captured, Check: "historyFolder", File: mapredXML, Property: "mapreduce.jobhistory.intermediate-done-dir",
		Value: doneFolder + "_intermediate", Rule: "a folder in HDFS that the user can read", met: inHDFS,
		Default: doneFolder + "_intermediate", Required: true, Restart: history,
		Why: "history files, which hold every attempt with its times and counters",
	},
	{
		Feature: Captured, Check: "historyFolder", File: mapredXML, Property: "mapreduce.jobhistory.done-dir", Value: doneFolder,
		Rule: "a folder in HDFS that the user can read", met: inHDFS, Default: doneFolder, Required: true, Restart: history,
		Why: "the same files once the history server has filed them",
	},
	{
		Feature: Captured, Check: "historyFormat", File: mapredXML, Property: "mapreduce.jobhistory.jhist.format", Value: "json",
		Rule: "json or binary", met: oneOf("json", "binary"), Default: "binary",
		Why: "reading history files; json and binary are both read",
	},
	{
		Feature: Captured, Check: "staging", File: mapredXML, Property: "yarn.app.mapreduce.am.staging-dir", Value: "/tmp/hadoop-yarn/staging",
		Rule: "a folder in HDFS that the user can read", met: inHDFS, Default: "/tmp/hadoop-yarn/staging", Restart: history,
		Why: "job.xml and splits of running jobs, which tie maps to blocks; they vanish when a job ends",
	},

	{
		Feature: Steered, Check: "scheduler", File: yarnXML, Property: "yarn.resourcemanager.scheduler.class", Value: capacityClass,
		Default: capacityClass, Required: true, Restart: resourceManager,
		Why: "node labels, which only the Capacity scheduler knows",
	},
	{
		Feature: Steered, Check: "labels", File: yarnXML, Property: "yarn.node-labels.enabled", Value: "true",
		Default: "false", Required: true, Restart: resourceManager,
		Why: "moving a node into a job's label for one container",
	},
	{
		Feature: Steered, Check: "labels", File: yarnXML, Property: "yarn.node-labels.configuration-type", Value: "centralized",
		Default: "centralized", Required: true, Restart: resourceManager,
		Why: "labels that can be set over REST",
	},
	{
		Feature: Steered, Check: "labelWrites", File: yarnXML, Property: "yarn.admin.acl", Value: "*",
		Rule: "* or a list with heddle's user", met: oneOf("*"), Default: "*", Required: true, Restart: resourceManager,
		Why: "setting labels, which only YARN admins may",
	},
	{
		Feature: Steered, Check: "queueLabels", File: capacityXML, Property: Queues + "QUEUE.accessible-node-labels.LABEL.capacity", Value: "100",
		Rule: "100; 1w in a queue whose capacity is a weight; more than the cluster has, as [memory=MB,vcores=N], in one whose capacity is so",
		met:  oneOf("100"), Default: "0", Required: true, Restart: resourceManager, Prepared: true,
		Why: "a queue whose jobs may use all nodes of a label; with a capacity of 0 they wait for ever",
	},
	{
		Feature: Steered, Check: "queueLabels", File: capacityXML, Property: Queues + "QUEUE.accessible-node-labels", Value: "LABELS",
		Rule: "* or a list of all labels; of the root it is fixed", met: isSet, Required: true, Restart: resourceManager, Prepared: true,
		Why: "a queue that takes jobs which ask for labels; others are refused",
	},
	{
		Feature: Steered, Check: "queueLabels", File: capacityXML, Property: Queues + "QUEUE.maximum-am-resource-percent", Value: "1.0",
		Rule: "more than 0", met: between(math.SmallestNonzeroFloat64, 1), Default: "0.1", Required: true, Restart: resourceManager,
		Why: "ApplicationMasters of several jobs at a time: their label's nodes run nothing else",
	},
	{
		Feature: Steered, Check: "amLabel", File: yarnXML, Property: "yarn.resourcemanager.node-labels.am.default-node-label-expression",
		Value: Masters,
		Rule:  "a label that a running node has", met: isSet, Required: true, Restart: resourceManager,
		Why: "ApplicationMasters on nodes of their own, so that all workers can be moved",
	},
	{
		Feature: Steered, Check: "labelStore", File: yarnXML, Property: "yarn.node-labels.fs-store.root-dir",
		Value: "file:///var/lib/hadoop-yarn/node-labels",
		Rule:  "a folder outside /tmp", met: lasting, Default: "file:///tmp/hadoop-yarn-${user}/node-labels", Restart: resourceManager,
		Why: "labels that outlive a restart of the ResourceManager",
	},
	{
		Feature: Steered, Check: "asyncScheduling", File: capacityXML, Property: Queues + "schedule-asynchronously.enable", Value: "true",
		Default: "false", Restart: resourceManager,
		Why: "decisions that take effect in some 20 ms rather than at the next heartbeat",
	},
	{
		Feature: Steered, Check: "asyncScheduling", File: capacityXML, Property: Queues + "schedule-asynchronously.scheduling-interval-ms",
		Value: "20",
		Rule:  "1 to 100", met: between(1, 100), Default: "5", Restart: resourceManager,
		Why: "the same; a shorter interval costs the ResourceManager more CPU",
	},
	{
		Feature: Steered, Check: "localityDelay", File: capacityXML, Property: Queues + "node-locality-delay", Value: "40",
		Rule: "any number: steering sets it to -1 and puts the number back, and Hadoop cannot unset a setting",
		met:  between(-1, math.MaxInt32), Restart: resourceManager,
		Why: "a node that gets a job's label to be used at once, even by maps that are not local there",
	},
	{
		Feature: Steered, Check: "priorities", File: yarnXML, Property: "yarn.cluster.max-application-priority", Value: "100",
		Rule: "1 or more", met: between(1, math.MaxInt32), Default: "0", Restart: resourceManager,
		Why: "ordering jobs that share a label; above the maximum every priority is the maximum",
	},
	{
		Feature: Steered, Check: "liveQueues", File: yarnXML, Property: "yarn.scheduler.configuration.store.class", Value: "memory",
		Rule: "memory, leveldb, zk or fs", met: oneOf("memory", "leveldb", "zk", "fs"), Default: "file", Restart: resourceManager,
		Why: "changes of queues and scheduler settings without a restart",
	},

	{
		Feature: Cached, Check: "cacheCapacity", File: hdfsXML, Property: "dfs.datanode.max.locked.memory", Value: "BYTES",
		Rule: "more than 0, with libhadoop and a memlock limit of as much", met: between(1, math.MaxInt64), Default: "0",
		Or: "dfs.datanode.pmem.cache.dirs", Required: true, Restart: dataNode,
		Why: "DataNodes that can hold blocks in memory",
	},
	{
		Feature: Cached, Check: "cacheCapacity", File: hdfsXML, Property: "dfs.datanode.pmem.cache.dirs", Value: "FOLDER",
		Rule: "a tmpfs of its own for each DataNode", met: isSet,
		Or: "dfs.datanode.max.locked.memory", Required: true, Restart: dataNode,
		Why: "the same without libhadoop",
	},
}
