// Package config reads the files that a user writes: the cluster file, which
// says how to reach a Hadoop cluster, and the experiment file, which says what
// to run on it. It rejects unknown keys, gives line numbers in errors, fills in
// defaults and checks values. It opens no connections itself; DialContext gives
// other packages a function that connects to a cluster's nodes.
package config

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"heddle/harness/internal/units"
)

// Cluster says how to reach a Hadoop cluster. It is the content of a cluster
// file. For a cluster that heddle started on this machine, heddle writes this
// file. For a physical cluster, the file is written by hand or made from an
// inventory.
type Cluster struct {
	// Name is the name of the cluster in run folders and messages.
	Name string `yaml:"name" text:"The cluster's name in run folders and messages; by default the file's name without its ending."`
	// ResourceManagers are the web addresses of the ResourceManagers,
	// "http://host:8088". There is more than one with high availability.
	ResourceManagers []string `yaml:"resourceManagers" text:"Web addresses, such as http://rm:8088."`
	// NameNodes are the RPC addresses of the NameNodes, "host:8020". There is
	// more than one with high availability.
	NameNodes []string `yaml:"nameNodes" text:"RPC addresses, such as namenode:8020."`
	// HistoryServer is the web address of the JobHistoryServer,
	// "http://host:19888".
	HistoryServer string `yaml:"historyServer" text:"The job history server's web address, such as http://history:19888."`
	// User is the Hadoop user that runs jobs and owns the files that heddle
	// writes. The default is the user of this process.
	User string `yaml:"user" text:"The Hadoop user that runs jobs; by default the user of this process."`
	// Security is the way in which users prove who they are. SecuritySimple is
	// the default.
	Security string `yaml:"security,omitempty" text:"How users prove who they are." values:"simple,kerberos"`
	// Kerberos says who the user is and where the proof of it lies. It is nil
	// unless Security is SecurityKerberos.
	Kerberos *Kerberos `yaml:"kerberos,omitempty" text:"Who the user is, if security is kerberos."`
	// CA is the path of the certificates that the https addresses of Hadoop's
	// daemons are verified with, if no public authority signed theirs.
	CA string `yaml:"ca,omitempty" text:"The path of the certificates that verify Hadoop's https addresses."`
	// Hosts maps names of nodes to addresses. It is for node names that
	// Hadoop's daemons tell heddle but that this machine cannot resolve.
	Hosts map[string]string `yaml:"hosts,omitempty" text:"Addresses of nodes whose names this machine cannot resolve."`
	// Hadoop is the Hadoop installation on this machine that submits jobs.
	Hadoop Hadoop `yaml:"hadoop" text:"The Hadoop client on this machine."`
	// Agents are the heddle agents that serve node metrics, one per node.
	Agents []Agent `yaml:"agents,omitempty" text:"The heddle agents, one on each node."`
	// HiBench is the folder of a HiBench checkout on this machine. If it is
	// empty, the same jobs run from Hadoop's examples jar.
	HiBench string `yaml:"hibench,omitempty" text:"The folder of a HiBench checkout; without one, the same jobs run from Hadoop's examples."`
	// Hive is the folder of a Hive 4.0 installation on this machine, which runs
	// the workloads join, aggregation and scan. If it is empty, heddle fetches
	// Hive from Maven Central when it is needed.
	Hive string `yaml:"hive,omitempty" text:"The folder of a Hive 4.0 installation, for join, aggregation and scan; without one, heddle fetches Hive from Maven Central."`
	// Rates are the speeds of the cluster's disks and network links. heddle
	// writes them to traces, and simulated replays use them.
	Rates Rates `yaml:"rates,omitempty" text:"Speeds of disks and links, where they are known."`
	// Machines describes the cluster's nodes, for simulations of experiments on
	// this cluster. nil means that there is no description.
	Machines *Machines `yaml:"machines,omitempty" text:"The nodes, for simulations."`
	// Cgroup is the control group of this machine that all processes of the
	// cluster are in, such as heddle/lab. It is empty for a cluster with machines
	// of its own.
	Cgroup string `yaml:"cgroup,omitempty" text:"The control group of this machine that all processes of the cluster are in, such as heddle/lab, if it runs here."`
	// Faults contains the commands that carry out the faults of an experiment,
	// such as stopping a node. nil means that no faults can be injected on this
	// cluster.
	Faults *FaultCommands `yaml:"faults,omitempty" text:"The commands that carry out faults, run without a shell: {node} is the node's name."`
}

// Rates are the speeds of each node's disk, of each node's network link, and of
// each rack's uplink. 0 means unknown.
type Rates struct {
	Disk   units.Rate `yaml:"disk,omitempty" text:"Of each node's disk, such as 180MB/s."`
	Link   units.Rate `yaml:"link,omitempty" text:"Of each node's link, such as 10Gbit."`
	Uplink units.Rate `yaml:"uplink,omitempty" text:"Of each rack's uplink."`
	// HostCores is the number of cores of the machine, if all nodes run on one
	// machine and share its cores.
	HostCores float64 `yaml:"hostCores,omitempty" text:"The cores that all nodes share, if they run on one machine."`
}

// Hadoop says where Hadoop is installed on this machine, for submitting jobs.
type Hadoop struct {
	// Home is HADOOP_HOME: it has bin/hadoop, bin/hdfs, bin/yarn, bin/mapred
	// and share/hadoop/mapreduce/hadoop-mapreduce-examples-*.jar. Jobs that
	// heddle submits itself need share/hadoop/tools/lib/hadoop-streaming-*.jar.
	Home string `yaml:"home" text:"HADOOP_HOME, with bin/hadoop."`
	// Conf is HADOOP_CONF_DIR, the configuration folder.
	Conf string `yaml:"conf" text:"HADOOP_CONF_DIR, the configuration folder."`
}

// Agent says how to reach one heddle agent.
type Agent struct {
	// Node is the name of the agent's node, as Hadoop prints it.
	Node string `yaml:"node" text:"The node's name, as Hadoop prints it." required:"true"`
	// URL is the address of the agent: "http://host:port", or https if the
	// agent has a certificate.
	URL string `yaml:"url" text:"The agent's address, such as http://node:9177." required:"true"`
	// TokenFile is the path of a file with the token that the agent asks for.
	// The cluster file never contains the token itself.
	TokenFile string `yaml:"tokenFile" text:"The path of a file with the agent's token." required:"true"`
	// CAFile is the path of the certificate with which to verify an agent's own
	// certificate, if no public authority signed that.
	CAFile string `yaml:"caFile,omitempty" text:"The path of the certificate that verifies the agent."`
}

// Kerberos says who the user of a secured cluster is. Files are only named: a cluster
// file never contains a key or a password.
type Kerberos struct {
	// Principal is the user's name in Kerberos. It may be left out with a
	// TicketCache. Realm is its realm, if Principal has none.
	Principal string `yaml:"principal,omitempty" text:"The user's principal, such as alice or alice@EXAMPLE.ORG; a ticket cache says it itself."`
	Realm     string `yaml:"realm,omitempty" text:"The realm of a principal without one; by default default_realm of krb5Conf."`
	// Keytab is the path of a file with the principal's key; from it heddle logs in
	// again before a ticket ends. Without it, TicketCache is the path of the file
	// that kinit writes.
	Keytab      string `yaml:"keytab,omitempty" text:"The path of a file with the principal's key."`
	TicketCache string `yaml:"ticketCache,omitempty" text:"The path of the tickets that kinit has got, instead of a keytab; by default KRB5CCNAME, or /tmp/krb5cc_UID."`
	// Conf is the path of the Kerberos configuration.
	Conf string `yaml:"krb5Conf,omitempty" text:"The path of the Kerberos configuration; by default KRB5_CONFIG, or /etc/krb5.conf."`
	// NameNode is the NameNodes' principal without its realm. _HOST stands for the
	// host of the NameNode's address.
	NameNode string `yaml:"nameNode,omitempty" text:"The NameNodes' principal, as dfs.namenode.kerberos.principal without the realm; by default nn/_HOST."`
	// Calls is the least protection of calls to NameNodes. One that offers less is
	// refused.
	Calls string `yaml:"rpcProtection,omitempty" text:"As hadoop.rpc.protection says: how calls are protected at least; a NameNode that offers less is refused. By default whatever it offers." values:"authentication,integrity,privacy"`
	// Protection is the least protection of blocks on their way to and from
	// DataNodes. It is empty if DataNodes do not use SASL.
	Protection string `yaml:"dataTransferProtection,omitempty" text:"As dfs.data.transfer.protection says: how blocks are protected; none if DataNodes have privileged ports." values:"authentication,integrity,privacy"`
}

// Values of Cluster.Security: how users prove who they are.
const (
	SecuritySimple   = "simple"
	SecurityKerberos = "kerberos"
)

// IsClusterFile reports whether text is the path of a cluster file: it contains
// a path separator or ends in .yaml or .yml. Otherwise it is the name of a lab,
// a Hadoop cluster that heddle started on this machine.
func IsClusterFile(text string) bool {
	return strings.ContainsRune(text, filepath.Separator) || strings.HasSuffix(text, ".yaml") || strings.HasSuffix(text, ".yml")
}

// LoadCluster reads and checks a cluster file. Relative paths in the file start
// from the file's folder. The error, an *Error, lists everything that is wrong.
func LoadCluster(file string) (*Cluster, error) {
	data, err := read("cluster", file)
	if err != nil {
		return nil, err
	}
	return ParseCluster(file, data)
}

// ParseCluster parses and checks the content of a cluster file. file is the
// file's name, for messages and relative paths.
func ParseCluster(file string, data []byte) (*Cluster, error) {
	c := &Cluster{}
	if err := decode(file, data, c, func() problems { c.fill(file); return c.problems() }); err != nil {
		return nil, err
	}
	return c, nil
}

// fill sets the default values of a cluster file that lacks some, and makes
// relative paths absolute.
func (c *Cluster) fill(file string) {
	if c.Name == "" {
		c.Name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	}
	if c.User == "" && c.Kerberos != nil {
		c.User, _, _ = strings.Cut(c.Kerberos.Principal, "@")
	}
	if c.User == "" {
		if u, err := user.Current(); err == nil {
			c.User = u.Username
		}
	}
	if c.Security == "" {
		c.Security = SecuritySimple
	}
	paths := []*string{&c.Hadoop.Home, &c.Hadoop.Conf, &c.HiBench, &c.Hive, &c.CA}
	if c.Security == SecurityKerberos {
		if c.Kerberos == nil {
			c.Kerberos = &Kerberos{}
		}
		c.Kerberos.fill()
		paths = append(paths, &c.Kerberos.Keytab, &c.Kerberos.TicketCache, &c.Kerberos.Conf)
	}
	if c.Machines != nil {
		paths = append(paths, &c.Machines.Queues)
	}
	for i := range c.Agents {
		paths = append(paths, &c.Agents[i].TokenFile, &c.Agents[i].CAFile)
	}
	beside(file, paths...)
}

// fill sets the files that Kerberos' own programs take, where none are named.
func (k *Kerberos) fill() {
	if k.Keytab == "" && k.TicketCache == "" {
		k.TicketCache = strings.TrimPrefix(cmp.Or(os.Getenv("KRB5CCNAME"), fmt.Sprintf("/tmp/krb5cc_%d", os.Getuid())), "FILE:")
	}
	k.Conf = cmp.Or(k.Conf, os.Getenv("KRB5_CONFIG"), "/etc/krb5.conf")
	k.NameNode = cmp.Or(k.NameNode, "nn/_HOST")
}

func (k *Kerberos) problems(p *problems) {
	if k.Keytab != "" && k.TicketCache != "" {
		p.addf("kerberos", "want a keytab or a ticketCache, and not both")
	}
	if k.Keytab != "" && k.Principal == "" {
		p.addf("kerberos", "no principal; want the one whose key is in the keytab ('klist -k %s' lists them)", k.Keytab)
	}
	if kind, _, ok := strings.Cut(filepath.Base(k.TicketCache), ":"); ok && kind == strings.ToUpper(kind) {
		p.addf("kerberos.ticketCache", "%q: want the path of a file; get tickets with 'kinit -c FILE'", blot(k.TicketCache))
	}
	if service, host, ok := strings.Cut(k.NameNode, "/"); !ok || service == "" || host == "" || strings.Contains(host, "@") {
		p.addf("kerberos.nameNode", "%q: want SERVICE/HOST without a realm, such as nn/_HOST", blot(k.NameNode))
	}
	printable(p, "kerberos.principal", k.Principal)
	printable(p, "kerberos.realm", k.Realm)
	p.keys(*k, "kerberos")
}

// simulated reports whether the cluster exists only in simulations. The file of
// such a cluster has Machines and no address.
func (c *Cluster) simulated() bool {
	return c.Machines != nil && len(c.ResourceManagers) == 0 && len(c.NameNodes) == 0 && c.HistoryServer == ""
}

// Validate returns an *Error that lists everything that is wrong with the
// description of the cluster, nil if nothing is.
func (c *Cluster) Validate() error { return c.problems().err("") }

func (c *Cluster) problems() problems {
	var p problems
	missing := func(missing bool, key, want string) {
		if missing && !c.simulated() {
			p.addf(key, "want %s", want)
		}
	}
	missing(len(c.ResourceManagers) == 0, "resourceManagers", "at least one web address, such as http://rm:8088")
	missing(len(c.NameNodes) == 0, "nameNodes", "at least one RPC address, such as namenode:8020")
	missing(c.HistoryServer == "", "historyServer", "its web address, such as http://history:19888")
	for i, a := range c.ResourceManagers {
		path := fmt.Sprintf("resourceManagers[%d]", i)
		webAddress(&p, path, a, "http://rm:8088")
		hadoopHost(&p, path, a)
	}
	for i, a := range c.NameNodes {
		if !isHostPort(a) {
			p.addf(fmt.Sprintf("nameNodes[%d]", i), "%q: want the RPC address host:port, such as namenode:8020", blot(a))
		} else {
			hadoopHost(&p, fmt.Sprintf("nameNodes[%d]", i), "hdfs://"+a)
		}
	}
	if c.HistoryServer != "" {
		webAddress(&p, "historyServer", c.HistoryServer, "http://history:19888")
		hadoopHost(&p, "historyServer", c.HistoryServer)
	}
	if c.User == "" {
		p.addf("user", "empty, and this process has no user name; want a Hadoop user")
	}
	if c.Cgroup != "" && !filepath.IsLocal(c.Cgroup) {
		p.addf("cgroup", "%q: want a path below the mount of each controller, such as heddle/lab", blot(c.Cgroup))
	}
	printable(&p, "name", c.Name)
	printable(&p, "user", c.User)
	p.keys(*c, "")
	for _, name := range slices.Sorted(maps.Keys(c.Hosts)) {
		address := c.Hosts[name]
		printable(&p, "hosts."+name, name)
		if address == "" || strings.ContainsAny(address, "/ ") || unprintable(address) {
			p.addf("hosts."+name, "%q: want an address without port, such as 10.0.0.7", address)
		}
	}
	c.agentProblems(&p)
	switch {
	case c.Security == SecurityKerberos && c.Kerberos != nil:
		c.Kerberos.problems(&p)
	case c.Kerberos != nil:
		p.addf("kerberos", "want security: kerberos too, or no such section")
	}
	if c.Machines != nil {
		c.Machines.problems(&p, "machines")
	}
	if c.Faults != nil {
		c.Faults.problems(&p)
	}
	return p
}

func (c *Cluster) agentProblems(p *problems) {
	nodes := map[string]bool{}
	for i, a := range c.Agents {
		path := fmt.Sprintf("agents[%d]", i)
		if a.Node == "" {
			p.addf(path, "no node; want its name as Hadoop prints it")
		} else if nodes[a.Node] {
			p.addf(path+".node", "two agents for node %s", a.Node)
		}
		nodes[a.Node] = true
		printable(p, path+".node", a.Node)
		webAddress(p, path+".url", a.URL, "http://node:9177")
		if a.TokenFile == "" {
			p.addf(path, "no tokenFile; want the path of a file with the agent's token")
		}
		if a.CAFile != "" && !strings.HasPrefix(a.URL, "https:") {
			p.addf(path+".caFile", "%q: want none, or a url with https: only TLS uses it", blot(a.CAFile))
		}
	}
}

func webAddress(p *problems, path, address, example string) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		p.addf(path, "%q: want a web address, such as %s", blot(address), example)
	case u.User != nil:
		p.addf(path, "%q: want an address without user and password", blot(address))
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		p.addf(path, "%q: want an address without a path, such as %s", blot(address), example)
	case u.Port() != "" && !isPort(u.Port()):
		p.addf(path, "%q: want a port from 1 to 65535", blot(address))
	}
}

var javaHost = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.|$))+$`)

// hadoopHost adds a problem if Hadoop's daemons, which read addresses as Java's URI does,
// find no host in an address, such as one with _ in its name.
func hadoopHost(p *problems, path, address string) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || net.ParseIP(u.Hostname()) != nil || javaHost.MatchString(u.Hostname()) {
		return
	}
	p.addf(path, "%q: Hadoop takes host names of letters, digits, - and dots only; name the host otherwise, or by its IP address",
		blot(strings.TrimPrefix(address, "hdfs://")))
}

func isPort(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n >= 1 && n <= 65535
}

// printable reports a name with characters that a terminal or a file would obey,
// such as a line's end.
func printable(p *problems, path, name string) {
	if unprintable(name) {
		p.addf(path, "%q: want a name without control characters", name)
	}
}

func unprintable(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

func isHostPort(text string) bool {
	host, port, err := net.SplitHostPort(text)
	return err == nil && host != "" && isPort(port) && !strings.ContainsAny(text, "/@ ") && !unprintable(text)
}

// Supported returns an error if the cluster uses something that this version of
// heddle cannot do.
func (c *Cluster) Supported() error {
	if c.simulated() {
		return fmt.Errorf("cluster %s: its file has no addresses; it can be used only with 'heddle run --simulate'", c.Name)
	}
	return nil
}
