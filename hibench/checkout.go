package hibench

import (
	"context"
	"fmt"
	"maps"
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

// debianPackage says which Debian package contains each program that HiBench's
// scripts need, for error messages.
var debianPackage = map[string]string{"bash": "bash", "bc": "bc", "which": "debianutils", "expr": "coreutils", "sleep": "coreutils"}

// The pattern plainPath matches file paths that HiBench's scripts can use. The
// scripts do not quote paths, so a path with blanks would fail.
var plainPath = regexp.MustCompile(`^[A-Za-z0-9_./:@%+,=~-]*$`)

// The pattern plainValue matches property values that can stand in a conf file
// of HiBench: one line, without characters that mean something to HiBench,
// Python or a shell.
var plainValue = regexp.MustCompile(`^[A-Za-z0-9_./:@%+,=~ -]*$`)

// The method script returns the path of HiBench's script for a step of the
// workload: a prepare.sh or run.sh in the checkout.
func (r *Runner) script(s step) string {
	name := filepath.Join("hadoop", "run.sh")
	if s == stepPrepare {
		name = filepath.Join("prepare", "prepare.sh")
	}
	return filepath.Join("bin", "workloads", r.w.group, r.spec.Workload, name)
}

func (r *Runner) workloadConf() string {
	return filepath.Join("conf", "workloads", r.w.group, r.spec.Workload+".conf")
}

// checkCheckout returns an error if HiBench's checkout lacks a file, or this
// host lacks a program, that HiBench's scripts need.
func (r *Runner) checkCheckout() error {
	for _, p := range []string{r.env.Checkout, r.env.RunDir, r.env.HadoopHome, r.env.DataDir} {
		if !plainPath.MatchString(p) {
			return fmt.Errorf("hibench: path %q: HiBench's scripts do not support blanks and special characters; want letters, digits and _./:@%%+,=~-", p)
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
	searchPath := ""
	for _, v := range r.env.Vars {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			searchPath = value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(debianPackage)) {
		if _, err := findProgram(name, searchPath); err != nil {
			return fmt.Errorf("hibench: HiBench's scripts need %s: %w; on Debian: apt install %s", name, err, debianPackage[name])
		}
	}
	return nil
}

// hibenchCommand sets up a process that runs the HiBench script of a step
// (prepare or run). The script runs in a folder of links that looks like a
// HiBench checkout.
func (r *Runner) hibenchCommand(ctx context.Context, c *client, s step, conf, output string) error {
	if err := r.linkFarm(c.folder, "hibench", s); err != nil {
		return fmt.Errorf("folder for HiBench: %w", err)
	}
	if err := r.writeConf(c.folder, "hibench-conf", c.dir, conf); err != nil {
		return fmt.Errorf("configuration for HiBench: %w", err)
	}
	farm, confDir := filepath.Join(c.dir, "hibench"), filepath.Join(c.dir, "hibench-conf")
	script := filepath.Join(farm, r.script(s))
	req := confRequest{
		home: farm, confDir: confDir, vars: c.vars, folder: filepath.Dir(script),
		workloadConf: filepath.Join(r.env.Checkout, r.workloadConf()),
	}
	if output != "" {
		req.patch = []Setting{{"hibench.workload.output", output}}
	}
	vars, file, err := loadConf(req)
	if err != nil {
		return err
	}
	for _, want := range append(r.sizes(), Setting{"INPUT_HDFS", r.inputPath()}) {
		if vars[want.Name] != want.Value {
			return fmt.Errorf("HiBench checkout %s: %s: its %s is %s, want %s: its files are not those of commit 53ac935",
				r.env.Checkout, r.spec, want.Name, vars[want.Name], want.Value)
		}
	}
	if err := r.addPrograms(ctx, c.folder, "hibench", s); err != nil {
		return fmt.Errorf("folder for HiBench: %w", err)
	}
	name, err := filepath.Rel(c.dir, file)
	if err == nil {
		err = writeShellVars(c.folder, name, vars)
	}
	if err != nil {
		return fmt.Errorf("configuration for HiBench: write %s: %w", file, err)
	}
	loader := filepath.Join("hibench", "bin", "functions", "load_config.py")
	if err := c.folder.WriteFile(loader, []byte("#!/bin/sh\nprintf '%s\\n' "+quote(file)+"\n"), 0o700); err != nil {
		return fmt.Errorf("folder for HiBench: %w", err)
	}
	c.argv = []string{script}
	c.vars = append(slices.Clone(c.vars), "HIBENCH_CONF_FOLDER="+confDir)
	return nil
}

// sizes returns the variables with the size of the workload that HiBench's
// scripts must get.
func (r *Runner) sizes() []Setting {
	if r.spec.Workload == Pagerank {
		return []Setting{{"PAGES", decimal(r.spec.dataSize())}, {"NUM_ITERATIONS", strconv.Itoa(r.spec.Iterations())}, {"BLOCK", "0"}}
	}
	if !SQL(r.spec.Workload) {
		return []Setting{{"DATASIZE", decimal(r.spec.dataSize())}}
	}
	t := r.spec.source()
	return []Setting{{"USERVISITS", decimal(t.Visits)}, {"PAGES", decimal(t.Pages)}}
}

// linkFarm makes the folder farm with links to those parts of HiBench's
// checkout that a step (prepare or run) uses. The script finds its functions
// through its parent folders. So these are real folders and not links.
func (r *Runner) linkFarm(folder *os.Root, farm string, s step) error {
	if err := folder.RemoveAll(farm); err != nil {
		return err
	}
	functions, script := filepath.Join("bin", "functions"), r.script(s)
	for _, dir := range []string{functions, filepath.Dir(script)} {
		if err := folder.MkdirAll(filepath.Join(farm, dir), 0o700); err != nil {
			return err
		}
	}
	links := []string{"conf", script}
	entries, err := os.ReadDir(filepath.Join(r.env.Checkout, functions))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != "load_config.py" && e.Name() != "monitor.py" {
			links = append(links, filepath.Join(functions, e.Name()))
		}
	}
	for _, name := range links {
		if err := folder.Symlink(filepath.Join(r.env.Checkout, name), filepath.Join(farm, name)); err != nil {
			return err
		}
	}
	return folder.WriteFile(filepath.Join(farm, functions, "monitor.py"), []byte(monitorScript), 0o700)
}

// writeConf makes a configuration folder for HiBench: links to the checkout's
// conf files, and one more conf file with this run's settings, which HiBench
// reads last.
func (r *Runner) writeConf(folder *os.Root, confDir, tagDir, hadoopConf string) error {
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
	} else if profile == "" && r.spec.Workload == Pagerank {
		profile, pages = "custom", decimal(r.spec.dataSize())
	} else if profile == "" {
		profile, size = "custom", decimal(r.spec.dataSize())
	}
	var b strings.Builder
	for _, p := range []Setting{
		{"hibench.scale.profile", profile},
		{"hibench." + r.spec.Workload + ".custom.datasize", size},
		{"hibench." + r.spec.Workload + ".custom.uservisits", visits},
		{"hibench." + r.spec.Workload + ".custom.pages", pages},
		{"hibench.pagerank.custom.num_iterations", strconv.Itoa(Spec{Workload: Pagerank, Profile: r.spec.Profile}.Iterations())},
		{"hibench.pagerank.custom.block", "0"}, // ranks without blocks of pages, as in all profiles
		{"hibench.pagerank.custom.block_width", "16"},
		{"hibench.hive.home", filepath.Join(tagDir, "hive")},
		{"hibench.hive.release", hiveRelease},
		{"hibench.hibench.datatool.dir", filepath.Join(tagDir, dataGenJar)},
		{"hibench.default.map.parallelism", strconv.Itoa(r.spec.Maps)},
		{"hibench.default.shuffle.parallelism", strconv.Itoa(r.spec.Reduces)},
		{"hibench.hdfs.master", ""}, // the value is empty, so that HDFS paths without a scheme are in Hadoop's default file system
		{"hibench.hdfs.data.dir", r.dataDir()},
		{"hibench.report.dir", filepath.Join(tagDir, "report")},
		{"hibench.hadoop.home", r.env.HadoopHome},
		{"hibench.hadoop.executable", filepath.Join(r.env.HadoopHome, "bin", "hadoop")},
		{"hibench.hadoop.configure.dir", hadoopConf},
		{"hibench.hadoop.release", "apache"},
		{"hibench.hadoop.examples.jar", r.jar},
		{"hibench.hadoop.examples.test.jar", "/none"}, // HiBench requires a path of the tests jar, though the workloads here do not use this jar
		{"hibench.sleep.job.jar", "/none"},
		{"hibench.masters.hostnames", "localhost"},
		{"hibench.slaves.hostnames", strings.Join(r.env.Workers, " ")},
	} {
		if !plainValue.MatchString(p.Value) {
			return fmt.Errorf("%s: value %q: HiBench supports letters, digits, blanks and _./:@%%+,=~- only", p.Name, p.Value)
		}
		fmt.Fprintf(&b, "%-36s %s\n", p.Name, p.Value)
	}
	return folder.WriteFile(filepath.Join(confDir, "zz-heddle.conf"), []byte(b.String()), 0o600)
}
