package lab

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// writeHome makes the folder that serves as HADOOP_HOME. It contains the
// hadoop, hdfs, yarn and mapred commands, which work both on this machine and
// inside a lab node. The jars with Hadoop's example jobs and with Hadoop
// Streaming are in the subfolders where tools look for them.
func (l *Lab) writeHome(d distribution) error {
	home := l.path("home")
	if err := os.RemoveAll(home); err != nil {
		return err
	}
	links := map[string]string{
		"bin/hdfs": "hadoop", "bin/yarn": "hadoop", "bin/mapred": "hadoop",
		"share/hadoop/mapreduce/" + filepath.Base(d.examples):  d.examples,
		"share/hadoop/tools/lib/" + filepath.Base(d.streaming): d.streaming,
	}
	for name, to := range links {
		if to == "" {
			continue
		}
		at := filepath.Join(home, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.Symlink(to, at)); err != nil {
			return err
		}
	}
	script, err := l.script("hadoop.sh")
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(home, "bin", "hadoop"), script, 0o755); err != nil {
		return err
	}
	return l.writeContainerJava()
}

// The method script returns a shell script from the folder hadoop/ with its
// placeholders filled in. Only unprivileged.sh needs views.
func (l *Lab) script(name string, views ...view) ([]byte, error) {
	text, err := hadoopFiles.ReadFile("hadoop/" + name)
	if err != nil {
		return nil, err
	}
	tmpl, err := template.New(name).Option("missingkey=error").Delims("<<", ">>").Parse(string(text))
	if err != nil {
		return nil, err
	}
	var nodes []string
	for _, n := range l.nodes {
		nodes = append(nodes, n.name)
	}
	var out bytes.Buffer
	err = tmpl.Execute(&out, map[string]any{
		"UID": l.uid(), "Kerberos": l.Cfg.Kerberos, "Views": views,
		"Lab": l.Name, "Root": l.root, "Java": l.Java, "Classpath": l.Classpath, "User": hadoopUser,
		"Nodes": strings.Join(nodes, " "), "Namespaces": filepath.Join(namespaceFolder, namespacePrefix(l.Name)),
		"Archive": strings.Join(l.archiveFlags(), " "),
		"JVM":     strings.Join(append(jvmFlags, append(l.archiveFlags(), javaOpens...)...), " "),
	})
	if err != nil {
		return nil, fmt.Errorf("render %s: %w", name, err)
	}
	return out.Bytes(), nil
}
