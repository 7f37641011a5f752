package doctor

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"io"
	"regexp"
	"slices"
	"strings"

	"heddle/traces/printable"
)

// place says where a Hadoop file is edited on clusters with a manager, which
// overwrites what is edited in the file itself.
type place struct{ hosts, ambari, cloudera string }

var places = map[string]place{
	"core-site.xml": {
		"all hosts", "HDFS > Configs > Advanced > Advanced core-site or Custom core-site",
		"HDFS > Configuration > Cluster-wide Advanced Configuration Snippet (Safety Valve) for core-site.xml",
	},
	"hdfs-site.xml": {
		"the hosts of NameNodes and DataNodes", "HDFS > Configs > Advanced > Advanced hdfs-site or Custom hdfs-site",
		"HDFS > Configuration > HDFS Service Advanced Configuration Snippet (Safety Valve) for hdfs-site.xml",
	},
	"mapred-site.xml": {
		"the host of the JobHistoryServer, and hosts that submit jobs", "MapReduce2 > Configs > Advanced > Advanced mapred-site or Custom mapred-site",
		"YARN > Configuration > YARN Service MapReduce Advanced Configuration Snippet (Safety Valve)",
	},
	"yarn-site.xml": {
		"the hosts of ResourceManagers", "YARN > Configs > Advanced > Advanced yarn-site or Custom yarn-site",
		"YARN > Configuration > YARN Service Advanced Configuration Snippet (Safety Valve) for yarn-site.xml",
	},
	"capacity-scheduler.xml": {
		"the hosts of ResourceManagers", "YARN > Configs > Advanced > Scheduler > Capacity Scheduler, as lines NAME=VALUE",
		"YARN > Configuration > Capacity Scheduler Configuration Advanced Configuration Snippet (Safety Valve)",
	},
}

// WriteText writes the plan for people.
func (p *FixPlan) WriteText(out io.Writer) error {
	var b strings.Builder
	file, count := "", "no property"
	if n := len(p.Changes); n > 0 {
		count = printable.Count(n, "property")
	}
	fmt.Fprintf(&b, "cluster %s, to be %s: %s to change\n", p.Cluster, strings.Join(p.Features, ", "), count)
	for _, group := range p.groups() {
		c := group.change
		present := oneLine(c.Present)
		if c.File != file {
			file = c.File
			where := places[file]
			fmt.Fprintf(&b, "\n%s on %s\n  Ambari: %s\n  Cloudera Manager: %s\n", file, where.hosts, where.ambari, where.cloudera)
		}
		fmt.Fprintf(&b, "\n  %s = %s\n", group.name, c.Value)
		note := func(format string, args ...any) { fmt.Fprintf(&b, "      "+format+"\n", args...) }
		if len(group.labels) > 0 {
			note("LABEL: each of %s", strings.Join(group.labels, " "))
		}
		switch {
		case c.Added != "":
			note("now: %s; add %s to the list, and keep what else it has", cmp.Or(present, "empty"), c.Added)
		case !c.Known:
			note("now: %s", present)
		default:
			note("now: %s", cmp.Or(present, "not set; Hadoop's default: "+cmp.Or(c.Default, "none")))
		}
		need := "better"
		if c.Required {
			need = "required"
		}
		note("%s to be %s: %s", need, c.Feature, c.Why)
		switch {
		case c.FileIgnored:
			note("not in the file, which is ignored: %s", c.Command)
		case c.Command != "":
			note("on the running cluster: %s", c.Command)
		}
	}
	list := func(title string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(&b, "\n%s\n", title)
			for i, line := range lines {
				fmt.Fprintf(&b, "  %d. %s\n", i+1, oneLine(line))
			}
		}
	}
	list("then restart, in this order, on all hosts that have them", p.Restart)
	list("then run", p.Then)
	list("notes", p.Notes)
	_, err := io.WriteString(out, b.String())
	return err
}

// changeGroup is one change, or changes of the same property for several labels.
type changeGroup struct {
	name   string // of the property, with LABEL in place of the labels
	labels []string
	change Change // the first of them
}

var labelCapacity = regexp.MustCompile(`^(.*\.accessible-node-labels\.)([^.]+)(\.capacity)$`)

func (p *FixPlan) groups() []changeGroup {
	var groups []changeGroup
	for _, c := range p.Changes {
		m := labelCapacity.FindStringSubmatch(c.Property)
		if m == nil {
			groups = append(groups, changeGroup{name: c.Property, change: c})
			continue
		}
		name := m[1] + "LABEL" + m[3]
		i := slices.IndexFunc(groups, func(g changeGroup) bool {
			return g.name == name && g.change.Present == c.Present && g.change.Value == c.Value && g.change.Command == c.Command
		})
		if i < 0 {
			i, groups = len(groups), append(groups, changeGroup{name: name, change: c})
		}
		groups[i].labels = append(groups[i].labels, m[2])
	}
	return groups
}

// WriteXML writes the changes as elements for Hadoop's files, one part for each
// file with a comment before it.
func (p *FixPlan) WriteXML(out io.Writer) error {
	var b bytes.Buffer
	file := ""
	for _, c := range p.inFiles() {
		if c.File != file {
			file = c.File
			fmt.Fprintf(&b, "<!-- %s, on %s: into the element configuration; where a property is there already, replace it -->\n", file, places[file].hosts)
		}
		fmt.Fprintf(&b, "<property>\n  <name>%s</name>\n  <value>%s</value>\n  <description>heddle needs this for %s</description>\n</property>\n",
			html.EscapeString(c.Property), html.EscapeString(c.Value), html.EscapeString(c.Why))
	}
	if len(p.Restart) > 0 {
		fmt.Fprintf(&b, "<!-- then restart, in this order: %s -->\n", strings.Join(p.Restart, ", "))
	}
	if n := len(p.Changes) - len(p.inFiles()); n > 0 {
		fmt.Fprintf(&b, "<!-- %s more, for which files are ignored, and what else to do: in the plan as text -->\n", printable.Count(n, "property"))
	}
	_, err := out.Write(b.Bytes())
	return err
}

// WriteAnsible writes the changes as variables of the Ansible role steering:
// steering_properties, the values by file and property, and steering_restart, the
// daemons in the order in which to restart them.
func (p *FixPlan) WriteAnsible(out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "---\n# For the role steering: what cluster %s lacks to be %s.\n", p.Cluster, strings.Join(p.Features, ", "))
	changes := p.inFiles()
	if len(changes) == 0 {
		b.WriteString("steering_properties: {}\n")
	} else {
		b.WriteString("steering_properties:\n")
	}
	file := ""
	for _, c := range changes {
		if c.File != file {
			file = c.File
			fmt.Fprintf(&b, "  %s:\n", file)
		}
		// Values come from the cluster in part: they are no templates.
		fmt.Fprintf(&b, "    %q: !unsafe %q\n", c.Property, c.Value)
	}
	fmt.Fprintf(&b, "steering_restart: [%s]\n", strings.Join(p.Restart, ", "))
	for _, command := range p.Then {
		fmt.Fprintf(&b, "# Then: %s\n", command)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// inFiles returns the changes that take effect in a file.
func (p *FixPlan) inFiles() []Change {
	return slices.DeleteFunc(slices.Clone(p.Changes), func(c Change) bool { return c.FileIgnored })
}
