package paper

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"heddle/harness/doc"
	"heddle/harness/export"
	"heddle/harness/results"
	"heddle/harness/runs"
)

// Listed describes one paper of a list.
type Listed struct {
	Name   string       `json:"name"`
	Title  string       `json:"title"`
	Source string       `json:"source"`
	Parts  []listedItem `json:"parts"`
	Claims []listedItem `json:"claims"`
	Axes   []Axis       `json:"axes"`
}

type listedItem struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Papers is a list of papers.
type Papers []Listed

// List describes papers.
func List(papers []func() *Paper) Papers {
	var list Papers
	for _, of := range papers {
		p := of()
		l := Listed{Name: p.Name, Title: p.Title, Source: p.Source, Axes: p.Axes}
		for _, x := range p.Parts {
			l.Parts = append(l.Parts, listedItem{x.ID, x.Title})
		}
		for _, x := range p.Claims {
			l.Claims = append(l.Claims, listedItem{x.ID, x.Text})
		}
		list = append(list, l)
	}
	return list
}

// Doc has a line for each paper.
func (list Papers) Doc() doc.Doc {
	t := doc.NewTable("papers", "paper", "title", "figures", "claims", "axes")
	for _, p := range list {
		t.Add(p.Name, p.Title, len(p.Parts), len(p.Claims), len(p.Axes))
	}
	return doc.Doc{t, doc.Text("heddle paper NAME judges one, and --json lists figures, claims and axes. " +
		"heddle paper new NAME begins one of yours.")}
}

// mostPaperRows is how many rows of a run a page has as a file: it is to be smaller than
// 5 MB.
const mostPaperRows = 5000

// Source says where a page is from: the command, the version, the date and the run
// folder, with the rows of the run as a file. There is no run if a cluster ran the jobs.
func Source(run *runs.Run) (doc.Doc, error) {
	d := doc.Doc{doc.Heading("Where this is from")}
	if run == nil {
		return append(d, doc.Facts{
			{Name: "command", Value: strings.Join(os.Args, " ")},
			{Name: "heddle", Value: runs.ThisBuild().String()},
			{Name: "page of", Value: time.Now().UTC().Format(time.DateTime + " UTC")},
		}), nil
	}
	d = append(d, doc.Facts{{Name: "run folder", Value: run.Dir}})
	d = append(d, results.Provenance(run)...)
	finished, err := results.Open(run.Dir, false)
	if err != nil {
		return nil, err
	}
	if len(finished.Trials) > mostPaperRows {
		return append(d, doc.Text(fmt.Sprintf("\"heddle runs export -o rows.csv %s\" writes the rows of the run, "+
			"one for each scheduler, setting and seed.", run.Dir))), nil
	}
	folder, err := os.MkdirTemp("", "heddle-paper-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "rows.csv")
	if _, err := export.Write([]*results.Run{finished}, export.Trials, file); err != nil {
		return nil, err
	}
	rows, err := os.ReadFile(file)
	d = append(d, doc.Text("The rows of the run, one for each scheduler, setting and seed:"))
	return append(d, doc.Files{{Name: "rows.csv", Type: "text/csv", Data: rows}}), err
}
