// Package queues reads capacity-scheduler.xml, the file by which YARN's Capacity scheduler
// divides a cluster: its tree of queues with what each is guaranteed and limited to. It is as
// strict as Hadoop 3.4: a file that stops a ResourceManager is refused, with the place. What
// the file says and package sched does not do is listed, key by key. The package is pure.
package queues

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Prefix begins the name of each key, but for those of preemption.
const Prefix = "yarn.scheduler.capacity."

// The keys of preemption are YARN's in yarn-site.xml. A file may have them too.
const (
	monitorSwitch = "yarn.resourcemanager.scheduler.monitor.enable"
	monitor       = "yarn.resourcemanager.monitor.capacity.preemption."
	within        = "intra-queue-preemption."
)

// Cut returns a property's name without Prefix, and whether it is a key of a file.
func Cut(name string) (key string, ours bool) {
	if name == monitorSwitch || strings.HasPrefix(name, monitor) {
		return name, true
	}
	return strings.CutPrefix(name, Prefix)
}

// property returns the whole name of a key.
func property(key string) string {
	if _, whole := Cut(key); whole {
		return key
	}
	return Prefix + key
}

// File is what a capacity-scheduler.xml says.
type File struct {
	Root *Queue
	Settings
	// NotSimulated are the keys that the file has and that do nothing in a simulation, by name.
	NotSimulated []Key

	count  int               // of queues
	keys   map[string]string // without Prefix
	names  []string          // of keys, sorted
	read   map[string]bool   // keys that have been asked for
	leaves map[string]*Queue // by path, and by name; nil for a name of several
}

// Key is a key of the file that has no effect, and why.
type Key struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Why   string `json:"why"`
	// Unknown says that Hadoop has no such key either, so it is likely misspelt.
	Unknown bool `json:"unknown,omitempty"`
}

func (k Key) String() string { return k.Name + " = " + strings.TrimSpace(k.Value) + ": " + k.Why }

// Ignored returns the keys that do nothing in a simulation of nodes with labels, or without.
func (f *File) Ignored(labels bool) (list []Key) {
	for _, k := range f.NotSimulated {
		if !labels || k.Why != NoLabels {
			list = append(list, k)
		}
	}
	return list
}

// mostBytes is how long a file may be.
const mostBytes = 16 << 20

// Read reads a capacity-scheduler.xml, or the text that String makes of one.
func Read(r io.Reader) (*File, error) {
	text, err := io.ReadAll(io.LimitReader(r, mostBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read queues: %w", err)
	case len(text) > mostBytes:
		return nil, fmt.Errorf("read queues: the file is longer than %d bytes", mostBytes)
	}
	var keys map[string]string
	if strings.HasPrefix(strings.TrimLeft(strings.TrimPrefix(string(text), "\ufeff"), " \t\r\n"), "<") {
		keys, err = parseXML(string(text))
	} else {
		keys, err = parseLines(string(text))
	}
	if err == nil {
		var f *File
		if f, err = parse(keys); err == nil {
			return f, nil
		}
	}
	return nil, fmt.Errorf("read queues: %w", err)
}

// parseXML returns the keys of a Hadoop configuration file, without Prefix. Of two values of a
// key the last counts, unless an earlier one is final.
func parseXML(text string) (map[string]string, error) {
	var property struct {
		Name  string `xml:"name"`
		Value string `xml:"value"`
		Final string `xml:"final"`
	}
	keys, final := map[string]string{}, map[string]bool{}
	d := xml.NewDecoder(strings.NewReader(text))
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // names and numbers are ASCII
	for root := true; ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return keys, nil
		}
		if err != nil {
			return nil, err
		}
		start, ok := token.(xml.StartElement)
		switch {
		case !ok:
			continue
		case root && start.Name.Local != "configuration":
			return nil, fmt.Errorf("its first element is <%s>, want <configuration>", start.Name.Local)
		case start.Name.Local == "include":
			return nil, errors.New("it includes another file, which is not followed; put its properties in its place")
		}
		root = false
		if start.Name.Local != "property" {
			continue
		}
		property.Name, property.Value, property.Final = "", "", ""
		if err := d.DecodeElement(&property, &start); err != nil {
			return nil, err
		}
		name, ours := Cut(strings.TrimSpace(property.Name))
		if !ours || final[name] {
			continue
		}
		if final[name] = strings.TrimSpace(property.Final) == "true"; property.Value == "" { // as if there were none
			delete(keys, name)
		} else {
			keys[name] = property.Value
		}
	}
}

// parseLines reads lines of key=value, as String writes them.
func parseLines(text string) (map[string]string, error) {
	keys := map[string]string{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, fmt.Errorf("line %d: %q is no key=value", n, line)
		}
		keys[strings.TrimPrefix(strings.TrimSpace(name), Prefix)] = value
	}
	return keys, nil
}

// String returns the file's keys as lines of key=value, sorted, without Prefix. It is what runs
// and traces keep, and Read takes it as well.
func (f *File) String() string {
	var b strings.Builder
	for _, name := range f.names {
		b.WriteString(name + "=" + strings.Join(strings.Fields(f.keys[name]), " ") + "\n")
	}
	return b.String()
}

// AddTo adds the file's keys, with their whole names, to YARN properties.
func (f *File) AddTo(to map[string]string) {
	for name, value := range f.keys {
		to[property(name)] = value
	}
}

// XML returns the file as Hadoop reads it.
func (f *File) XML() string {
	var b strings.Builder
	b.WriteString("<configuration>\n")
	for _, name := range f.names {
		b.WriteString("  <property><name>")
		_ = xml.EscapeText(&b, []byte(property(name))) // a strings.Builder takes all
		b.WriteString("</name><value>")
		_ = xml.EscapeText(&b, []byte(f.keys[name]))
		b.WriteString("</value></property>\n")
	}
	b.WriteString("</configuration>\n")
	return b.String()
}

// Differs lists the keys that another file has otherwise, with both values; "" where a file has none.
func (f *File) Differs(other *File) (list [][3]string) {
	names := append(slices.Clone(f.names), other.names...)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if a, b := f.keys[name], other.keys[name]; a != b {
			list = append(list, [3]string{name, a, b})
		}
	}
	return list
}

// With returns the file with other values of some keys, by name; an empty one takes a key away. Where
// a capacity in percent is another, the other children of its parent share what is left as before.
func (f *File) With(values map[string]string) (*File, error) {
	if len(values) == 0 {
		return f, nil
	}
	keys, named := maps.Clone(f.keys), map[string]bool{}
	for name, value := range values {
		name = strings.TrimPrefix(name, Prefix)
		if named[name] = true; value == "" {
			delete(keys, name)
		} else {
			keys[name] = value
		}
	}
	for q := range f.All() {
		of := map[string]bool{".capacity": true}
		for _, c := range q.Children {
			for label := range c.ByLabel {
				of[".accessible-node-labels."+label+".capacity"] = true
			}
		}
		for last := range of {
			q.refill(last, keys, named)
		}
	}
	return parse(keys)
}

// refill divides what the named capacities of children leave of 100 percent among the others, of keys that end so.
func (q *Queue) refill(last string, keys map[string]string, named map[string]bool) {
	left, had, some := 100.0, 0.0, false
	var others []string
	for _, c := range q.Children {
		key := c.Path + last
		percent, err := strconv.ParseFloat(strings.TrimSpace(keys[key]), 64)
		switch {
		case err != nil && keys[key] != "": // no percentage
			return
		case named[key]:
			left, some = left-percent, true
		case err == nil:
			others, had = append(others, key), had+percent
		}
	}
	if !some || had <= 0 || left < 0 {
		return
	}
	const decimals = 3
	rest := left
	for i, key := range others {
		percent, _ := strconv.ParseFloat(strings.TrimSpace(keys[key]), 64)
		part := percent / had * left
		if i == len(others)-1 {
			part = rest
		}
		keys[key] = strconv.FormatFloat(part, 'f', decimals, 64)
		part, _ = strconv.ParseFloat(keys[key], 64)
		rest -= part
	}
}

// Leaf returns the queue that a job names by its path or its last part; default if it names none. The
// error says what YARN does with the job: it is refused.
func (f *File) Leaf(name string) (*Queue, error) {
	q, ok := f.leaves[cmp.Or(strings.TrimSpace(name), "default")]
	switch {
	case !ok:
		return nil, fmt.Errorf("queue %q: the file has no queue of this name that takes jobs", cmp.Or(name, "default"))
	case q == nil:
		return nil, fmt.Errorf("queue %q: the file has several queues of this name; give the whole path", name)
	}
	return q, nil
}

// All returns the queues, parents before their children, in the order of the file.
func (f *File) All() iter.Seq[*Queue] { return func(yield func(*Queue) bool) { f.Root.each(yield) } }

// Leaves returns the queues that take jobs, in the order of the file.
func (f *File) Leaves() []*Queue {
	var list []*Queue
	for q := range f.All() {
		if len(q.Children) == 0 {
			list = append(list, q)
		}
	}
	return list
}
