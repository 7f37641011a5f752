// Package require lists what heddle needs of a Hadoop cluster: settings, with
// the reason for each, and node labels. The lab writes its files from this
// list, doctor checks a cluster against it, and 'heddle labels prepare' sets
// what can be set on a running cluster.
//
// Words:
//
//   - triple: the three node labels of one steered job, for ApplicationMaster, maps and reduces
//   - pool: the labels of all triples, and the label of parked nodes
package require

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Requirements are all settings and node labels that heddle needs on a Hadoop
// cluster. Their JSON keys are stable.
type Requirements struct {
	Settings []Setting `json:"settings"`
	Labels   Labels    `json:"labels"`
}

// Labels are the node labels that steering uses. All are exclusive labels.
type Labels struct {
	Parking string   `json:"parking"` // the label of parked nodes, which must start no containers; no queue may use this label
	Masters string   `json:"masters"`
	Jobs    []string `json:"jobs"`
}

// Setting is a Hadoop property that a feature of heddle needs.
type Setting struct {
	// Feature names the feature of heddle that needs the setting. Check is the
	// id of the doctor check that looks at the setting. Both are named as in
	// doctor's report.
	Feature  string `json:"feature"`
	Check    string `json:"check"`
	File     string `json:"file"`
	Property string `json:"property"`
	// Value is a good value of the property. If Rule is set, it describes the
	// good values. Words in capitals stand for what depends on the cluster.
	// QUEUE is the path of the steered leaf queue; if LABEL occurs too, also
	// the path of each queue above it. LABEL is each node label except
	// Parking, and LABELS is the list of these labels.
	Value string `json:"value"`
	Rule  string `json:"rule,omitempty"`
	// Default is the value that Hadoop uses if the property is not set.
	Default string `json:"default"`
	// Or is another property that can be set instead of this one; empty if
	// there is none.
	Or string `json:"or,omitempty"`
	// Required is true if the feature of heddle does not work, or works badly,
	// without the setting.
	Required bool `json:"required"`
	// Restart is the daemon to restart after a change of the property in its
	// file. Empty means that a change takes effect with the next job. If the
	// Capacity scheduler keeps its settings in another store than its file, the
	// running ResourceManager ignores changes of the file.
	Restart string `json:"restart"`
	// Prepared is true if the command 'heddle labels prepare' can set the
	// property on a running cluster.
	Prepared bool   `json:"prepared"`
	Why      string `json:"why"`

	met func(string) bool // function that tells good values of the property from bad ones; nil means that only Value is good
}

// Met reports whether a value is good for the property. The value "" means that
// the property is not set.
func (s Setting) Met(value string) bool {
	value = cmp.Or(value, s.Default)
	if s.met == nil {
		return value == s.Value
	}
	return s.met(value)
}

// In returns the property's name, with the given queue and node label in place
// of QUEUE and LABEL.
func (s Setting) In(queue, label string) string {
	return strings.NewReplacer("QUEUE", queue, "LABEL", label).Replace(s.Property)
}

// Of returns the Hadoop settings that the doctor check with this id looks at.
func Of(check string) []Setting {
	return slices.DeleteFunc(slices.Clone(settings), func(s Setting) bool { return s.Check != check })
}

// All returns the requirements of heddle for steering triples jobs at a time.
// Each such job needs three node labels.
func All(triples int) Requirements {
	return Requirements{slices.Clone(settings), Labels{Parking, Masters, Pool(triples)}}
}

// WriteText writes the required settings and node labels as text for people.
func (r Requirements) WriteText(out io.Writer) error {
	var b strings.Builder
	feature := ""
	for _, s := range r.Settings {
		if s.Feature != feature {
			feature = s.Feature
			fmt.Fprintf(&b, "%s\n", feature)
		}
		fmt.Fprintf(&b, "  %s: %s = %s\n", s.File, s.Property, s.Value)
		note := func(format string, args ...any) { fmt.Fprintf(&b, "      "+format+"\n", args...) }
		if s.Required {
			note("required for %s", s.Why)
		} else {
			note("better for %s", s.Why)
		}
		if s.Rule != "" {
			note("good: %s", s.Rule)
		}
		note("Hadoop's default: %s", cmp.Or(s.Default, "none"))
		if s.Or != "" {
			note("or %s", s.Or)
		}
		switch {
		case s.Prepared:
			note("heddle labels prepare sets it while the cluster runs; in the file, then restart: %s", s.Restart)
		case s.Restart != "":
			note("then restart: %s", s.Restart)
		}
	}
	fmt.Fprintf(&b, "QUEUE is the steered leaf queue; in settings with LABEL also each queue above it\nnode labels, all exclusive; "+
		"heddle labels prepare adds them\n  %s: for parked nodes, in no queue\n  %s: for the nodes of ApplicationMasters\n  %s: one of "+
		"each kind for each job at a time\n",
		r.Labels.Parking, r.Labels.Masters, strings.Join(r.Labels.Jobs, " "))
	_, err := io.WriteString(out, b.String())
	return err
}
