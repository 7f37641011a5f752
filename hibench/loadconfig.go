package hibench

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// HiBench's scripts get their variables from bin/functions/load_config.py,
// which needs Python 2. The code in loadconfig.go does what load_config.py
// does: it reads conf files, resolves references between properties, and writes
// a file of shell variables. Two things are left out. It does not guess values
// that heddle always gives (Hadoop release, jars, host names). And it supports
// neither Spark nor the Java options of DFSIO.

// confLoader contains the variables and properties of a HiBench configuration
// while the configuration is loaded.
type confLoader struct {
	vars       map[string]string // values of environment variables, by name
	mandatory  map[string]string // for each shell variable that must be set, the name of the HiBench property with its value
	optional   map[string]string
	properties map[string]string
	source     map[string]string // for each property, the file that set it, for error messages
}

// confRequest says which HiBench configuration to load. Its fields stand for
// the arguments of HiBench's load_config.py.
type confRequest struct {
	home         string    // HiBench's folder: the checkout itself, or a folder of links to it
	confDir      string    // folder of HiBench's *.conf files, which are read in the order of their names; a value in a later file wins
	workloadConf string    // the conf file of the workload, which is read after all other conf files
	folder       string    // folder of the script that needs the configuration: .../wordcount/prepare
	patch        []Setting // settings of this run, which win over all files
	vars         []string  // the environment of the script, each variable as KEY=VALUE
}

// loadConf returns the shell variables for a HiBench script, and the path of
// the file in which the script expects them.
func loadConf(req confRequest) (vars map[string]string, file string, err error) {
	l := confLoader{vars: map[string]string{}, properties: map[string]string{}, source: map[string]string{}}
	for _, v := range req.vars {
		name, value, _ := strings.Cut(v, "=")
		l.vars[name] = value
	}
	mapping, err := os.ReadFile(filepath.Join(req.home, "bin", "functions", "hibench_prop_env_mapping.py"))
	if err != nil {
		return nil, "", fmt.Errorf("HiBench's list of variables: %w", err)
	}
	if l.mandatory, l.optional, err = parseMapping(string(mapping)); err != nil {
		return nil, "", err
	}
	files, err := filepath.Glob(filepath.Join(req.confDir, "*.conf"))
	if err != nil {
		return nil, "", fmt.Errorf("HiBench's configuration: %w", err)
	}
	for _, name := range append(files, req.workloadConf) {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, "", fmt.Errorf("HiBench's configuration: %w", err)
		}
		l.parse(string(text), name)
	}
	l.takeEnvironment()
	for _, p := range req.patch {
		l.set(p.Name, p.Value, "the command")
	}
	if err := l.resolveAll(req.home); err != nil {
		return nil, "", err
	}
	return l.shellVars(req)
}

var mappingLine = regexp.MustCompile(`^\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*"([^"]*)"`)

// parseMapping parses two tables in HiBench's scripts that say which shell
// variable gets the value of which property. The first has variables that must
// be set, the second has optional ones. Each table is a Python call of dict()
// with one argument per line.
func parseMapping(text string) (mandatory, optional map[string]string, err error) {
	mandatory, optional = map[string]string{}, map[string]string{}
	var table map[string]string
	for line := range strings.Lines(text) {
		switch compact := strings.ReplaceAll(strings.TrimSpace(line), " ", ""); {
		case compact == "HiBenchEnvPropMappingMandatory=dict(":
			table = mandatory
		case compact == "HiBenchEnvPropMapping=dict(":
			table = optional
		case compact == ")":
			table = nil
		case table != nil:
			if m := mappingLine.FindStringSubmatch(line); m != nil {
				table[m[1]] = m[2]
			}
		}
	}
	if len(mandatory) == 0 || len(optional) == 0 {
		return nil, nil, errors.New("HiBench's hibench_prop_env_mapping.py lacks the two tables of commit 53ac935: use that commit")
	}
	return mandatory, optional, nil
}

func (l *confLoader) set(name, value, source string) {
	l.properties[name], l.source[name] = strings.TrimSpace(value), source
}

// parse reads the properties in a HiBench conf file. Each line has the name of
// a property, white space and the value.
func (l *confLoader) parse(text, file string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value := line, ""
		if i := strings.IndexAny(line, " \t\v\f\r"); i > 0 {
			name, value = line[:i], line[i:]
		}
		l.set(name, value, file)
	}
}

// takeEnvironment sets HiBench properties from environment variables. It sets
// only properties that have no value yet.
func (l *confLoader) takeEnvironment() {
	for _, table := range []map[string]string{l.mandatory, l.optional} {
		for name, property := range table {
			value, ok := l.vars[name]
			if old := l.properties[property]; ok && (old == "" || old == "$"+name) {
				l.set(property, value, "environment variable "+name)
				l.properties[property] = value
			}
		}
	}
}

// resolveAll replaces all references such as ${name} in property values. It
// first replaces those to properties of the conf files. Then it adds properties
// that depend on this machine, and replaces the rest.
func (l *confLoader) resolveAll(home string) error {
	if err := l.resolve(false); err != nil {
		return err
	}
	l.set("hibench.home", home, "the checkout")
	if l.properties["java.bin"] == "" {
		java, err := findJava(l.vars)
		if err != nil {
			return err
		}
		l.set("java.bin", java, "JAVA_HOME or PATH")
	}
	for name, value := range map[string]string{
		"hibench.hadoop.mapper.name":  "mapreduce.job.maps",
		"hibench.hadoop.reducer.name": "mapreduce.job.reduces",
	} {
		if l.properties[name] == "" {
			l.set(name, value, "default")
		}
	}
	for _, name := range []string{"hibench.masters.hostnames", "hibench.slaves.hostnames"} {
		l.properties[name] = strings.Join(strings.Fields(l.properties[name]), " ")
	}
	if err := l.resolve(true); err != nil {
		return err
	}
	for _, property := range l.mandatory {
		if _, ok := l.properties[property]; !ok {
			return fmt.Errorf("HiBench's configuration: %s is not set", property)
		}
	}
	return nil
}

// The pattern reference matches a reference ${name} in a HiBench conf file, if
// it contains no other reference.
var reference = regexp.MustCompile(`\$\{\s*[^\s^$}]+\s*\}`)

// Limits for replacing references such as ${name} in HiBench's conf files: the
// number of rounds, and the length of a value. They stop references that form a
// cycle. HiBench's own files need 4 rounds and 200 bytes.
const (
	maxRounds     = 50
	maxValueBytes = 8 << 10
)

// unset is what a reference ${name:_} is replaced by if the property name has
// no value. A property whose value contains it is removed.
const unset = "\x00unset\x00"

// resolve replaces references such as ${name} in property values until none can
// be replaced any more. A reference to a property without a value stays. Only
// if last is true, it is replaced too, by its default or by nothing.
func (l *confLoader) resolve(last bool) error {
	for range maxRounds {
		changed := false
		for _, name := range slices.Sorted(maps.Keys(l.properties)) {
			value := l.properties[name]
			newName, newValue := l.replace(name, last), l.replace(value, last)
			if newName == name && newValue == value {
				continue
			}
			if len(newName) > maxValueBytes || len(newValue) > maxValueBytes {
				return fmt.Errorf("%s: %s refers to itself", l.source[name], name)
			}
			changed = true
			if newName != name {
				l.properties[newName], l.source[newName] = value, l.source[name]
				delete(l.properties, name)
			} else {
				l.properties[name] = newValue
			}
		}
		if changed {
			continue
		}
		for name, value := range l.properties {
			if strings.Contains(name, "*") {
				return fmt.Errorf("%s: %s: rules with * are not supported", l.source[name], name)
			}
			if strings.Contains(value, unset) {
				delete(l.properties, name)
			}
		}
		return nil
	}
	return errors.New("HiBench's configuration: properties refer to each other in a circle")
}

// replace replaces each reference such as ${name} in a text once. If a
// replacement contains a reference, that stays for the next call.
func (l *confLoader) replace(text string, last bool) string {
	return reference.ReplaceAllStringFunc(text, func(ref string) string {
		name := strings.TrimSpace(ref[2 : len(ref)-1])
		i := strings.Index(name, ":-")
		if j := strings.Index(name, ":_"); j >= 0 && (i < 0 || j < i) {
			i = j
		}
		fallback, splitter := "", ""
		if i >= 0 {
			name, splitter, fallback = name[:i], name[i:i+2], name[i+2:]
		}
		value, ok := l.properties[name]
		switch {
		case !last && value == "":
			return ref
		case !last || ok && !(splitter == ":_" && fallback == ""):
			return value
		case splitter == ":_" && fallback == "":
			return unset
		}
		return fallback
	})
}

// shellVars returns the shell variables for a HiBench script, and the path of
// the file in which the script expects them.
func (l *confLoader) shellVars(req confRequest) (map[string]string, string, error) {
	vars := map[string]string{}
	for _, table := range []map[string]string{l.mandatory, l.optional} {
		for name, property := range table {
			value := l.properties[property]
			if strings.Contains(value, "${") {
				return nil, "", fmt.Errorf("%s: %s: value %q has a reference that cannot be resolved", l.source[property], property, value)
			}
			var err error
			if vars[name], err = literal(value); err != nil {
				return nil, "", fmt.Errorf("%s: %s: %w", l.source[property], property, err)
			}
		}
	}
	framework, workload := filepath.Base(req.folder), filepath.Base(filepath.Dir(req.folder))
	dir := filepath.Join(vars["HIBENCH_REPORT"], workload, framework, "conf")
	file := filepath.Join(dir, workload+".conf")
	vars["SPARKBENCH_PROPERTIES_FILES"] = filepath.Join(dir, "sparkbench", "sparkbench.conf")
	vars["SPARK_PROP_CONF"] = filepath.Join(dir, "sparkbench", "spark.conf")
	vars["WORKLOAD_RESULT_FOLDER"] = dir + "/.."
	vars["HIBENCH_WORKLOAD_CONF"] = file
	return vars, file, nil
}

// literal returns a property's value as the shell understands it. HiBench's
// loader passes values to the shell as they are. So a value, such as the
// report's column formats, may be in quotes, which literal removes. A value
// that the shell would have to evaluate is an error.
func literal(value string) (string, error) {
	text, quotes := value, byte(0)
	if n := len(value); n > 1 && (value[0] == '\'' || value[0] == '"') && value[n-1] == value[0] {
		text, quotes = value[1:n-1], value[0]
	}
	special := map[byte]string{0: "'\"`$\\", '"': "\"`$", '\'': "'"}[quotes]
	if strings.ContainsAny(text, special) || quotes == '"' && strings.Contains(text, `\\`) {
		return "", fmt.Errorf("value %q is not plain text: write the result of the shell expression instead", value)
	}
	return text, nil
}

// writeShellVars writes the file of shell variables that HiBench's scripts
// read.
func writeShellVars(folder *os.Root, name string, vars map[string]string) error {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if strings.ContainsFunc(vars[name], unicode.IsControl) {
			return fmt.Errorf("variable %s: value %q has a control character", name, vars[name])
		}
		fmt.Fprintf(&b, "%s=%s\n", name, quote(vars[name]))
	}
	b.WriteString("export HADOOP_EXECUTABLE\nexport HADOOP_CONF_DIR\n")
	if err := folder.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return folder.WriteFile(name, []byte(b.String()), 0o600)
}

// quote puts a text in single quotes, so that a shell takes it as one word. The
// text must not contain NUL.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// findJava returns the path of the java program, which it looks for as HiBench
// does: in JAVA_HOME or on the PATH.
func findJava(vars map[string]string) (string, error) {
	if home := vars["JAVA_HOME"]; home != "" {
		return filepath.Join(home, "bin", "java"), nil
	}
	return findProgram("java", vars["PATH"])
}

// findProgram returns the path of a program in the folders of the given PATH.
func findProgram(name, searchPath string) (string, error) {
	for _, dir := range filepath.SplitList(searchPath) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s is not in the client's PATH (%s)", name, searchPath)
}
