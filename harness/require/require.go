// Package require holds as data what heddle needs of a Hadoop cluster: settings
// with the reason for each, and node labels. The lab's files are written from
// it, doctor checks by it, and labels prepare sets what can be set while the
// cluster runs.
package require

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Requirements are all of them. Their JSON keys are stable.
type Requirements struct {
	Settings []Setting `json:"settings"`
	Labels   Labels    `json:"labels"`
}

// Labels are the node labels of steering, all exclusive.
type Labels struct {
	Parking string   `json:"parking"` // in no queue
	Masters string   `json:"masters"`
	Jobs    []string `json:"jobs"`
}

// Setting is a property that a feature needs.
type Setting struct {
	// Feature and Check are the names that doctor's report has for what needs the
	// setting, and for what looks at it.
	Feature  string `json:"feature"`
	Check    string `json:"check"`
	File     string `json:"file"`
	Property string `json:"property"`
	// Value is a good one. Where Rule says so others are good too. Capital letters
	// stand for what depends on the cluster: QUEUE is the path of the leaf queue
	// that is steered, with LABEL of each queue above it too; LABEL is each label
	// but Parking, LABELS a list of them.
	Value string `json:"value"`
	Rule  string `json:"rule,omitempty"`
	// Default is Hadoop's.
	Default string `json:"default"`
	// Or is a property that does instead.
	Or string `json:"or,omitempty"`
	// Required is that the feature does not work without it, or not at all well.
	Required bool `json:"required"`
	// Restart is the daemon to restart after a change; empty: the next job has it.
	// Queues are not refreshed from their file where the store is not the file.
	Restart string `json:"restart"`
	// Prepared is that labels prepare sets it while the cluster runs.
	Prepared bool   `json:"prepared"`
	Why      string `json:"why"`

	met func(string) bool // nil: only Value is good
}

// Met says whether a value is good; "" is that it is not set.
func (s Setting) Met(value string) bool {
	value = cmp.Or(value, s.Default)
	if s.met == nil {
		return value == s.Value
	}
	return s.met(value)
}

// In is the setting's name for a queue and a label.
func (s Setting) In(queue, label string) string {
	return strings.NewReplacer("QUEUE", queue, "LABEL", label).Replace(s.Property)
}

// Of are the settings that a check of doctor's looks at.
func Of(check string) []Setting {
	return slices.DeleteFunc(slices.Clone(settings), func(s Setting) bool { return s.Check != check })
}

// All returns the requirements of steering so many jobs at a time.
func All(triples int) Requirements {
	return Requirements{slices.Clone(settings), Labels{Parking, Masters, Pool(triples)}}
}

// WriteText writes them for people.
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
	fmt.Fprintf(&b, "QUEUE is the leaf queue that is steered, with LABEL each queue above it too\nnode labels, which heddle labels prepare adds, all exclusive\n  %s: parks nodes, in no queue\n  %s: on the nodes of ApplicationMasters\n  %s: one of each kind for each job at a time\n",
		r.Labels.Parking, r.Labels.Masters, strings.Join(r.Labels.Jobs, " "))
	_, err := io.WriteString(out, b.String())
	return err
}

func oneOf(good ...string) func(string) bool {
	return func(value string) bool { return slices.Contains(good, value) }
}

func isSet(value string) bool { return value != "" }

// inHDFS is of folders: one without a scheme is in the cluster's file system.
func inHDFS(value string) bool { return value != "" && !strings.HasPrefix(value, "file:") }

// lasting is of folders that a restart of their host leaves.
func lasting(value string) bool {
	return value != "" && !strings.HasPrefix(strings.TrimPrefix(value, "file://"), "/tmp/")
}

func between(low, high float64) func(string) bool {
	return func(value string) bool {
		n, err := strconv.ParseFloat(value, 64)
		return err == nil && low <= n && n <= high
	}
}
