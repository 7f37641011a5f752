package hibench

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// heddle never changes the user's HiBench checkout. For each prepare or run of
// a workload, it makes a folder that looks like a checkout. The scripts in it
// are links to the checkout, but two Python programs are replaced. The
// configuration in it consists of the checkout's own conf files and one more,
// which HiBench reads last. HiBench writes its reports to another folder.

// monitorScript replaces HiBench's monitor.py, which would connect to all
// worker hosts. HiBench's scripts kill the process whose id it prints.
const monitorScript = "#!/bin/sh\nsleep 86400 >/dev/null 2>&1 </dev/null &\necho $!\n"

// The pattern plainPath matches file paths that HiBench's scripts can use. The
// scripts do not quote paths, so a path with blanks would fail.
var plainPath = regexp.MustCompile(`^[A-Za-z0-9_./:@%+,=~-]*$`)

// The pattern plainValue matches property values that can stand in a conf file
// of HiBench: one line, without characters that mean something to HiBench,
// Python or a shell.
var plainValue = regexp.MustCompile(`^[A-Za-z0-9_./:@%+,=~ -]*$`)

func (r *Runner) workloadConf() string {
	return filepath.Join("conf", "workloads", r.w.group, r.name()+".conf")
}

// checkCheckout returns an error if HiBench's checkout lacks a file, or this
// host lacks a program, that the workload's scripts need.
func (r *Runner) checkCheckout() error {
	if r.env.Checkout == "" {
		return fmt.Errorf("hibench: %s: HiBench's scripts run it; want a HiBench checkout, such as hibench: DIR in the cluster file",
			r.spec.Script)
	}
	for _, p := range []string{r.env.Checkout, r.env.RunDir, r.env.HadoopHome, r.env.DataDir} {
		if !plainPath.MatchString(p) {
			return fmt.Errorf("hibench: path %q: HiBench's scripts do not support blanks and special characters; want letters, digits "+
				"and _./:@%%+,=~-", p)
		}
	}
	for _, name := range []string{
		"conf/hibench.conf", r.workloadConf(), r.script(stepPrepare), r.script(stepRun),
		"bin/functions/load_config.py", "bin/functions/monitor.py", "bin/functions/workload_functions.sh",
	} {
		if _, err := os.Stat(filepath.Join(r.env.Checkout, name)); err != nil {
			return fmt.Errorf("hibench: checkout %s: it is no HiBench checkout: %w", r.env.Checkout, err)
		}
	}
	return r.checkPrograms()
}

// hibenchCommand sets up a process that runs the HiBench script of a step
// (prepare or run). The script runs in a folder of links that looks like a
// HiBench checkout.
func (r *Runner) hibenchCommand(ctx context.Context, c *client, s step, output string) error {
	const farmName, hibenchConf, reports = "hibench", "hibench-conf", "report"
	if err := c.folder.RemoveAll(reports); err != nil {
		return fmt.Errorf("folder of HiBench's report: %w", err)
	}
	if err := r.linkFarm(c.folder, farmName); err != nil {
		return fmt.Errorf("folder for HiBench: %w", err)
	}
	if err := r.writeConf(c.folder, hibenchConf, c.dir, s); err != nil {
		return fmt.Errorf("configuration for HiBench: %w", err)
	}
	farm, confDir := filepath.Join(c.dir, farmName), filepath.Join(c.dir, hibenchConf)
	loader, err := r.loader(output)
	if err != nil {
		return err
	}
	functions := filepath.Join(farmName, "bin", "functions")
	if err := c.folder.WriteFile(filepath.Join(functions, "load_config.py"), loader, 0o700); err != nil {
		return fmt.Errorf("folder for HiBench: %w", err)
	}
	script := filepath.Join(farm, r.script(s))
	file, err := r.env.output(ctx, filepath.Join(c.dir, functions, "load_config.py"), confDir, filepath.Join(farm, r.workloadConf()),
		filepath.Dir(script))
	if err != nil {
		return fmt.Errorf("HiBench's configuration: %w", err)
	}
	vars, err := shellVars(strings.TrimSpace(file))
	if err != nil {
		return fmt.Errorf("HiBench's configuration: %w", err)
	}
	for _, want := range append(r.sizes(), Setting{"INPUT_HDFS", r.inputPath()}) {
		if vars[want.Name] != want.Value {
			return fmt.Errorf("HiBench checkout %s: %s: its %s is %s, want %s: its files are not those of commit 53ac935",
				r.env.Checkout, r.spec, want.Name, vars[want.Name], want.Value)
		}
	}
	if err := r.addPrograms(ctx, c, s, vars); err != nil {
		return fmt.Errorf("folder for HiBench: %w", err)
	}
	c.argv = []string{script}
	c.vars = append(slices.Clone(c.vars), "HIBENCH_CONF_FOLDER="+confDir)
	return nil
}

// python3 makes HiBench's load_config.py, which is written for Python 2, one for Python 3.
// It asks no name server for host names.
var python3 = strings.NewReplacer(
	"/env python2\n", "/env python3\n",
	"print export_config(workload_name, framework_name)", "print(export_config(workload_name, framework_name))",
	"HiBenchEnvPropMappingMandatory.items() + HiBenchEnvPropMapping.items()", "list(HiBenchEnvPropMappingMandatory.items()) + "+
		"list(HiBenchEnvPropMapping.items())",
	"in HibenchConf.items():", "in list(HibenchConf.items()):",
	"in HibenchConf.keys():", "in list(HibenchConf.keys()):",
	"socket.gethostbyaddr(name)[0]", "name",
)

// loader returns the text of HiBench's load_config.py, in which the settings of this run
// win over those of all files.
func (r *Runner) loader(output string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(r.env.Checkout, "bin", "functions", "load_config.py"))
	if err != nil {
		return nil, fmt.Errorf("HiBench's configuration: %w", err)
	}
	const none = "patching_config = ''"
	if !strings.Contains(string(text), none) {
		return nil, fmt.Errorf("HiBench checkout %s: bin/functions/load_config.py is not that of commit 53ac935", r.env.Checkout)
	}
	var own []string
	if output != "" {
		own = append(own, "hibench.workload.output="+output)
	}
	if r.w.program == Scripts {
		own = append(own, "hibench.workload.input="+r.inputPath())
	}
	return []byte(strings.Replace(python3.Replace(string(text)), none, "patching_config = '"+strings.Join(own, ",")+"'", 1)), nil
}

// shellVars returns the variables that a file with assignments gives to HiBench's scripts.
func shellVars(file string) (map[string]string, error) {
	text, err := os.ReadFile(file)
	vars := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		vars[name] = value
	}
	return vars, err
}

// sizes returns the variables with the size of the workload that HiBench's
// scripts must get. The sizes of other scripts are not known.
func (r *Runner) sizes() []Setting {
	switch {
	case r.w.program == Scripts:
		return nil
	case SQL(r.spec.Workload):
		t := r.spec.source()
		return []Setting{{"USERVISITS", decimal(t.Visits)}, {"PAGES", decimal(t.Pages)}}
	}
	return []Setting{{"DATASIZE", decimal(r.spec.dataSize())}}
}

// linkFarm makes the folder farm, which looks like HiBench's checkout: its folders are
// real, since scripts find their functions through parent folders and write below them,
// and its files are links. Sources and hidden folders are left out.
func (r *Runner) linkFarm(folder *os.Root, farm string) error {
	if err := folder.RemoveAll(farm); err != nil {
		return err
	}
	own := []string{filepath.Join("bin", "functions", "load_config.py"), filepath.Join("bin", "functions", "monitor.py")}
	err := fs.WalkDir(os.DirFS(r.env.Checkout), ".", func(name string, e fs.DirEntry, err error) error {
		switch base := e.Name(); {
		case err != nil:
			return err
		case e.IsDir() && (base == "src" || base != "." && base[0] == '.'):
			return fs.SkipDir
		case e.IsDir():
			return folder.MkdirAll(filepath.Join(farm, name), 0o700)
		case slices.Contains(own, name):
			return nil
		}
		return folder.Symlink(filepath.Join(r.env.Checkout, name), filepath.Join(farm, name))
	})
	if err != nil {
		return err
	}
	return folder.WriteFile(filepath.Join(farm, own[1]), []byte(monitorScript), 0o700)
}

// writeConf makes a configuration folder for HiBench: links to the checkout's
// conf files, and one more conf file with this run's settings, which HiBench
// reads last.
func (r *Runner) writeConf(folder *os.Root, confDir, tagDir string, s step) error {
	if err := folder.RemoveAll(confDir); err != nil {
		return err
	}
	if err := folder.Mkdir(confDir, 0o700); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(r.env.Checkout, "conf", "*.conf"))
	if err != nil {
		return err
	}
	for _, name := range files {
		if err := folder.Symlink(name, filepath.Join(confDir, filepath.Base(name))); err != nil {
			return err
		}
	}
	profile, size, visits, pages := r.spec.Profile, "", "", ""
	if profile == "" && SQL(r.spec.Workload) {
		t := r.spec.source()
		profile, visits, pages = "custom", decimal(t.Visits), decimal(t.Pages)
	} else if profile == "" {
		profile, size = "custom", decimal(r.spec.dataSize())
	}
	tests := cmp.Or(r.env.Tests, "/none") // HiBench requires a path of the tests jar, though few workloads use it
	var b strings.Builder
	list := []Setting{
		{"hibench.scale.profile", profile},
		{"hibench." + r.name() + ".custom.datasize", size},
		{"hibench." + r.name() + ".custom.uservisits", visits},
		{"hibench." + r.name() + ".custom.pages", pages},
		{"hibench.hive.home", filepath.Join(tagDir, "hive")},
		{"hibench.hive.release", ownRelease},
		{"hibench.mahout.home", filepath.Join(tagDir, "mahout")},
		{"hibench.mahout.release", ownRelease},
		{"hibench.default.map.parallelism", strconv.Itoa(r.spec.Maps)},
		{"hibench.default.shuffle.parallelism", strconv.Itoa(r.spec.Reduces)},
		{"hibench.hdfs.master", ""}, // the value is empty, so that HDFS paths without a scheme are in Hadoop's default file system
		{"hibench.hdfs.data.dir", r.dataDir()},
		{"hibench.report.dir", filepath.Join(tagDir, "report")},
		{"hibench.hadoop.home", r.env.HadoopHome},
		{"hibench.hadoop.executable", filepath.Join(r.env.HadoopHome, "bin", "hadoop")},
		{"hibench.hadoop.configure.dir", filepath.Join(tagDir, confName)},
		{"hibench.hadoop.release", "apache"},
		{"hibench.hadoop.examples.jar", r.jar},
		{"hibench.hadoop.examples.test.jar", tests},
		{"hibench.sleep.job.jar", tests},
		{"hibench.masters.hostnames", "localhost"},
		{"hibench.slaves.hostnames", strings.Join(r.env.Workers, " ")},
	}
	if s == stepPrepare {
		list = append(list, Setting{"hibench.spark.home", filepath.Join(tagDir, "spark")}) // see sparkScript
	}
	for _, p := range list {
		if !plainValue.MatchString(p.Value) {
			return fmt.Errorf("%s: value %q: HiBench supports letters, digits, blanks and _./:@%%+,=~- only", p.Name, p.Value)
		}
		fmt.Fprintf(&b, "%-36s %s\n", p.Name, p.Value)
	}
	return folder.WriteFile(filepath.Join(confDir, "zz-heddle.conf"), []byte(b.String()), 0o600)
}
