package lab

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"heddle/harness/internal/units"
	"heddle/harness/require"
)

// One Hadoop configuration folder serves all nodes. Values that differ between
// nodes are system properties of each daemon, such as ${lab.node}.

//go:embed hadoop
var hadoopFiles embed.FS

// jobQueue is the path of the YARN queue whose jobs may use node labels.
const jobQueue = "root.replay"

// queueLabels returns the node labels that jobs in the lab's queue may ask
// for.
func (p *plan) queueLabels() []string {
	return append([]string{require.Masters}, require.Pool(cmp.Or(p.triples, require.Triples))...)
}

// hadoopConf returns the content of each file in the Hadoop configuration
// folder.
func (p *plan) hadoopConf() (map[string][]byte, error) {
	files := map[string][]byte{}
	names := []string{"core-site", "hdfs-site", "yarn-site", "mapred-site"}
	switch {
	case p.labels():
		names = append(names, "capacity-scheduler")
	case p.queues != "":
		files["capacity-scheduler.xml"] = []byte(p.queues)
	default:
		files["fair-scheduler.xml"], _ = hadoopFiles.ReadFile("hadoop/fair-scheduler.xml")
	}
	var secured bytes.Buffer
	if err := p.render(&secured, "secure"); err != nil {
		return nil, err
	}
	for _, name := range names {
		var props bytes.Buffer
		if err := p.render(&props, name); err != nil {
			return nil, err
		}
		p.addRequired(&props, name+".xml")
		if p.Cfg.Kerberos {
			props.Write(secureSection(name, secured.Bytes()))
		}
		files[name+".xml"] = propertiesXML(props.String())
	}
	files["log4j.properties"], _ = hadoopFiles.ReadFile("hadoop/log4j.properties")
	var table strings.Builder
	for _, n := range p.nodes {
		fmt.Fprintf(&table, "%s %s\n", n.ip, rackPath(n.rack))
	}
	files["topology.table"] = []byte(table.String())
	return files, nil
}

// render fills the lab's settings into a file of properties in the folder hadoop/.
func (p *plan) render(out *bytes.Buffer, name string) error {
	text, err := hadoopFiles.ReadFile("hadoop/" + name + ".props")
	if err != nil {
		return err
	}
	tmpl, err := template.New(name).Option("missingkey=error").Parse(string(text))
	if err != nil {
		return err
	}
	if err := tmpl.Execute(out, p.settings()); err != nil {
		return fmt.Errorf("render %s: %w", name, err)
	}
	return nil
}

// addRequired adds to a Hadoop configuration file the properties that package
// require lists for the file. It skips those that the file sets already.
func (p *plan) addRequired(props *bytes.Buffer, file string) {
	own := "\n" + props.String()
	has := func(name string) bool { return name != "" && strings.Contains(own, "\n"+name+"=") }
	for _, s := range require.All(0).Settings {
		switch {
		case s.File != file, has(s.Property), has(s.Or):
		case s.Feature == require.Steered && !p.labels(), s.Feature == require.Cached && p.Cfg.Cache == 0,
			s.Check == "asyncScheduling" && !p.Cfg.Async:
		case strings.Contains(s.Property, "LABEL."):
			for _, label := range p.queueLabels() {
				fmt.Fprintf(props, "%s=%s\n%s=%[2]s\n", s.In("root", label), s.Value, s.In(jobQueue, label))
			}
		default:
			fmt.Fprintf(props, "%s=%s\n", s.In(jobQueue, ""), strings.Replace(s.Value, "LABELS", strings.Join(p.queueLabels(), ","), 1))
		}
	}
}

// The method settings returns the values that are filled into the templates of
// Hadoop's configuration files, in the folder hadoop/.
func (p *plan) settings() map[string]any {
	c := p.Cfg
	containerMB := int(c.Container / units.MiB)
	heapMB := containerMB * 2 / 5 // a task's JVM gets about half of its container's memory as heap
	expiry := time.Duration(c.NodeExpiry)
	// Hadoop before 3.4 does not itself add the flags that tasks need on Java 17.
	flags := slices.Concat(p.libraryFlags(), jvmFlags, javaOpens)
	return map[string]any{
		"Cfg": c, "Root": p.root, "Store": p.labelStore(), "User": hadoopUser, "Labels": p.labels(),
		"Fair": p.Cfg.Scheduler == Fair, "Realm": realm,
		"JVM":           strings.Join(flags, " "),
		"ClasspathList": strings.ReplaceAll(p.Classpath, ":", ","),

		"PortNN": portNN, "PortNNHTTP": portNNHTTP, "PortHistory": portHistory, "PortNM": portNM,
		"PortRM": portRM, "PortJournal": portJournal, "PortZK": portZK,
		"PortNNHTTPS": portNNHTTPS, "PortDNHTTPS": portDNHTTPS, "PortRMHTTPS": portRMHTTPS,
		"PortNMHTTPS": portNMHTTPS, "PortHistoryHTTPS": portHistoryHTTPS,

		"BlockSize":     int64(c.BlockSize),
		"NMHeartbeatMs": time.Duration(c.NMHeartbeat).Milliseconds(), "AMHeartbeatMs": time.Duration(c.AMHeartbeat).Milliseconds(),
		"NodeExpiryMs": expiry.Milliseconds(),
		// the NameNode counts a DataNode as dead after 2 rechecks and 10 heartbeats of 1 s
		"RecheckMs":   (expiry - 10*time.Second).Milliseconds() / 2,
		"ContainerMB": containerMB, "TaskHeapMB": heapMB, "SortMB": heapMB / 4,
		"MaxContainerMB": max(amNodeMB, containerMB*c.Slots), "MaxContainerVCores": max(amNodeVCores, c.Slots),
	}
}

// labelStore returns the URI of the folder in which ResourceManagers keep the
// node labels and attributes. Two ResourceManagers need it in HDFS.
func (p *plan) labelStore() string {
	if p.Cfg.HA {
		return "hdfs://lab/yarn"
	}
	return "file://" + p.nodePath("master")
}

// propertiesXML turns lines of the form key=value into a Hadoop configuration
// file in XML. Lines that start with # are comments.
func propertiesXML(props string) []byte {
	var out bytes.Buffer
	out.WriteString("<?xml version=\"1.0\"?>\n<configuration>\n")
	for line := range strings.SplitSeq(props, "\n") {
		key, value, ok := strings.Cut(line, "=")
		if strings.HasPrefix(line, "#") || !ok {
			continue
		}
		fmt.Fprintf(&out, "  <property><name>%s</name><value>%s</value></property>\n", escapeXML(key), escapeXML(value))
	}
	out.WriteString("</configuration>\n")
	return out.Bytes()
}

func escapeXML(text string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(text)) // ignore the error: writing to a strings.Builder cannot fail
	return out.String()
}

// writeHadoopConf writes all files of the lab's Hadoop configuration folder
// again.
func (l *Lab) writeHadoopConf() error {
	files, err := l.hadoopConf()
	if err != nil {
		return err
	}
	if err := os.RemoveAll(l.path("conf")); err != nil {
		return err
	}
	// NameNode and DataNode do not start without these folders of web pages.
	// Maven's hadoop-hdfs.jar does not contain them; empty folders are enough.
	for _, app := range []string{"hdfs", "datanode", "journal", "static"} {
		if err := os.MkdirAll(l.path("conf", "webapps", app), 0o755); err != nil {
			return err
		}
	}
	for name, data := range files {
		if err := writeFile(l.path("conf", name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes a temporary file and then renames it, so that a reader
// never sees half a file, even after a crash.
func writeFile(path string, data []byte, mode os.FileMode) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Chmod(mode), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}
