// Package newmodel writes the files that a new scheduler model begins with into
// a checkout of heddle: the model, a scenario that tests it, and the model's line
// in the registry of package sched. What it writes compiles, passes the tests of
// all models, and is there to be changed.
//
// It changes no file but the registry, and overwrites nothing.
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
)

// Plan is what is to be written. All is known before the first byte is.
type Plan struct {
	Root string // the checkout's folder
	// Model, Scenario and Registry are files, by their path in the checkout.
	Model, Scenario, Registry string

	model, scenario, registry []byte
}

// folder is package sched in a checkout.
const folder = "harness/sched"

var (
	//go:embed model.tmpl
	modelText string
	//go:embed scenario.tmpl
	scenarioText string

	modelTemplate    = template.Must(template.New("model").Parse(modelText))
	scenarioTemplate = template.Must(template.New("scenario").Parse(scenarioText))
)

// New plans a model with a name in the checkout that dir is in. The error says
// what is wrong with the name, or why there is no such checkout.
func New(dir, name string) (*Plan, error) {
	typeName, err := goName(name)
	if err != nil {
		return nil, fmt.Errorf("new model: %w", err)
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
		// Without hyphens: Go takes the end of a name after _ for a system's.
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
		panic(err) // a fault of the template's
	}
	return b.Bytes()
}

// Write writes what is planned. Where it fails, nothing of it stays.
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
	if err := replace(filepath.Join(p.Root, p.Registry), p.registry); err != nil {
		return fmt.Errorf("write new model: %w", errors.Join(err, removeAll(written)))
	}
	return nil
}

// create writes a file that is not there yet.
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

// replace has a file hold data, at once: a registry that is cut off would lose
// the other models.
func replace(path string, data []byte) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(info.Mode().Perm()), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
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

// findCheckout is dir, or the nearest folder above it, with heddle's go.mod.
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
