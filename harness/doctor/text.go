package doctor

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"heddle/traces/printable"
)

// WriteText prints the report for people: each feature of heddle with its
// checks, then the verdicts on all features in one line. A check that is OK
// takes one line. Other checks also say what they are needed for and what to
// set.
func (r *Report) WriteText(w io.Writer) error {
	var b bytes.Buffer
	printable.Fprintf(&b, "cluster %s\n", r.Cluster)
	for _, f := range r.Features {
		printable.Fprintf(&b, "\n%s: %s\n", f.Name, f.Verdict)
		for _, c := range f.Checks {
			printable.Fprintf(&b, "  %s%s %-16s %s\n", c.Status, strings.Repeat(" ", 8-len(c.Status)), c.ID, c.Found)
			if c.Status == OK {
				continue
			}
			note := func(format string, args ...any) {
				printable.Fprintf(&b, "%28s%s\n", "", fmt.Sprintf(format, args...))
			}
			if c.Status != Unknown {
				note("needed for %s", c.NeededFor)
			}
			for _, p := range c.Set {
				note("set in %s: %s = %s", p.File, p.Name, p.Value)
			}
			if c.Next != "" {
				note("next: %s", c.Next)
			}
		}
	}
	b.WriteString("\n" + r.Summary() + "\n")
	_, err := w.Write(b.Bytes())
	return err
}

// Summary returns the verdicts on all features of heddle in one line, each with
// the first reason for it.
func (r *Report) Summary() string {
	var parts []string
	for _, f := range r.Features {
		part := f.Name + ": " + string(f.Verdict)
		if len(f.Why) > 0 {
			part += " — " + f.Why[0]
			if n := len(f.Why) - 1; n > 0 {
				part += fmt.Sprintf(" (and %d more)", n)
			}
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}
