// Package config holds the files that a user writes: the cluster file, which
// says where a Hadoop cluster is, and the experiment file, which says what to
// run on it. It loads them strictly, with line numbers in errors, fills in
// defaults and validates. It opens no connection of its own: DialContext gives
// others the way to a cluster's nodes.
package config

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"heddle/harness/internal/units"
)

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
	// User is the Hadoop user that jobs and writes run as; by default the user
	// of this process.
	User string `yaml:"user"`
	// Security is how the cluster knows its users: SecuritySimple, the default,
	// or SecurityKerberos, which Supported refuses.
	Security string `yaml:"security,omitempty"`
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
	// Rates are noted in traces, and replays go by them.
	Rates Rates `yaml:"rates,omitempty"`
	// Machines are for simulations of experiments on this cluster; nil: they are
	// not described.
	Machines *Machines `yaml:"machines,omitempty"`
	// Faults carry out those of experiments; nil: this cluster has none.
	Faults *FaultCommands `yaml:"faults,omitempty"`
}

// Rates are those of every node's disk and link and every rack's uplink; 0 is
// not known.
type Rates struct {
	Disk   units.Rate `yaml:"disk,omitempty"`
	Link   units.Rate `yaml:"link,omitempty"`
	Uplink units.Rate `yaml:"uplink,omitempty"`
	// HostCores are the cores that all nodes share where they are on one machine.
	HostCores float64 `yaml:"hostCores,omitempty"`
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

// Values of Cluster.Security.
const (
	SecuritySimple   = "simple"
	SecurityKerberos = "kerberos"
)

// IsClusterFile says whether text names a cluster file, and not a lab: it has
// a path separator or ends in .yaml or .yml.
func IsClusterFile(text string) bool {
	return strings.ContainsRune(text, filepath.Separator) || strings.HasSuffix(text, ".yaml") || strings.HasSuffix(text, ".yml")
}

// LoadCluster reads and checks a cluster file. Paths in it are relative to its
// folder. All that is wrong with it is in the error, an *Error.
func LoadCluster(file string) (*Cluster, error) {
	data, err := read("cluster", file)
	if err != nil {
		return nil, err
	}
	return ParseCluster(file, data)
}

// ParseCluster is LoadCluster of a file's content; file is its name.
func ParseCluster(file string, data []byte) (*Cluster, error) {
	c := &Cluster{}
	if err := decode(file, data, c, func() problems { c.fill(file); return c.problems() }); err != nil {
		return nil, err
	}
	return c, nil
}

// fill sets defaults and makes paths absolute.
func (c *Cluster) fill(file string) {
	if c.Name == "" {
		c.Name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	}
	if c.User == "" {
		if u, err := user.Current(); err == nil {
			c.User = u.Username
		}
	}
	if c.Security == "" {
		c.Security = SecuritySimple
	}
	paths := []*string{&c.Hadoop.Home, &c.Hadoop.Conf, &c.HiBench}
	for i := range c.Agents {
		paths = append(paths, &c.Agents[i].TokenFile, &c.Agents[i].CAFile)
	}
	for _, p := range paths {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(filepath.Dir(file), *p)
		}
	}
}

// simulated says that the cluster is for simulations alone: its file says what it
// is made of, and no address.
func (c *Cluster) simulated() bool {
	return c.Machines != nil && len(c.ResourceManagers) == 0 && len(c.NameNodes) == 0 && c.HistoryServer == ""
}

// Validate says what is wrong with c, all of it, as an *Error.
func (c *Cluster) Validate() error { return c.problems().err("") }

func (c *Cluster) problems() problems {
	var p problems
	if len(c.ResourceManagers) == 0 && !c.simulated() {
		p.addf("resourceManagers", "want at least one web address, such as http://rm:8088")
	}
	for i, a := range c.ResourceManagers {
		webAddress(&p, fmt.Sprintf("resourceManagers[%d]", i), a, "http://rm:8088")
	}
	if len(c.NameNodes) == 0 && !c.simulated() {
		p.addf("nameNodes", "want at least one RPC address, such as namenode:8020")
	}
	for i, a := range c.NameNodes {
		if !isHostPort(a) {
			p.addf(fmt.Sprintf("nameNodes[%d]", i), "%q: want the RPC address host:port, such as namenode:8020", blot(a))
		}
	}
	if !c.simulated() {
		if c.HistoryServer == "" {
			p.addf("historyServer", "want its web address, such as http://history:19888")
		} else {
			webAddress(&p, "historyServer", c.HistoryServer, "http://history:19888")
		}
	}
	if c.User == "" {
		p.addf("user", "want the Hadoop user to work as")
	}
	if c.Security != "" {
		oneOf(&p, "security", c.Security, SecuritySimple, SecurityKerberos)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Hosts)) {
		address := c.Hosts[name]
		if address == "" || strings.ContainsAny(address, "/ ") {
			p.addf("hosts."+name, "%q: want an address without port, such as 10.0.0.7", address)
		}
	}
	nodes := map[string]bool{}
	for i, a := range c.Agents {
		path := fmt.Sprintf("agents[%d]", i)
		if a.Node == "" {
			p.addf(path, "no node; want its name as Hadoop prints it")
		} else if nodes[a.Node] {
			p.addf(path+".node", "two agents for node %s", a.Node)
		}
		nodes[a.Node] = true
		webAddress(&p, path+".url", a.URL, "http://node:9177")
		if a.TokenFile == "" {
			p.addf(path, "no tokenFile; agents answer nobody without their token")
		}
		if a.CAFile != "" && !strings.HasPrefix(a.URL, "https:") {
			p.addf(path+".caFile", "is of no use with a URL that is not https")
		}
	}
	if c.Machines != nil {
		c.Machines.problems(&p, "machines")
	}
	if c.Faults != nil {
		c.Faults.problems(&p)
	}
	return p
}

func webAddress(p *problems, path, address, example string) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		p.addf(path, "%q: want a web address, such as %s", blot(address), example)
	case u.User != nil:
		p.addf(path, "%q: want it without user and password", blot(address))
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		p.addf(path, "%q: want it without a path, such as %s", blot(address), example)
	}
}

func isHostPort(text string) bool {
	host, port, err := net.SplitHostPort(text)
	return err == nil && host != "" && port != "" && !strings.ContainsAny(text, "/@ ")
}

// Supported says whether this version can work with c.
func (c *Cluster) Supported() error {
	if c.simulated() {
		return fmt.Errorf("cluster %s has no addresses in its file: it is for heddle run --simulate", c.Name)
	}
	if c.Security == SecurityKerberos {
		return errors.New("cluster " + c.Name + ": security: kerberos is not available yet in this version; only clusters with simple authentication can be used")
	}
	return nil
}
