package newmodel

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// goName returns the name of a model's Go type, such as myModel for the model
// my-model.
func goName(name string) (string, error) {
	if !namePattern.MatchString(name) || len(name) < 3 {
		return "", fmt.Errorf("%q is no name for a model: it takes three characters or more of a-z, 0-9 and single hyphens, a letter first, as in my-model", name)
	}
	words := strings.Split(name, "-")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	goName := strings.Join(words, "")
	if token.IsKeyword(goName) || types.Universe.Lookup(goName) != nil || goName == "init" {
		return "", fmt.Errorf("%q is no name for a model: it means something in Go; take another, such as %s-model", name, name)
	}
	return goName, nil
}

// source is the parsed source code of package sched in a checkout.
type source struct {
	files    *token.FileSet
	declared map[string]token.Pos // names that package sched declares or imports, each with its position in the source
	models   map[string]string    // name of each scheduler model, by the name of the Go variable that describes it
	registry string               // path of registry.go, the file with the list of scheduler models
	text     []byte               // content of registry.go, the file with the list of scheduler models
	list     *ast.CompositeLit    // value of the Go variable models, the list of all scheduler models
}

func parseModels(folder string) (*source, error) {
	s := &source{
		files: token.NewFileSet(), declared: map[string]token.Pos{}, models: map[string]string{},
		registry: filepath.Join(folder, "registry.go"),
	}
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(s.files, path, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("%w; mend it first", err)
		}
		if path == s.registry {
			s.text = text
		}
		s.add(file)
	}
	if s.list == nil {
		return nil, fmt.Errorf("%s has no table of models that begins with %q", s.registry, "var models = []Info{")
	}
	return s, nil
}

var majorVersion = regexp.MustCompile(`/v[0-9]+$`)

// The method add notes the names that a Go file declares or imports, so that a new
// model does not use them.
func (s *source) add(file *ast.File) {
	if strings.HasSuffix(file.Name.Name, "_test") {
		return // the file belongs to another package: external tests
	}
	for _, i := range file.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		path = majorVersion.ReplaceAllString(path, "")
		name := path[strings.LastIndex(path, "/")+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		s.declared[name] = i.Pos()
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				s.declared[d.Name.Name] = d.Pos()
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					s.declared[spec.Name.Name] = spec.Pos()
				case *ast.ValueSpec:
					s.addValue(spec)
				}
			}
		}
	}
}

func (s *source) addValue(spec *ast.ValueSpec) {
	for i, name := range spec.Names {
		s.declared[name.Name] = name.Pos()
		if i >= len(spec.Values) {
			continue
		}
		value, ok := spec.Values[i].(*ast.CompositeLit)
		if !ok {
			continue
		}
		if name.Name == "models" && s.files.Position(name.Pos()).Filename == s.registry {
			s.list = value
		}
		if of, ok := value.Type.(*ast.Ident); ok && of.Name == "Info" {
			s.models[name.Name] = modelName(value)
		}
	}
}

// modelName returns the value of the field Name in a Go literal of type Info, which
// describes a model; empty if there is no such field.
func modelName(info *ast.CompositeLit) string {
	for _, e := range info.Elts {
		pair, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		key, _ := pair.Key.(*ast.Ident)
		text, ok := pair.Value.(*ast.BasicLit)
		if ok && key != nil && key.Name == "Name" {
			name, _ := strconv.Unquote(text.Value)
			return name
		}
	}
	return ""
}

// allows returns an error if a model of this name exists already, or if package sched
// already declares a Go name that the new model needs.
func (s *source) allows(name, typeName string) error {
	for info, taken := range s.models {
		if taken == name {
			return fmt.Errorf("there is a model %s already, at %v", name, s.files.Position(s.declared[info]))
		}
	}
	for _, x := range []string{typeName, typeName + "Info"} {
		if at, taken := s.declared[x]; taken {
			return fmt.Errorf("package sched has something else called %s, at %v; take another name", x, s.files.Position(at))
		}
	}
	return nil
}

// register returns the content of registry.go with one more model in its list. The
// models are sorted by name.
func (s *source) register(name, info string) ([]byte, error) {
	at := s.list.Rbrace // position of the new entry: before the first model whose name sorts after the new one, or else at the end of the list
	for _, e := range s.list.Elts {
		if other, ok := e.(*ast.Ident); ok && s.models[other.Name] > name {
			at = e.Pos()
			break
		}
	}
	offset := s.files.Position(at).Offset
	text := string(s.text[:offset]) + info + ",\n" + string(s.text[offset:])
	out, err := format.Source([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("%s: add %s to its table: %w", s.registry, info, err)
	}
	return out, nil
}
