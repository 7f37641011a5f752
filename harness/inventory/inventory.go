// Package inventory makes a cluster file of an Ansible inventory: of the groups
// and variables by which the collection in the folder ansible sets a cluster up,
// and of no others. It reads what 'ansible-inventory --list' prints, so INI and
// YAML files, folders with group_vars, and dynamic inventories all work.
//
// Groups: namenode, resourcemanager and historyserver are the hosts of these
// daemons, workers those of DataNodes and NodeManagers, and harness the host on
// which heddle runs. A host's name in the inventory is the node's name in Hadoop.
//
// Variables of hosts, all optional:
//
//	hadoop_address        the host's address in the cluster; else ansible_host
//	hadoop_rack           its rack, such as /rack1
//	hadoop_memory_mb      what a NodeManager gives containers, in MiB
//	hadoop_vcores         the same in cores
//	hadoop_label          the node label; hosts with the label am run no tasks
//	hadoop_cache_bytes    size of a DataNode's cache
//	hadoop_properties     Hadoop's settings by file and name: ports, block size, heartbeats
//	agent_port, agent_tls where the agent listens, and whether with TLS
//
// And of the harness host, paths on which are those of the cluster file:
//
//	hadoop_home, hadoop_conf_dir           Hadoop for submitting jobs
//	harness_user                           the Hadoop user that runs jobs
//	harness_token_file, harness_ca_file    the agents' token, and the CA of their certificates
//	hadoop_security                        kerberos for a secured cluster, with what follows
//	hadoop_realm, hadoop_kdcs              its realm; without KDCs, /etc/krb5.conf names them
//	hadoop_protection                      how calls and blocks are protected
//	harness_principal                      that of harness_user
//	harness_keytab_src                     whether there is a keytab; its value is not read
//	harness_keytab_file                    where the keytab is
//	harness_ticket_cache                   without a keytab, where kinit writes tickets
//	harness_cluster                        keys of the cluster file that win over all this
//
// Secrets are not among these, and no other variable is read: none can get into
// the file. Variables that are templates or encrypted are refused, since
// ansible-inventory fills in neither.
package inventory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"heddle/harness/config"
)

// Values of variables that the inventory does not have. The roles of the
// collection have the same defaults, which an inventory does not show.
const (
	defaultHome      = "/opt/hadoop"
	defaultConf      = "/etc/hadoop"
	defaultUser      = "heddle"
	defaultTokenFile = "/etc/heddle/agent.token"
	defaultCAFile    = "/etc/heddle/ca.pem"
	defaultKeytab    = "/etc/heddle/heddle.keytab"
	defaultAgentPort = 9177
	defaultMemoryMB  = 8192
	defaultVCores    = 8
)

// mostHosts is the most hosts of a cluster: more than a ResourceManager manages. A
// longer list, which is a mistake, would take minutes to be made a file of.
const mostHosts = 20_000

// hostName matches names and addresses of hosts.
var hostName = regexp.MustCompile(`^[A-Za-z0-9_:][A-Za-z0-9._:-]{0,254}$`)

// Result is a cluster file and what could not be put into it.
type Result struct {
	Cluster *config.Cluster
	// Notes say what the inventory lacks for parts of the file that are left
	// out.
	Notes []string
}

// Parse makes a cluster of the JSON that 'ansible-inventory --list' prints. file
// is the name of the cluster file: relative paths start from its folder, and its
// name without the ending is the cluster's name. The error lists everything that
// is wrong.
func Parse(file string, data []byte) (*Result, error) {
	inv, err := readList(data)
	if err != nil {
		return nil, err
	}
	b := &builder{inventory: inv}
	c, extra := b.cluster()
	if len(b.errs) > 0 {
		return nil, errors.Join(b.errs...)
	}
	text, err := withExtra(c, extra)
	if err != nil {
		return nil, err
	}
	// Reading the file again checks it and reports unknown keys in
	// harness_cluster.
	c, err = config.ParseCluster(file, text)
	if err != nil {
		return nil, fmt.Errorf("the cluster file that comes of the inventory: %w", err)
	}
	return &Result{c, b.notes}, nil
}

// File returns the content of the cluster file.
func (r *Result) File() ([]byte, error) {
	data, err := yaml.Marshal(r.Cluster)
	if err != nil {
		return nil, fmt.Errorf("write cluster file: %w", err)
	}
	return append([]byte("# Made by heddle cluster from-inventory. To change it, change the inventory's\n# variables (harness_cluster sets any key) and make it anew.\n"), data...), nil
}

// withExtra returns the cluster as YAML, in which the keys of extra, an object in
// JSON, replace those of the cluster.
func withExtra(c *config.Cluster, extra []byte) ([]byte, error) {
	text, err := yaml.Marshal(c)
	if err != nil || len(extra) == 0 {
		return text, err
	}
	keys := map[string]any{}
	for _, part := range [][]byte{text, extra} { // JSON is YAML too
		if err := yaml.Unmarshal(part, &keys); err != nil {
			return nil, fmt.Errorf("harness_cluster: %w", err)
		}
	}
	return yaml.Marshal(keys)
}

// builder makes a cluster of an inventory, and collects what is wrong and what is
// missing.
type builder struct {
	*inventory
	errs  []error
	notes []string
}

func (b *builder) wrong(format string, args ...any) {
	b.errs = append(b.errs, fmt.Errorf(format, args...))
}

func (b *builder) note(format string, args ...any) {
	b.notes = append(b.notes, fmt.Sprintf(format, args...))
}

// cluster returns the cluster, and in JSON the keys of its file that the inventory
// sets itself.
func (b *builder) cluster() (*config.Cluster, []byte) {
	nameNodes := b.need("namenode", "the NameNode")
	managers := b.need("resourcemanager", "the ResourceManager")
	history := b.need("historyserver", "the JobHistoryServer")
	workers := b.need("workers", "DataNodes and NodeManagers")
	harness := b.need("harness", "heddle")
	if n := len(nameNodes) + len(managers) + len(history) + len(workers); n > mostHosts {
		b.wrong("the groups of the cluster have %d hosts; want at most %d", n, mostHosts)
	}
	if len(b.errs) > 0 {
		return nil, nil
	}
	if len(history) > 1 {
		b.wrong("group historyserver has %d hosts, %s; want one", len(history), strings.Join(history, ", "))
	}
	if len(harness) > 1 {
		b.note("group harness has %d hosts; the file is for the first, %s", len(harness), harness[0])
	}
	home := harness[0]
	c := &config.Cluster{
		User:   b.text(home, "harness_user", defaultUser),
		Hadoop: config.Hadoop{Home: b.text(home, "hadoop_home", defaultHome), Conf: b.text(home, "hadoop_conf_dir", defaultConf)},
		Hosts:  map[string]string{},
	}
	secured := b.secure(c, home)
	for _, host := range managers {
		if secured {
			c.ResourceManagers = append(c.ResourceManagers, "https://"+b.daemon(host, "yarn-site.xml", "yarn.resourcemanager.webapp.https.address", 8090))
		} else {
			c.ResourceManagers = append(c.ResourceManagers, "http://"+b.daemon(host, "yarn-site.xml", "yarn.resourcemanager.webapp.address", 8088))
		}
	}
	for _, host := range nameNodes {
		c.NameNodes = append(c.NameNodes, b.daemon(host, "hdfs-site.xml", "dfs.namenode.rpc-address", 8020))
	}
	c.HistoryServer = "http://" + b.daemon(history[0], "mapred-site.xml", "mapreduce.jobhistory.webapp.address", 19888)
	if secured {
		c.HistoryServer = "https://" + b.daemon(history[0], "mapred-site.xml", "mapreduce.jobhistory.webapp.https.address", 19890)
	}
	for _, host := range slices.Concat(nameNodes, managers, history, workers) {
		if address := b.address(host); address != host {
			c.Hosts[host] = address
		}
	}
	tokenFile, caFile := b.text(home, "harness_token_file", defaultTokenFile), b.text(home, "harness_ca_file", defaultCAFile)
	for _, host := range workers {
		agent := config.Agent{Node: host, TokenFile: tokenFile}
		address := net.JoinHostPort(host, strconv.Itoa(b.port(host, "agent_port", defaultAgentPort)))
		if agent.URL = "http://" + address; b.yes(host, "agent_tls", true) {
			agent.URL, agent.CAFile = "https://"+address, caFile
		}
		c.Agents = append(c.Agents, agent)
	}
	c.Machines = b.machines(workers)
	return c, b.extra(home)
}

// secure adds who the user of a secured cluster is, and reports whether the cluster is
// secured.
func (b *builder) secure(c *config.Cluster, home string) bool {
	switch security := b.text(home, "hadoop_security", config.SecuritySimple); {
	case security == config.SecuritySimple || isTemplate(security):
		return false
	case security != config.SecurityKerberos:
		b.wrong("host %s: hadoop_security is %.80q; want simple or kerberos", home, security)
		return false
	}
	realm := b.text(home, "hadoop_realm", "")
	if realm == "" {
		b.wrong("host %s: hadoop_security is kerberos, and there is no hadoop_realm; want the realm, such as EXAMPLE.ORG", home)
	}
	protection := b.text(home, "hadoop_protection", "privacy")
	c.Security, c.CA = config.SecurityKerberos, path.Join(c.Hadoop.Conf, "security", "ca.pem")
	c.Kerberos = &config.Kerberos{
		Principal: b.text(home, "harness_principal", c.User+"@"+realm), Conf: "/etc/krb5.conf",
		NameNode: "nn/_HOST", Calls: protection, Protection: protection,
	}
	if kdcs, _ := b.vars[home]["hadoop_kdcs"].([]any); len(kdcs) > 0 {
		c.Kerberos.Conf = path.Join(c.Hadoop.Conf, "security", "krb5.conf")
	}
	if plain(b.vars[home]["harness_keytab_src"]) != "" {
		c.Kerberos.Keytab = b.text(home, "harness_keytab_file", defaultKeytab)
	} else if c.Kerberos.TicketCache = b.text(home, "harness_ticket_cache", ""); c.Kerberos.TicketCache == "" {
		b.wrong("host %s: hadoop_security is kerberos; want harness_keytab_src, or harness_ticket_cache with the path of the file that kinit writes", home)
	}
	return true
}

// extra returns the harness host's harness_cluster as JSON, or nothing.
func (b *builder) extra(host string) []byte {
	keys := b.mapping(host, "harness_cluster")
	if len(keys) == 0 {
		return nil
	}
	text, err := json.Marshal(keys)
	if err != nil || isTemplate(string(text)) || bytes.Contains(text, []byte("__ansible_vault")) {
		b.wrong("host %s: harness_cluster has a template or an encrypted value; want plain values: they go into the cluster file", host)
	}
	return text
}

// need returns the hosts of a group that must have some.
func (b *builder) need(group, what string) []string {
	hosts, found := b.members(group)
	switch {
	case !found:
		b.wrong("the inventory has no group %s; want one with the hosts of %s", group, what)
	case len(hosts) == 0:
		b.wrong("group %s has no host; want those of %s", group, what)
	}
	if i := slices.IndexFunc(hosts, func(host string) bool { return !hostName.MatchString(host) }); i >= 0 {
		b.wrong("group %s has the host %.80q; want a host's name or IP address", group, hosts[i])
	}
	return hosts
}

// daemon returns the address of a daemon as host:port. The port is that of a
// property, if the inventory sets it.
func (b *builder) daemon(host, file, property string, port int) string {
	if value := b.property(host, file, property); value != "" {
		_, text, err := net.SplitHostPort(value)
		n, convErr := strconv.Atoi(text)
		if err != nil || convErr != nil || n < 1 || n > 65535 {
			b.wrong("host %s: %s in hadoop_properties is %.80q; want an address with a port, such as %s:%d", host, property, value, host, port)
		} else {
			port = n
		}
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}
