package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"heddle/cmd"
	"heddle/harness/config"
	"heddle/harness/measure"
	"heddle/harness/sched"
)

// reference returns the pages that are made from code. Models are those that are
// registered. top is the folder of heddle's
// source, where the comments of trace events are.
func reference(top string) (list []source, err error) {
	help, err := cmd.Help()
	if err != nil {
		return nil, err
	}
	events, err := eventsPage(filepath.Join(top, "traces"))
	if err != nil {
		return nil, err
	}
	list = []source{
		{path: commandsPage, text: commands(help)},
		{path: "reference/events.md", text: events},
		{path: "reference/metrics.md", text: metrics(measure.Metrics())},
		{path: "reference/models.md", text: modelsPage(sched.List())},
	}
	for _, f := range []struct {
		name, title string
		schema      []byte
	}{
		{"experiment", "Keys of an experiment file", config.ExperimentSchema()},
		{"cluster", "Keys of a cluster file", config.ClusterSchema()},
		{"sweep", "Keys of a sweep file", config.SweepSchema()},
	} {
		text, err := keys(f.title, "heddle schema "+f.name, f.schema)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		list = append(list, source{path: "reference/" + f.name + ".md", text: text})
	}
	return list, nil
}

// writer writes Markdown.
type writer struct{ strings.Builder }

func (w *writer) addf(format string, args ...any) { fmt.Fprintf(w, format, args...) }

// table begins a table, and row adds to it. Cells are Markdown.
func (w *writer) table(columns ...string) {
	w.WriteString("\n")
	w.row(columns...)
	w.row(slices.Repeat([]string{"---"}, len(columns))...)
}

func (w *writer) row(cells ...string) { w.addf("| %s |\n", strings.Join(cells, " | ")) }

// plain is a text in which nothing is Markdown.
func plain(text string) string {
	var b strings.Builder
	for _, c := range strings.Join(strings.Fields(text), " ") {
		if strings.ContainsRune("\\`*_{}[]<>()#+-.!|~&$", c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// code is a text as code; nothing for none.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "<code>" + plain(text) + "</code>"
}

func commands(list []cmd.CommandHelp) string {
	var w writer
	w.addf("# Commands\n\nWhat each command prints with `--help`.\n")
	for _, c := range list {
		level := min(strings.Count(c.Name, " ")+1, 3)
		w.addf("\n%s %s\n\n````\n%s\n````\n", strings.Repeat("#", max(level, 2)), c.Name, strings.TrimSpace(c.Text))
	}
	return w.String()
}

func metrics(list []measure.Metric) string {
	var w writer
	w.addf("# Metrics\n\nBy these `heddle compare` compares models, and thresholds and exported tables know them too.\n")
	w.table("metric", "unit", "better", "what it is")
	for _, m := range list {
		w.row(code(m.Name), plain(m.Unit), string(m.Better), plain(m.Text))
	}
	return w.String()
}

func modelsPage(list []sched.Info) string {
	var w writer
	w.addf("# Scheduler models\n\n`yarn`, the cluster's own scheduler, can stand wherever a model can. These are heddle's, and those of papers:\n")
	for _, m := range list {
		w.addf("\n## %s\n\n%s.\n\nFrom: %s\n", plain(m.Name), plain(m.Summary), plain(m.Source))
		if len(m.Params) == 0 {
			continue
		}
		w.table("parameter", "values", "default", "unit", "meaning")
		for _, p := range m.Params {
			w.row(code(p.Name), plain(p.Values()), code(p.Default), plain(p.Unit), plain(p.Doc))
		}
	}
	return w.String()
}

// schema is the part of a JSON Schema that says something to readers.
type schema struct {
	Description      string
	Enum             []string
	Default          any
	Minimum, Maximum float64
	Properties       map[string]*schema
	Required         []string
	Items            *schema
	AnyOf            []*schema
}

func keys(title, command string, data []byte) (string, error) {
	var s schema
	if err := json.Unmarshal(data, &s); err != nil {
		return "", err
	}
	var w writer
	w.addf("# %s\n\nEditors learn them from `%s`. `[]` is a list; a key with dots stands below another one. Of a list of texts one is chosen.\n", title, command)
	w.table("key", "values", "default", "what it is")
	s.rows(&w, "")
	return w.String(), nil
}

// under returns the schema that has a value's keys, in front of which suffix stands: the
// value's own, that of a list's elements, or that of one of several forms.
func (s *schema) under() (suffix string, of *schema) {
	switch {
	case s.Properties != nil:
		return "", s
	case s.Items != nil:
		suffix, of = s.Items.under()
		return "[]" + suffix, of
	}
	for _, form := range s.AnyOf {
		if suffix, of = form.under(); of != nil {
			return suffix, of
		}
	}
	return "", nil
}

// rows adds a row for each key of a value, whose own name is path.
func (s *schema) rows(w *writer, path string) {
	suffix, of := s.under()
	if of == nil || path == "thresholds" { // whose keys are the metrics
		return
	}
	for _, key := range slices.Sorted(maps.Keys(of.Properties)) {
		value, name := of.Properties[key], strings.TrimPrefix(path+suffix+"."+key, ".")
		needed, usual := "", ""
		if slices.Contains(of.Required, key) {
			needed = " (needed)"
		}
		if value.Default != nil {
			usual = code(fmt.Sprint(value.Default))
		}
		w.row(code(name)+needed, value.values(), usual, plain(value.Description))
		value.rows(w, name)
	}
}

// mostListed is how many texts a row lists at most.
const mostListed = 8

// values says which values a key may have, where that is not any.
func (s *schema) values() string {
	switch {
	case len(s.Enum) > mostListed:
		return fmt.Sprintf("one of %d", len(s.Enum))
	case len(s.Enum) > 0:
		var list []string
		for _, x := range s.Enum {
			list = append(list, code(x))
		}
		return strings.Join(list, ", ")
	case s.Maximum > s.Minimum && s.Maximum < 1e18:
		return plain(fmt.Sprintf("%s to %s", short(s.Minimum), short(s.Maximum)))
	}
	for _, form := range s.AnyOf {
		if v := form.values(); v != "" {
			return v
		}
	}
	if s.Items != nil {
		return s.Items.values()
	}
	return ""
}

func short(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// eventsPage describes the events of traces, and what is in them, by the comments of
// their structs in a folder's files.
func eventsPage(folder string) (string, error) {
	var w writer
	w.addf("# Trace events\n\nThe events of a trace and what they consist of, with the names that fields have in JSON Lines (`heddle trace export --jsonl`). A line's `kind` is an event's name with a small first letter. Times are in nanoseconds since the run began.\n")
	for _, file := range []string{"events.go", "traces.go", "terms.go", "header.go"} {
		tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, file), nil, parser.ParseComments)
		if err != nil {
			return "", err
		}
		for _, d := range tree.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
				for _, spec := range g.Specs {
					t := spec.(*ast.TypeSpec)
					w.structure(t, cmp.Or(t.Doc, g.Doc).Text())
				}
			}
		}
	}
	return w.String(), nil
}

// structure describes a struct, if traces have it.
func (w *writer) structure(t *ast.TypeSpec, doc string) {
	s, ok := t.Type.(*ast.StructType)
	if !ok || !t.Name.IsExported() || !slices.ContainsFunc(s.Fields.List, func(f *ast.Field) bool { return f.Tag != nil }) {
		return
	}
	w.addf("\n## %s\n\n%s\n", t.Name, plain(doc))
	w.table("field", "type", "what it is")
	for _, f := range s.Fields.List {
		w.row(fieldName(f), plain(typeName(f.Type)), plain(f.Doc.Text()+" "+f.Comment.Text()))
	}
}

// fieldName is a field's name in JSON; of an embedded struct, what it has.
func fieldName(f *ast.Field) string {
	if len(f.Names) == 0 {
		return "fields of " + code(typeName(f.Type))
	}
	tag, err := strconv.Unquote(f.Tag.Value)
	if err != nil {
		return ""
	}
	name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
	return code(name)
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.ArrayType:
		return "list of " + typeName(e.Elt)
	}
	return ""
}
