// Package lanes shows trials under each other on one time axis, in a page that needs no
// network and no other file: which attempt ran when on which node, and why there.
//
// A [Timeline] reads the events of each trial once, and keeps what it shows: a row for each
// attempt, or sums over nodes and times where a trial has too many attempts. It writes a
// fragment of HTML with this data. The page around it adds [Style] and [Script], whose
// text never changes with the data: a page can therefore allow exactly these two in its
// Content-Security-Policy. All names in the data are shown as text.
//
// Dark or light is what the page around it is, by the attribute data-theme of its html
// element or by the reader's system.
//
// A few words are used throughout. A lane is one row of bars, for one container at a time:
// an attempt is drawn in the lowest lane of its node that is free. A bar is an attempt, from
// its launch to its end. A bin is a stretch of time for which only a sum or mean is kept.
package lanes

import (
	"bufio"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"

	"heddle/traces"
	"heddle/traces/printable"
)

// Options say how much a timeline keeps. The zero value is usable.
type Options struct {
	// MaxAttempts is how many attempts of all trials are kept one by one. A trial that has
	// more than what is left is shown as a heat map. 0 means 150,000.
	MaxAttempts int
}

// Trial says whose events a timeline is given. Only Header has to be set.
type Trial struct {
	// Name tells the trial from others. Workload, Model and Repeat are what a reader picks
	// trials by.
	Name     string
	Workload string
	Model    string
	Repeat   int
	// Recorded is true for the trace that the other trials of the workload replay. Where its
	// tasks ran is drawn as a ghost in these.
	Recorded bool
	// File is the path of the trial's trace, for commands that a reader can copy. It may be
	// empty, and is for a trace in the format of another program.
	File string
	// Header is that of the trial's trace.
	Header traces.Header
	// Why returns the sentences that say why an attempt ran where it did. Times in them count
	// from the first submission, as the timeline's do. Why is called after the trial's last
	// event, in the order of the attempts' starts. It may be nil.
	Why func(traces.Attempt) []string
}

// Timeline collects trials and writes them as one fragment of HTML.
type Timeline struct {
	left   int // attempts that can still be kept one by one
	index  []entry
	blocks []string
}

// entry is what the page knows of a trial before it reads the trial's block.
type entry struct {
	Name     string `json:"name"`
	Workload string `json:"workload"`
	Model    string `json:"model"`
	Repeat   int    `json:"repeat"`
	Recorded bool   `json:"recorded"`
	Origin   string `json:"origin"`
	Attempts int    `json:"attempts"`
	File     string `json:"file,omitempty"`
	// Block says which data block the trial has.
	Block int `json:"block"`
}

// New returns a timeline without trials.
func New(o Options) *Timeline {
	if o.MaxAttempts == 0 {
		o.MaxAttempts = 150_000
	}
	return &Timeline{left: o.MaxAttempts}
}

// Add reads the events of a trial, in the order of a finished trace. Trials are shown in
// the order in which they are added.
func (t *Timeline) Add(trial Trial, events iter.Seq[traces.Event]) {
	c := newCollector(trial.Header, t.left)
	for e := range events {
		c.add(e)
	}
	d := c.finish()
	t.left -= len(d.bars)
	var why [][]string
	if trial.Why != nil {
		for _, b := range d.bars {
			why = append(why, trial.Why(d.attempt(b)))
		}
	}
	t.index = append(t.index, entry{
		Name: printable.Line(trial.Name), Workload: printable.Line(trial.Workload), Model: printable.Line(trial.Model), Repeat: trial.Repeat,
		Recorded: trial.Recorded,
		Origin:   string(trial.Header.Origin), Attempts: d.Attempts, File: printable.Line(trial.File), Block: len(t.blocks),
	})
	t.blocks = append(t.blocks, d.encode(why))
}

// Trials returns how many trials were added.
func (t *Timeline) Trials() int { return len(t.index) }

// WriteHTML writes the fragment: an element of the class lanes that the script fills, with
// the data of the trials. A page has at most one.
//
// The data stand in script elements of types that no browser runs. Base64 has no character
// that HTML knows, and JSON is written with <, > and & as escapes.
func (t *Timeline) WriteHTML(w io.Writer) error {
	index, err := json.Marshal(t.index)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "<section class=\"lanes\" aria-label=\"Timeline of trials\">\n<noscript><p>The timeline needs "+
		"JavaScript.</p></noscript>\n")
	fmt.Fprintf(out, "<script type=\"application/json\" class=\"lanes-index\">%s</script>\n", index)
	for _, block := range t.blocks {
		fmt.Fprintf(out, "<script type=\"text/plain\" class=\"lanes-block\">%s</script>\n", block)
	}
	fmt.Fprintln(out, "</section>")
	return out.Flush()
}

//go:embed lanes.css *.js
var files embed.FS

// scripts are the files of the script in the order in which they stand in it.
var scripts = []string{"data.js", "words.js", "colours.js", "layout.js", "paint.js", "details.js", "app.js", "tools.js"}

// Style returns the style sheet of the timeline.
func Style() string { return read("lanes.css") }

// Script returns the script of the timeline. It runs when the page has been parsed.
func Script() string {
	var b strings.Builder
	b.WriteString("(() => {\n'use strict';\n")
	for _, name := range scripts {
		b.WriteString(read(name))
	}
	b.WriteString("})();\n")
	return b.String()
}

func read(name string) string {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err) // the file is part of the program
	}
	return string(text)
}
