// Package newmodel writes the first files of a new scheduler model into a checkout of
// heddle: the model, a scenario that tests it, and an entry in the list of models in
// package sched. The files compile and pass the tests that all models must pass. The
// author then changes them.
//
// Of the files that exist already, only the one with the list of models is changed.
package newmodel

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"

	"heddle/harness/config"
	"heddle/traces/outfile"
)

// Plan holds the content of the files to be written for a new scheduler model. It is
// complete before the first file is written.
type Plan struct {
	Root string // root folder of the checkout
	// Model, Scenario and Registry are the paths of the files to be written, relative
	// to Root.
	Model, Scenario, Registry string

	model, scenario, registry []byte
}

// folder is the path of package sched within a checkout of heddle.
const folder = "harness/sched"

var (
	//go:embed model.tmpl
	modelText string
	//go:embed scenario.tmpl
	scenarioText string

	modelTemplate    = template.Must(template.New("model").Parse(modelText))
	scenarioTemplate = template.Must(template.New("scenario").Parse(scenarioText))
)

// New plans the files of a scheduler model called name, in the checkout of heddle that
// contains the folder dir. The returned error says what is wrong with the name, or that
// dir is in no checkout.
func New(dir, name string) (*Plan, error) {
	typeName, err := goName(name)
	if err != nil {
		return nil, fmt.Errorf("new model: %w", err)
	}
	if name == config.ModelYARN {
		return nil, fmt.Errorf("new model: %s means the cluster's own scheduler; take another name", name)
	}
	root, err := findCheckout(dir)
	if err != nil {
		return nil, fmt.Errorf("new model %s: %w", name, err)
	}
	src, err := parseModels(filepath.Join(root, folder))
	if err != nil {
		return nil, fmt.Errorf("new model %s: %w", name, err)
	}
	if err := src.allows(name, typeName); err != nil {
		return nil, fmt.Errorf("new model %s: %w", name, err)
	}
	p := &Plan{
		Root: root, Registry: folder + "/registry.go", Scenario: folder + "/testdata/scenarios/" + name,
		// The file's name has neither hyphens nor underscores: Go would compile a file
		// such as name_linux.go on Linux only.
		Model: folder + "/" + strings.ReplaceAll(name, "-", "") + ".go",
	}
	for _, path := range []string{p.Model, p.Scenario} {
		if _, err := os.Lstat(filepath.Join(root, path)); !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("new model %s: %s is there already; remove it, or take another name", name, filepath.Join(root, path))
		}
	}
	if p.registry, err = src.register(name, typeName+"Info"); err != nil {
		return nil, fmt.Errorf("new model %s: %w", name, err)
	}
	values := struct{ Name, Type string }{name, typeName}
	p.model, p.scenario = fill(modelTemplate, values), fill(scenarioTemplate, values)
	return p, nil
}

func fill(t *template.Template, values any) []byte {
	var b bytes.Buffer
	if err := t.Execute(&b, values); err != nil {
		panic(err) // filling in the template fails only if the template is wrong
	}
	return b.Bytes()
}

// Write writes the planned files. If that fails, Write removes those files that it
// has created.
func (p *Plan) Write() error {
	var written []string
	for _, f := range []struct {
		path string
		data []byte
	}{{p.Model, p.model}, {p.Scenario, p.scenario}} {
		path := filepath.Join(p.Root, f.path)
		if err := create(path, f.data); err != nil {
			return fmt.Errorf("write new model: %w", errors.Join(err, removeAll(written)))
		}
		written = append(written, path)
	}
	if err := outfile.Replace(filepath.Join(p.Root, p.Registry), func(f *os.File) error { _, err := f.Write(p.registry); return err }); err != nil {
		return fmt.Errorf("write new model: %w", errors.Join(err, removeAll(written)))
	}
	return nil
}

// create writes a new file, with its folder if needed. It fails if the file exists
// already.
func create(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

func removeAll(paths []string) (err error) {
	for _, path := range paths {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

var moduleLine = regexp.MustCompile(`(?m)^module\s+"?heddle"?\s*(//.*)?$`)

// findCheckout returns the folder dir, or the nearest folder above it, that has
// heddle's go.mod.
func findCheckout(dir string) (string, error) {
	at, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for folder := at; ; folder = filepath.Dir(folder) {
		data, err := os.ReadFile(filepath.Join(folder, "go.mod"))
		switch {
		case err == nil && moduleLine.Match(data):
			return folder, nil
		case err == nil:
			return "", fmt.Errorf("%s is not heddle's: go to a checkout of heddle, or give its folder with --dir", filepath.Join(folder, "go.mod"))
		case !errors.Is(err, fs.ErrNotExist):
			return "", err
		case folder == filepath.Dir(folder):
			return "", fmt.Errorf("no go.mod in %s or above it: go to a checkout of heddle, or give its folder with --dir", at)
		}
	}
}
