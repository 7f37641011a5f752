// Package config holds the files that a user writes: the cluster file, which
// says where a Hadoop cluster is, and the experiment file, which says what to
// run on it. It loads them strictly, with line numbers in errors, fills in
// defaults and validates. It opens no connection.
package config

// Cluster says how to reach one Hadoop cluster. The lab writes such a file for
// itself; for a physical cluster it is made by hand or from an inventory.
type Cluster struct {
	// Name appears in run folders and messages.
	Name string `yaml:"name"`
	// ResourceManagers are web addresses, "http://host:8088"; several for HA.
	ResourceManagers []string `yaml:"resourceManagers"`
	// NameNodes are RPC addresses, "host:8020"; several for HA.
	NameNodes []string `yaml:"nameNodes"`
	// HistoryServer is a web address, "http://host:19888".
	HistoryServer string `yaml:"historyServer"`
	// User is the Hadoop user that jobs and writes run as.
	User string `yaml:"user"`
	// Hosts maps node names to addresses where this machine does not resolve
	// the names that Hadoop answers with.
	Hosts map[string]string `yaml:"hosts,omitempty"`
	// Hadoop is the client installation that submits jobs.
	Hadoop Hadoop `yaml:"hadoop"`
	// Agents serve node metrics, one a node.
	Agents []Agent `yaml:"agents,omitempty"`
	// HiBench is a HiBench checkout on this machine; empty runs the same jobs
	// from Hadoop's own examples jar.
	HiBench string `yaml:"hibench,omitempty"`
}

// Hadoop is a client installation as HADOOP_HOME and HADOOP_CONF_DIR name it.
type Hadoop struct {
	// Home holds bin/hadoop, bin/hdfs, bin/yarn, bin/mapred and
	// share/hadoop/mapreduce/hadoop-mapreduce-examples-*.jar.
	Home string `yaml:"home"`
	// Conf is the configuration folder.
	Conf string `yaml:"conf"`
}

// Agent is one `heddle agent`.
type Agent struct {
	// Node is the node's name as Hadoop prints it.
	Node string `yaml:"node"`
	// URL is "http://host:port", or https with a certificate.
	URL string `yaml:"url"`
	// TokenFile holds the bearer token; the token itself is never in this file.
	TokenFile string `yaml:"tokenFile"`
	// CAFile verifies an agent that serves TLS with a private certificate.
	CAFile string `yaml:"caFile,omitempty"`
}
