package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"path"
	"slices"
	"strings"

	"heddle/harness/clients"
	"heddle/harness/config"
	"heddle/yarnclient"
)

// The method capture checks what the cluster needs so that traces of its jobs
// can be made.
func (e *examiner) capture(ctx context.Context) []Check {
	return append([]Check{
		e.resourceManager(ctx), e.authentication(ctx), e.nodeManagers(), e.nameNode(), e.historyServer(),
		e.versions(ctx), e.historyFolder(ctx), e.tells(ctx, "historyFormat", "%s"), e.staging(ctx), e.clock(ctx),
	}, e.fileSystem(ctx)...)
}

func (e *examiner) resourceManager(ctx context.Context) Check {
	c := check("resourceManager", true, "jobs, tasks and containers while they run")
	if e.info.err != nil {
		return c.failed(e.info.err)
	}
	var others []string
	down := false
	for _, rm := range e.RM.Each() {
		if rm.Address() == e.RM.Address() {
			continue
		}
		state, err := stateOf(ctx, rm)
		if err != nil {
			down = true
			state = err.Error()
		}
		others = append(others, rm.Address()+" "+state)
	}
	found := strings.Join(append([]string{e.RM.Address() + " active"}, others...), ", ")
	if down {
		return c.warn("%s", found).next("no other ResourceManager could take over: start it, or remove it from the cluster file")
	}
	return c.ok("%s", found)
}

func stateOf(ctx context.Context, rm *yarnclient.RM) (string, error) {
	info, err := rm.Info(ctx)
	return strings.ToLower(info.HAState), cause(err)
}

func (e *examiner) authentication(ctx context.Context) Check {
	c, values, met := e.settings(ctx, "authentication")
	if !met {
		return c
	}
	uses := values[0]
	says := cmp.Or(e.Config.Security, config.SecuritySimple)
	if uses != says {
		return c.bad("the cluster uses %s, and the cluster file says security: %s",
			uses, says).next("write security: " + uses + " in the cluster file")
	}
	return c.ok("%s, as user %s", uses, e.Config.User)
}

func (e *examiner) nodeManagers() Check {
	c := check("nodeManagers", true, "jobs to run at all")
	switch {
	case e.info.err != nil:
		return c.unknown("%v", errNoRM)
	case e.nodes.err != nil:
		c = c.failed(e.nodes.err)
		c.Status = Unknown // not that there are none
		return c
	}
	count := map[string]int{}
	var unhealthy []string
	for _, n := range e.nodes.value {
		if count[n.State]++; n.State == "UNHEALTHY" {
			unhealthy = append(unhealthy, fmt.Sprintf("%s (%.200s)", n.Host, n.HealthReport))
		}
	}
	running := count["RUNNING"]
	delete(count, "RUNNING")
	found := fmt.Sprintf("%d running", running)
	for _, state := range slices.Sorted(maps.Keys(count)) {
		found += fmt.Sprintf(", %d %s", count[state], strings.ToLower(state))
	}
	switch {
	case running == 0:
		return c.bad("no NodeManager is running").next("start NodeManagers; their logs say why they are not running")
	case len(unhealthy) > 0:
		return c.warn("%s: %s", found, some(unhealthy)).
			next("put right what YARN says of these nodes; if a disk is full, free space below " +
				"yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage (90): YARN starts nothing there until then")
	case count["LOST"] > 0:
		return c.warn("%s", found).next("bring these nodes back: a cluster without them gives other results")
	}
	return c.ok("%s", found)
}

// fullPart is the part of a DataNode's disks, as one in so many, below which what
// is left counts as nothing.
const fullPart = 50

func (e *examiner) nameNode() Check {
	c := check("nameNode", true, "block and cache locations, history files")
	if err := e.root.err; err != nil {
		return c.failed(err).next("nameNodes in the cluster file are RPC addresses: fs.defaultFS or dfs.namenode.rpc-address of the cluster")
	}
	found := strings.Join(e.Config.NameNodes, ", ") + " answers"
	var full []string
	for _, d := range e.disks.value {
		if d.Live && d.Capacity > 0 && d.Remaining < d.Capacity/fullPart {
			full = append(full, fmt.Sprintf("%s has %d MiB of %d MiB left", d.Host, d.Remaining>>20, d.Capacity>>20))
		}
	}
	if len(full) > 0 {
		return c.warn("%s; disks are full: %s", found, some(full)).
			next("free disk space on these nodes: HDFS writes no blocks there, so jobs run otherwise than on a cluster with space")
	}
	return c.ok("%s", found)
}

// fileSystem checks that the cluster's files are those of the NameNode that the cluster
// file names, and of no other. It returns nothing if they are.
func (e *examiner) fileSystem(ctx context.Context) []Check {
	c := check("fileSystem", true, "files of jobs and histories: heddle asks one NameNode, or the two of one nameservice, for all of them")
	known := strings.Join(e.Config.NameNodes, ", ")
	base, err := e.property(ctx, "fs.defaultFS")
	services, _ := e.property(ctx, "dfs.internal.nameservices") // of this cluster, where dfs.nameservices has others too
	if services == "" {
		services, _ = e.property(ctx, "dfs.nameservices") // if it is not known, it is taken for one
	}
	switch scheme, _, _ := strings.Cut(base, ":"); {
	case err != nil:
		return []Check{c.unknown("%v", err)}
	case base == "":
		return nil
	case scheme == "viewfs":
		return []Check{c.
			unknown("fs.defaultFS is %s, a view of several NameNodes; heddle knows one, %s, and not which files it has", base, known).
			next("steer and capture a cluster whose fs.defaultFS is one HDFS")}
	case scheme != "hdfs":
		return []Check{c.bad("fs.defaultFS is %s, not HDFS", base).next("heddle reads the files of jobs from HDFS only")}
	case strings.Contains(services, ","):
		return []Check{c.
			unknown("there are several nameservices (%s); heddle knows one NameNode, %s, and not which of them it serves", services, known).
			next("see that nameNodes in the cluster file are those of " + base + ", which has the files of jobs and histories")}
	}
	return nil
}

// elsewhere reports whether a folder with a scheme is of another file system than
// fs.defaultFS and the NameNodes of the cluster file.
func (e *examiner) elsewhere(ctx context.Context, folder string) bool {
	u, err := url.Parse(folder)
	if err != nil || u.Scheme == "" || u.Scheme == "hdfs" && u.Host == "" {
		return false
	}
	base, err := e.property(ctx, "fs.defaultFS")
	if err != nil {
		return true
	}
	same := func(address string) bool { return u.Host == address || u.Port() == "" && u.Host+":8020" == address }
	its := append([]string{strings.TrimPrefix(strings.TrimRight(base, "/"), "hdfs://")}, e.Config.NameNodes...)
	return u.Scheme != "hdfs" || !slices.ContainsFunc(its, same)
}

func (e *examiner) historyServer() Check {
	c := check("historyServer", true, "jobs and counters after their end")
	if err := e.jhs.err; err != nil {
		c = c.failed(err)
		return c.next(cmp.Or(c.Next, "historyServer in the cluster file is mapreduce.jobhistory.webapp.address, usually port 19888"))
	}
	return c.ok("%s answers", e.Config.HistoryServer)
}

// versions compares the Hadoop versions of the cluster's daemons with those
// that heddle can make traces of: 3.3 to 3.5.
func (e *examiner) versions(ctx context.Context) Check {
	c := check("versions", false, "reading the daemons' answers; heddle is tested with 3.4.2 and reads 3.3 to 3.5")
	by := map[string][]string{}
	add := func(version, who string) {
		if version != "" && !slices.Contains(by[version], who) {
			by[version] = append(by[version], who)
		}
	}
	if e.info.err == nil {
		add(e.info.value.Version, "ResourceManager")
	}
	nameNode, _, _ := strings.Cut(text(e.nnBeans["Version"]), ",")
	add(nameNode, "NameNode")
	if e.jhs.err == nil {
		add(e.jhs.value.HadoopVersion, "history server")
	}
	for _, n := range e.nodes.value {
		if n.State == "RUNNING" {
			add(n.Version, "NodeManagers")
		}
	}
	var parts []string
	strange := len(by) > 1
	for _, version := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, "Hadoop "+version+" ("+strings.Join(by[version], ", ")+")")
		if !slices.ContainsFunc([]string{"3.3.", "3.4.", "3.5."}, func(known string) bool { return strings.HasPrefix(version, known) }) {
			strange = true
		}
	}
	if len(by) == 0 {
		return c.unknown("no daemon can be asked")
	}
	if java := e.JavaVersion(ctx); java != "" && e.info.err == nil {
		parts = append(parts, "Java "+java)
	}
	if strange {
		return c.warn("%s", strings.Join(parts, ", ")).next("run one version, of 3.3 to 3.5, on all nodes")
	}
	return c.ok("%s", strings.Join(parts, ", "))
}

// nameNodeInfo returns the NameNode's JMX bean NameNodeInfo, which every user
// may read. It returns nil if the NameNode's web server does not answer.
func (e *examiner) nameNodeInfo(ctx context.Context) map[string]any {
	address := e.nameNodeWeb(ctx)
	if address == "" {
		return nil
	}
	nn, err := e.Daemon(address)
	if err != nil {
		return nil
	}
	defer nn.Close()
	return clients.Bean(nn.JMX(ctx, "Hadoop:service=NameNode,name=NameNodeInfo"))
}

// nameNodeWeb returns the web address of the first NameNode. The cluster file
// has only the RPC addresses, so this address has to be derived.
func (e *examiner) nameNodeWeb(ctx context.Context) string {
	host, _, err := net.SplitHostPort(e.Config.NameNodes[0])
	if err != nil {
		return ""
	}
	port := "9870"
	if value, err := e.property(ctx, "dfs.namenode.http-address"); err == nil && value != "" {
		if h, p, err := net.SplitHostPort(value); err == nil {
			port = p
			if h != "" && h != "0.0.0.0" {
				host = h
			}
		}
	}
	return "http://" + net.JoinHostPort(host, port)
}

func (e *examiner) historyFolder(ctx context.Context) Check {
	c, rows := about("historyFolder")
	if e.root.err != nil {
		return c.unknown("the NameNode cannot be asked")
	}
	var folders []string
	for _, s := range rows {
		value, err := e.value(ctx, s)
		switch {
		case err != nil:
			return c.unknown("%v", err)
		case value == "":
			return c.bad("the history server has no %s", s.Property).set(s, s.Value)
		case !s.Met(value):
			return c.bad("%s is %s, not in HDFS", s.Property, value).set(s, s.Value)
		case e.elsewhere(ctx, value):
			return c.unknown("%s is %s, of another file system than NameNode %s", s.Property, value, e.Config.NameNodes[0])
		}
		folder := hdfsPath(value)
		for _, err := range e.hdfs.Locations(ctx, folder) {
			if errors.Is(err, fs.ErrPermission) {
				return c.bad("user %s cannot read %s", e.Config.User, folder).
					next("give the user read access (hdfs dfs -setfacl -R -m user:" + e.Config.User + ":r-x " + folder + "), or set user in the " +
						"cluster file to one that has it")
			}
			if err != nil {
				return c.failed(err).next("set " + s.Property + " in the history server's mapred-site.xml to a folder in this HDFS")
			}
			break // stop: one readable file shows that the user can read the folder
		}
		folders = append(folders, folder)
	}
	return c.ok("%s and %s can be read", folders[0], folders[1])
}

// staging checks the staging folder, which has job.xml and the splits of
// running jobs. Users can read only the files of their own jobs; a superuser
// can read all.
func (e *examiner) staging(ctx context.Context) Check {
	c, rows := about("staging")
	if e.root.err != nil {
		return c.unknown("the NameNode cannot be asked")
	}
	value, err := e.value(ctx, rows[0])
	if err != nil || value == "" {
		value, err = e.property(ctx, rows[0].Property)
	}
	switch {
	case err != nil || value == "":
		return c.unknown("no daemon reports %s", rows[0].Property)
	case !rows[0].Met(value):
		return c.bad("%s is not in HDFS", value).set(rows[0], rows[0].Value)
	case e.elsewhere(ctx, value):
		return c.unknown("%s is of another file system than NameNode %s", value, e.Config.NameNodes[0])
	}
	folder := hdfsPath(value)
	if _, err := e.hdfs.Stat(ctx, folder); errors.Is(err, fs.ErrNotExist) {
		return c.ok("%s is not there yet; the first job makes it", folder)
	} else if err != nil {
		return c.failed(err)
	}
	own := path.Join(folder, e.Config.User, ".staging")
	for _, err := range e.hdfs.Locations(ctx, own) {
		if errors.Is(err, fs.ErrPermission) {
			return c.warn("user %s cannot read %s", e.Config.User, own).next("hdfs dfs -chown -R " + e.Config.User + " " + path.Dir(own))
		}
		break // go on without a warning: the user's staging folder may be empty or not exist yet
	}
	switch {
	case errors.Is(e.disks.err, fs.ErrPermission):
		return c.ok("%s, of jobs of user %s only", folder, e.Config.User)
	case e.disks.err != nil:
		return c.unknown("%s; whether of jobs of all users cannot be known: %v", folder, e.disks.err)
	}
	return c.ok("%s, of jobs of all users", folder)
}

// hdfsPath returns the path of an HDFS folder without scheme and host.
func hdfsPath(name string) string {
	if u, err := url.Parse(name); err == nil && u.Scheme != "" {
		name = u.Path
	}
	return path.Clean("/" + name)
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
