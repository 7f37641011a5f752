package hibench

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Script is the name of the workloads that HiBench's own scripts prepare and run, such
// as the script ml/kmeans: all of a checkout that have a hadoop/run.sh. heddle gives
// them the programs that they use, and does not check what they compute.
const Script = "script"

// scriptName matches the folder of a workload below bin/workloads.
var scriptName = regexp.MustCompile(`^[a-z0-9_-]+/[a-z0-9_-]+$`)

// checkScript returns an error if the spec of a script is not valid.
func (s Spec) checkScript() error {
	switch {
	case !scriptName.MatchString(s.Script):
		return fmt.Errorf("%q: want the folder of a workload below bin/workloads of the checkout, such as ml/kmeans", s.Script)
	case s.SizeBytes|s.Visits|s.Pages != 0 || s.Profile == "":
		return fmt.Errorf("%s: its size is a profile (%s)", s.Script, strings.Join(Profiles(), ", "))
	}
	return s.checkProfile("", "", false)
}

// workload returns what is known of the spec's workload.
func (s Spec) workload() workload {
	w := workloads[s.Workload]
	if s.Workload == Script {
		group, name := path.Split(s.Script)
		w.group, w.folder = path.Clean(group), strings.ToUpper(name[:1])+name[1:]
	}
	return w
}

// scriptDir returns the folder of the workload's scripts for a step, below a checkout.
func (r *Runner) scriptDir(s step) string {
	dir := "hadoop"
	if s == stepPrepare {
		dir = "prepare"
	}
	return filepath.Join("bin", "workloads", r.w.group, r.name(), dir)
}

// script returns the path of HiBench's script for a step of the workload: a prepare.sh
// or run.sh in the checkout.
func (r *Runner) script(s step) string {
	if s == stepPrepare {
		return filepath.Join(r.scriptDir(s), "prepare.sh")
	}
	return filepath.Join(r.scriptDir(s), "run.sh")
}

// name returns the name of the workload in its group.
func (r *Runner) name() string {
	if r.w.program == Scripts {
		return path.Base(r.spec.Script)
	}
	return r.spec.Workload
}

// text returns the text of all scripts of a step; none if it cannot be read.
func (r *Runner) text(s step) (text string) {
	files, _ := filepath.Glob(filepath.Join(r.env.Checkout, r.scriptDir(s), "*.sh")) // the pattern is valid
	for _, name := range files {
		data, _ := os.ReadFile(name)
		text += string(data)
	}
	return text
}

// scriptPrograms says which words in a script mean that it uses a program which heddle
// gives it.
var scriptPrograms = map[string]Program{
	"ensure_hivebench_release": Hive, "ensure_mahout_release": Mahout, "GenKMeansDataset": Mahout, "HADOOP_SLEEP_JAR": Tests,
}

// programs returns what the workload's programs are part of, besides Hadoop's examples
// and the checkout.
func (r *Runner) programs() (list []Program) {
	if r.w.program != Scripts {
		return []Program{r.w.program}
	}
	text := r.text(stepPrepare) + r.text(stepRun)
	for word, p := range scriptPrograms {
		if strings.Contains(text, word) && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	slices.Sort(list)
	return list
}

// Programs returns what the programs of a workload are part of, besides Hadoop's
// examples and the checkout.
func Programs(checkout string, s Spec) []Program {
	return (&Runner{env: Env{Checkout: checkout}, spec: s, w: s.workload()}).programs()
}

// modules are the parts of HiBench whose jars scripts use, by the variable with a jar's
// path. heddle compiles what a script needs of it, unless the part has been built.
var modules = map[string]string{"DATATOOLS": "autogen", "PEGASUS_JAR": filepath.Join("hadoopbench", "pegasus")}

// jarClass matches a class of a jar that a script runs. The names of programs in
// Hadoop's examples have no dot.
var jarClass = regexp.MustCompile(`run_hadoop_job\s+\$\{?(\w+)\}?\s+(\w+(?:\.\w+)+)`)

// neededProgram matches the name of a program that a script looks for.
var neededProgram = regexp.MustCompile(`command_exist\s+(\w+)`)

// nutch is the archive that the script websearch/nutchindexing unpacks.
var nutch = filepath.Join("hadoopbench", "nutchindexing", "target", "apache-nutch-1.2-bin.tar.gz")

// debianPackage says which Debian package contains each program that HiBench's
// scripts need, for error messages.
var debianPackage = map[string]string{
	"bash": "bash", "bc": "bc", "which": "debianutils", "expr": "coreutils", "sleep": "coreutils", "python3": "python3",
	"zip": "zip", "unzip": "unzip", "javac": "openjdk-17-jdk-headless",
}

// checkPrograms returns an error if this machine lacks something that the workload's
// scripts need and heddle does not give them.
func (r *Runner) checkPrograms() error {
	prepare, run := r.text(stepPrepare), r.text(stepRun)
	for _, name := range []string{"bash", "bc", "which", "expr", "sleep", "python3"} {
		if err := r.hasProgram(name); err != nil {
			return err
		}
	}
	for _, m := range neededProgram.FindAllStringSubmatch(prepare+run, -1) {
		if err := r.hasProgram(m[1]); err != nil {
			return err
		}
	}
	if strings.Contains(run, "ensure_nutchindexing_release") {
		if archive := filepath.Join(r.env.Checkout, nutch); !exists(archive) {
			return fmt.Errorf("hibench: %s needs Nutch 1.2, which Maven Central does not have; build that part of HiBench, or put the "+
				"archive at %s", r.spec.Script, archive)
		}
	}
	if strings.Contains(run, "run_spark_job") {
		return fmt.Errorf("hibench: %s needs Spark, for which HiBench's scripts are not supported", r.spec.Script)
	}
	for _, m := range jarClass.FindAllStringSubmatch(prepare+run, -1) {
		built, _ := filepath.Glob(filepath.Join(r.env.Checkout, modules[m[1]], "target", "*.jar")) // the pattern is valid
		if modules[m[1]] != "" && len(built) == 0 {
			if err := r.hasProgram("javac"); err != nil {
				return err
			}
		}
	}
	return nil
}

// hasProgram returns an error if a program is missing on this machine.
func (r *Runner) hasProgram(name string) error {
	_, err := r.env.program(name)
	if err != nil {
		err = fmt.Errorf("hibench: HiBench's scripts need %s: %w; on Debian: apt install %s", name, err, debianPackage[name])
	}
	return err
}

// program returns the path of a program for client processes. javac is looked for in
// JAVA_HOME first.
func (env *Env) program(name string) (string, error) {
	vars := map[string]string{}
	for _, v := range env.Vars {
		name, value, _ := strings.Cut(v, "=")
		vars[name] = value
	}
	if name == "javac" && vars["JAVA_HOME"] != "" {
		if file, err := findProgram(name, filepath.Join(vars["JAVA_HOME"], "bin")); err == nil {
			return file, nil
		}
	}
	return findProgram(name, vars["PATH"])
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// CheckScripts says of each script of a checkout whether it can run on this machine, by
// name: nil, or what it lacks.
func CheckScripts(env Env) (map[string]error, error) {
	found, err := fs.Glob(os.DirFS(env.Checkout), "bin/workloads/*/*/hadoop/run.sh")
	if err == nil && len(found) == 0 {
		err = errors.New("no bin/workloads/*/*/hadoop/run.sh: it is no HiBench checkout")
	}
	if err == nil {
		err = env.complete()
	}
	if err != nil {
		return nil, fmt.Errorf("hibench: checkout %s: %w", env.Checkout, err)
	}
	scripts := map[string]error{}
	for _, name := range found {
		s := Spec{
			Workload: Script, Script: strings.TrimSuffix(strings.TrimPrefix(name, "bin/workloads/"), "/hadoop/run.sh"),
			Profile: "tiny",
		}
		if scripts[s.Script] = s.Validate(); scripts[s.Script] == nil {
			r := &Runner{env: env, spec: s, w: s.workload()}
			scripts[s.Script] = r.checkCheckout()
		}
	}
	return scripts, nil
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
