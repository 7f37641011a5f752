package yarn

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"heddle/traces/format"
)

// Conf is the Hadoop configuration of a job: the value of each property by its
// name.
type Conf map[string]string

// ErrNoProperty means that a Hadoop configuration file sets no property.
var ErrNoProperty = errors.New("no property found; is it the XML file of a job or site?")

// ParseConf parses a Hadoop configuration file (job.xml, *_conf.xml,
// core-site.xml). If a property occurs twice, the last value counts, as in
// Hadoop. The error wraps ErrNoProperty if the file has none.
func ParseConf(r io.Reader) (Conf, error) {
	conf, err := format.Configuration(r)
	if err == nil && len(conf) == 0 {
		err = ErrNoProperty
	}
	if err != nil {
		return nil, fmt.Errorf("read Hadoop configuration: %w", err)
	}
	return conf, nil
}

// XML returns the configuration as a Hadoop configuration file, sorted by the
// names of the properties. It fails if a name or value contains a character
// that XML cannot have.
func (c Conf) XML() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(xml.Header + "<configuration>\n")
	for _, name := range slices.Sorted(maps.Keys(c)) {
		for _, text := range []string{name, c[name]} {
			if bad := strings.IndexFunc(text, notXML); bad >= 0 || !utf8.ValidString(text) {
				return nil, fmt.Errorf("write Hadoop configuration: property %q: XML cannot have the value %q", name, c[name])
			}
		}
		b.WriteString("<property><name>")
		_ = xml.EscapeText(&b, []byte(name)) // writing to a bytes.Buffer cannot fail
		b.WriteString("</name><value>")
		_ = xml.EscapeText(&b, []byte(c[name]))
		b.WriteString("</value></property>\n")
	}
	b.WriteString("</configuration>\n")
	return b.Bytes(), nil
}

// notXML reports whether XML 1.0 cannot have a character, not even escaped.
func notXML(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF
}

// Expand replaces references such as ${name} in a value by the values of the
// properties that they name, as Hadoop does when it reads a property. A
// reference to a property that is not set stays as it is.
func (c Conf) Expand(value string) string {
	const deepest = 20 // Hadoop's own limit on references within references
	for range deepest {
		changed := false
		value = reference.ReplaceAllStringFunc(value, func(found string) string {
			v, set := c[found[len("${"):len(found)-len("}")]]
			if changed || !set {
				return found
			}
			changed = true
			return v
		})
		if !changed {
			break
		}
	}
	return value
}

// reference matches what Hadoop takes for a reference to a property.
var reference = regexp.MustCompile(`\$\{[^}$ ]+\}`)

// Int returns the value of a property, with its references expanded, as a whole
// number. If the property is missing or no whole number, the result is the
// parameter otherwise.
func (c Conf) Int(name string, otherwise int64) int64 {
	if n, err := strconv.ParseInt(strings.TrimSpace(c.Expand(c[name])), 10, 64); err == nil {
		return n
	}
	return otherwise
}

// Float returns the value of a property as a number. If the property is
// missing or no number, the result is the parameter otherwise.
func (c Conf) Float(name string, otherwise float64) float64 {
	if x, err := strconv.ParseFloat(strings.TrimSpace(c.Expand(c[name])), 64); err == nil && !math.IsNaN(x) {
		return x
	}
	return otherwise
}

// Container is the container that a job asks for, for a map or a reduce.
type Container struct {
	MemoryMB int64
	VCores   int32
	Label    string
}

// Container returns what the job asks for, for a task of the kind "map" or "reduce". If its
// memory is unset or -1, that is 1 GiB.
func (c Conf) Container(kind string) Container {
	mb := c.Int("mapreduce."+kind+".memory.mb", -1)
	if mb <= 0 {
		mb = 1024
	}
	label, own := c["mapreduce."+kind+".node-label-expression"]
	if !own {
		label = c["mapreduce.job.node-label-expression"]
	}
	return Container{mb, int32(c.Int("mapreduce."+kind+".cpu.vcores", 1)), label}
}

// SlowStart returns the fraction of a job's maps that must be done before the
// ApplicationMaster requests containers for reduces, from 0 to 1.
func (c Conf) SlowStart() float64 {
	return min(max(c.Float("mapreduce.job.reduce.slowstart.completedmaps", 0.05), 0), 1)
}

// Bool returns the value of a property as true or false. If the property is
// missing or has any other value, the result is the parameter otherwise.
func (c Conf) Bool(name string, otherwise bool) bool {
	switch strings.ToLower(strings.TrimSpace(c.Expand(c[name]))) {
	case "true":
		return true
	case "false":
		return false
	}
	return otherwise
}
