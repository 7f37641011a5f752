package hibench

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// siteFiles are the Hadoop configuration files whose properties a MapReduce
// client reads. A file that is read later overrides an earlier one. The order
// depends on which Java classes are loaded first, so each setting is written to
// all files.
var siteFiles = []string{"core-site.xml", "hdfs-site.xml", "mapred-site.xml", "yarn-site.xml"}

// writeOverlay makes a Hadoop configuration folder: all files of the folder
// base, with the given settings overriding them. Settings are in files because
// those on a command line appear in a list of processes. The files of base are
// included by reference and not copied. So secrets in them do not get into a
// run folder.
func writeOverlay(folder *os.Root, dir, base string, settings []Setting) error {
	if err := folder.RemoveAll(dir); err != nil {
		return err
	}
	if err := folder.Mkdir(dir, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(base)
	if err != nil {
		return fmt.Errorf("configuration of the cluster: %w", err)
	}
	var sites []string
	for _, e := range entries {
		if slices.Contains(siteFiles, e.Name()) {
			sites = append(sites, e.Name())
			continue
		}
		if err := folder.Symlink(filepath.Join(base, e.Name()), filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	for _, name := range siteFiles {
		include := ""
		if slices.Contains(sites, name) {
			include = filepath.Join(base, name)
			if err := checkFinal(include, settings); err != nil {
				return err
			}
		}
		if err := folder.WriteFile(filepath.Join(dir, name), siteXML(include, settings), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// checkFinal returns an error if the cluster's configuration file marks one of
// the settings as final, because Hadoop would then ignore heddle's value.
func checkFinal(file string, settings []Setting) error {
	site, err := siteProperties(file)
	if err != nil {
		return err
	}
	for _, p := range site {
		name, value := strings.TrimSpace(p.Name), strings.TrimSpace(p.Value)
		differs := func(s Setting) bool { return s.Name == name && s.Value != value }
		if strings.TrimSpace(p.Final) == "true" && slices.ContainsFunc(settings, differs) {
			return fmt.Errorf("%s marks %s as final with value %s: a run cannot set it", file, name, value)
		}
	}
	return nil
}

// siteProperty is a property in a Hadoop configuration file.
type siteProperty struct {
	Name  string `xml:"name"`
	Value string `xml:"value"`
	Final string `xml:"final"`
}

// siteProperties returns the properties in one of the cluster's configuration
// files, none if the file cannot be parsed: the client that reads it then says
// so.
func siteProperties(file string) ([]siteProperty, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("configuration of the cluster: %w", err)
	}
	var site struct {
		Property []siteProperty `xml:"property"`
	}
	if xml.Unmarshal(text, &site) != nil {
		return nil, nil
	}
	return site.Property, nil
}

// siteXML returns a Hadoop configuration file that first includes another file
// and then sets the settings, so that they override it.
func siteXML(include string, settings []Setting) []byte {
	var b strings.Builder
	b.WriteString("<?xml version=\"1.0\"?>\n<configuration xmlns:xi=\"http://www.w3.org/2001/XInclude\">\n")
	if include != "" {
		b.WriteString("<xi:include href=\"" + escapeXML(include) + "\"/>\n")
	}
	for _, s := range settings {
		b.WriteString("<property><name>" + escapeXML(s.Name) + "</name><value>" + escapeXML(s.Value) + "</value></property>\n")
	}
	b.WriteString("</configuration>\n")
	return []byte(b.String())
}

func escapeXML(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // no error is possible: writing to a strings.Builder cannot fail
	return b.String()
}

// quote puts a text in single quotes, so that a shell takes it as one word. The
// text must not contain NUL.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
