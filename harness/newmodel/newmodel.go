// Package newmodel writes the first files of a new scheduler model: a module of its
// own, whose program is heddle with this model, and the model's test. The files
// compile and pass their test. The author then changes them.
//
// The module is built with heddle's source from a checkout on the same machine, and
// with the modules that heddle needs, so that it builds without a network.
package newmodel

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"heddle/harness/sched"
	"heddle/traces/outfile"
)

// Module is a new module with a scheduler model. It is complete before the first
// file is written.
type Module struct {
	Dir      string // folder of the module, which does not exist yet
	Checkout string // folder of heddle's source, with which the module is built
	Package  string // name of the model's package, and of its folder in the module
	Scenario string // path of the model's scenario in the module

	files []file
}

type file struct {
	path string // in the module
	data []byte
}

//go:embed files
var templates embed.FS

// New plans a module in a new folder for a scheduler model of this name. It is built
// with the checkout of heddle in the folder checkout, or if that is empty with the one
// that this program was built from, or else the one around the current folder. The
// error says what is wrong with an argument, and what to do.
func New(name, dir, checkout string) (*Module, error) {
	m, err := plan(name, dir, checkout)
	if err != nil {
		return nil, fmt.Errorf("new model %s: %w", name, err)
	}
	return m, nil
}

func plan(name, dir, checkout string) (*Module, error) {
	pkg, err := packageName(name)
	if err != nil {
		return nil, err
	}
	m := &Module{Package: pkg, Scenario: pkg + "/testdata/scenarios/" + name}
	if m.Dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(m.Dir); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is there already; give another folder with --dir", m.Dir)
	}
	if m.Checkout, err = findCheckout(checkout); err != nil {
		return nil, err
	}
	values := struct{ Name, Package, Module string }{name, pkg, "example.com/" + name}
	for path, from := range map[string]string{
		"main.go": "main.go.tmpl", pkg + "/model.go": "model.go.tmpl", pkg + "/model_test.go": "model_test.go.tmpl", m.Scenario: "scenario.tmpl",
	} {
		var b bytes.Buffer
		if err := template.Must(template.ParseFS(templates, "files/"+from)).Execute(&b, values); err != nil {
			panic(err) // filling in the template fails only if the template is wrong
		}
		m.files = append(m.files, file{path, b.Bytes()})
	}
	slices.SortFunc(m.files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return m, m.addModule(values.Module)
}

// addModule adds go.mod and go.sum: those of heddle, which name all modules that the
// program is made of, and heddle itself.
func (m *Module) addModule(path string) error {
	mod, err := os.ReadFile(filepath.Join(m.Checkout, "go.mod"))
	if err != nil {
		return err
	}
	sum, err := os.ReadFile(filepath.Join(m.Checkout, "go.sum"))
	if err != nil {
		return fmt.Errorf("the checkout of heddle is not whole: %w; restore it, or give another with --heddle", err)
	}
	// A function, as $ in a path is no part of the pattern.
	text := moduleLine.ReplaceAllStringFunc(string(mod), func(string) string {
		return fmt.Sprintf(`module %s

// heddle is built from source on this machine: change the path if that moves.
require heddle v0.0.0

replace heddle => %s

// What follows is from heddle's go.mod.`, path, strconv.Quote(m.Checkout))
	})
	m.files = append(m.files, file{"go.mod", []byte(text)}, file{"go.sum", sum})
	return nil
}

// Write writes the module. If that fails, it removes what it has written.
func (m *Module) Write() error {
	if err := m.write(); err != nil {
		return fmt.Errorf("write new model: %w", err)
	}
	return nil
}

func (m *Module) write() error {
	if err := os.MkdirAll(filepath.Dir(m.Dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(m.Dir, 0o755); err != nil { // fails if the folder is there
		return err
	}
	for _, f := range m.files {
		path := filepath.Join(m.Dir, f.path)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = outfile.Create(path, func(to *os.File) error { _, err := to.Write(f.data); return err })
		}
		if err != nil {
			return errors.Join(err, os.RemoveAll(m.Dir))
		}
	}
	return nil
}

// packageName returns the name of a model's Go package, such as mymodel for the
// model my-model.
func packageName(name string) (string, error) {
	if err := sched.CheckName(name); err != nil {
		return "", err
	}
	if slices.ContainsFunc(sched.List(), func(m sched.Info) bool { return m.Name == name }) {
		return "", errors.New("there is a model of this name already; take another")
	}
	pkg := strings.ReplaceAll(name, "-", "")
	if token.IsKeyword(pkg) || slices.Contains([]string{"cmd", "init", "internal", "main", "testdata", "vendor"}, pkg) {
		return "", fmt.Errorf("a Go package cannot have this name; take another, such as %s-model", name)
	}
	return pkg, nil
}

var moduleLine = regexp.MustCompile(`(?m)^module\s+"?heddle"?\s*?(//.*)?$`)

// findCheckout returns the folder of heddle's source: the one that is given, or else
// the one that this program was built from, or the one around the current folder.
func findCheckout(given string) (string, error) {
	const todo = "give the folder of a checkout of heddle with --heddle"
	if given != "" {
		at, err := filepath.Abs(given)
		if err == nil && !isCheckout(at) {
			err = fmt.Errorf("%s has no go.mod of heddle with package harness/sched/schedtest: %s", at, todo)
		}
		return at, err
	}
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	_, source, _, _ := runtime.Caller(0) // with -trimpath it is no path of this machine
	for _, at := range []string{filepath.Dir(source), here} {
		for ; filepath.IsAbs(at) && at != filepath.Dir(at); at = filepath.Dir(at) {
			if isCheckout(at) {
				return at, nil
			}
		}
	}
	return "", fmt.Errorf("the source of heddle is neither where this program was built nor around %s: %s", here, todo)
}

func isCheckout(dir string) bool {
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil || !moduleLine.Match(mod) {
		return false
	}
	_, err = os.Stat(filepath.Join(dir, "harness/sched/schedtest"))
	return err == nil
}
