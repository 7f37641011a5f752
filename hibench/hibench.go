// Package hibench prepares, runs and checks the HiBench workloads wordcount,
// sort and terasort on a Hadoop cluster, in two ways that give the same jobs:
// with the examples jar of the cluster's own Hadoop (the default), or through
// the scripts of a real HiBench checkout, unbuilt and unedited.
//
// Every job carries a tag. The package knows no YARN: it hands back the tag,
// and whoever wants the jobs, their times and their success asks YARN for the
// applications under it. It does not kill applications either: a client that
// is stopped leaves its application running, and the caller kills by tag.
//
// Left out: HiBench's other workloads, its monitor and its charts.
package hibench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Env is the place where workloads run.
type Env struct {
	HadoopHome string     // folder with bin/hadoop and share/hadoop/mapreduce/hadoop-mapreduce-examples-*.jar
	ConfDir    string     // the cluster's client configuration (core-site.xml and so on)
	User       string     // user of the jobs, for clusters without Kerberos; empty: whoever the client runs as
	Vars       []string   // the client's whole environment, KEY=VALUE; nil: ClientVars(os.Environ())
	FS         FileSystem // the cluster's HDFS
	DataDir    string     // absolute folder in HDFS; everything the package writes there is below it
	RunDir     string     // local folder for logs, configuration and reports, one folder a tag

	Sums *Sums // what checks know of inputs; nil: every check reads the whole input

	Checkout string   // root of a HiBench checkout; empty: the jobs are started without HiBench
	Master   string   // host name of the master, as HiBench reports want it; empty: "localhost"
	Workers  []string // host names of the workers; HiBench divides its throughput per node by their number
}

// Runner is one workload on one cluster. It may be used for many runs, also at
// the same time, as long as their tags differ.
type Runner struct {
	env  Env
	spec Spec
	w    workload
	jar  string // the examples jar
}

// Data says what a workload reads.
type Data struct {
	Tag    string // tag of the jobs that made it, perhaps in an earlier run
	Path   string // folder in HDFS
	Bytes  int64  // length of its files
	Files  int
	Reused bool // it was there already
}

// Result is what the client of one run saw. Start and End are its wall clock,
// start-up of the JVM included: the job's own times are YARN's.
type Result struct {
	Tag        string
	Start, End time.Time
	InputPath  string // folder in HDFS
	OutputPath string // folder in HDFS
	InputBytes int64
	Report     *Report // HiBench's report line; nil without a checkout
	Log        string  // file with the client's output
	ExitCode   int     // -1: it was stopped by a signal
}

// New checks env and spec and looks for the programs that they need. It starts
// nothing and does not touch HDFS.
func New(env Env, spec Spec) (*Runner, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	spec = spec.withDefaults()
	if env.Vars == nil {
		env.Vars = ClientVars(os.Environ())
	}
	if env.User != "" {
		env.Vars = append(slices.Clone(env.Vars), "HADOOP_USER_NAME="+env.User)
	}
	if !path.IsAbs(env.DataDir) || path.Clean(env.DataDir) == "/" {
		return nil, fmt.Errorf("hibench: data folder %q: want an absolute folder in HDFS below /", env.DataDir)
	}
	for _, p := range []*string{&env.HadoopHome, &env.ConfDir, &env.RunDir, &env.Checkout} {
		if *p == "" {
			continue
		}
		abs, err := filepath.Abs(*p)
		if err != nil {
			return nil, fmt.Errorf("hibench: %w", err)
		}
		*p = abs
	}
	for _, host := range append([]string{env.Master}, env.Workers...) {
		if host != "" && !hostName.MatchString(host) {
			return nil, fmt.Errorf("hibench: host name %q: want letters, digits and ._:-, no dot or dash first", host)
		}
	}
	jar, err := findHadoop(env.HadoopHome)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(env.ConfDir, "core-site.xml")); err != nil {
		return nil, fmt.Errorf("hibench: configuration of the cluster: %w", err)
	}
	r := &Runner{env: env, spec: spec, w: workloads[spec.Workload], jar: jar}
	if env.Checkout != "" {
		if err := r.checkCheckout(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Prepare makes the workload's input, or finds that the same input is there
// already. Its jobs carry tag + "-prep". The same data must not be prepared
// twice at the same time.
func (r *Runner) Prepare(ctx context.Context, tag string) (Data, error) {
	if err := checkTag(tag); err != nil {
		return Data{}, err
	}
	if d, err := r.existingData(); err != nil || d.Reused {
		return d, err
	}
	// Without its marker a half-made input is never taken for a whole one.
	if err := r.removeAll(r.markerPath(), r.inputPath()); err != nil {
		return Data{}, err
	}
	tag += "-prep"
	if _, err := r.start(ctx, stepPrepare, tag, ""); err != nil {
		return Data{}, fmt.Errorf("hibench: prepare %s: %w", r.spec, err)
	}
	return r.markData(ctx, tag)
}

// Run runs the workload once; its job carries the tag, and settings besides
// those of the Spec. An output of an earlier run under the same tag is removed
// first. The Result is filled as far as the run came, also with an error.
// Give ctx a deadline: a job that finds no room on the cluster waits for ever.
func (r *Runner) Run(ctx context.Context, tag string, settings ...Setting) (Result, error) {
	res := Result{Tag: tag, InputPath: r.inputPath(), OutputPath: r.outputPath(tag), ExitCode: -1}
	if err := checkTag(tag); err != nil {
		return res, err
	}
	if err := r.spec.checkSettings(settings); err != nil {
		return res, err
	}
	var err error
	if res.InputBytes, _, err = folderSize(r.env.FS, res.InputPath); err != nil {
		return res, fmt.Errorf("hibench: run %s: input (has it been prepared?): %w", r.spec, err)
	}
	if err := r.removeAll(res.OutputPath); err != nil {
		return res, err
	}
	c, err := r.start(ctx, stepRun, tag, res.OutputPath, settings...)
	res.Start, res.End, res.Log, res.ExitCode = c.start, c.end, c.log, c.code
	if err != nil {
		return res, fmt.Errorf("hibench: run %s: %w", r.spec, err)
	}
	if r.env.Checkout != "" {
		if res.Report, err = readReport(filepath.Join(r.tagDir(tag), "report", "hibench.report")); err != nil {
			return res, fmt.Errorf("hibench: run %s: %w", r.spec, err)
		}
	}
	return res, nil
}

// Clean removes the output of the run with that tag from HDFS.
func (r *Runner) Clean(tag string) error {
	if err := checkTag(tag); err != nil {
		return err
	}
	return r.removeAll(r.outputPath(tag), r.checkPath(tag))
}

// Remove removes the workload's input and all outputs from HDFS.
func (r *Runner) Remove() error {
	return r.removeAll(r.markerPath(), r.workDir())
}

// step is one of the things that a workload starts on the cluster.
type step int

const (
	stepPrepare step = iota
	stepRun
	stepCheck
)

// compressOutput is off in HiBench, whatever the cluster's own default is.
const compressOutput = "mapreduce.output.fileoutputformat.compress"

// start runs the client of one step to its end, with a configuration folder
// of its own that adds the tag and the settings to the cluster's.
func (r *Runner) start(ctx context.Context, s step, tag, output string, extra ...Setting) (client, error) {
	folder, err := r.openTagDir(tag)
	if err != nil {
		return client{code: -1}, err
	}
	defer folder.Close()
	settings := slices.Concat([]Setting{{compressOutput, "false"}}, r.spec.Settings, extra, []Setting{{"mapreduce.job.tags", tag}})
	if err := writeOverlay(folder, "conf", r.env.ConfDir, settings); err != nil {
		return client{code: -1}, err
	}
	dir := r.tagDir(tag)
	conf := filepath.Join(dir, "conf")
	c := client{folder: folder, dir: dir, log: filepath.Join(dir, logName), vars: r.env.Vars, tag: tag, grace: stopGrace, code: -1}
	if r.env.Checkout != "" && s != stepCheck {
		if err := r.hibenchCommand(&c, s, conf, output); err != nil {
			return c, err
		}
	} else {
		c.argv = append([]string{filepath.Join(r.env.HadoopHome, "bin", "hadoop"), "--config", conf, "jar", r.jar},
			r.jobArgs(s, tag, output)...)
	}
	return c, c.run(ctx)
}

// jobArgs is what follows the jar on the command line.
func (r *Runner) jobArgs(s step, tag, output string) []string {
	switch s {
	case stepPrepare:
		return r.spec.prepareArgs(r.inputPath())
	case stepRun:
		return r.spec.runArgs(r.inputPath(), output)
	default:
		return []string{"teravalidate", output, r.checkPath(strings.TrimSuffix(tag, "-check"))}
	}
}

// The folders. What shapes the data is in their name, so that workloads of
// two sizes, or with two block sizes, do not take turns at destroying each
// other's input; below it the names are HiBench's.

func (r *Runner) dataDir() string    { return path.Join(r.env.DataDir, r.spec.dataName()) }
func (r *Runner) workDir() string    { return path.Join(r.dataDir(), r.w.folder) }
func (r *Runner) inputPath() string  { return path.Join(r.workDir(), "Input") }
func (r *Runner) markerPath() string { return path.Join(r.workDir(), "Input.json") }

func (r *Runner) outputPath(tag string) string { return path.Join(r.workDir(), "Output-"+tag) }
func (r *Runner) checkPath(tag string) string  { return path.Join(r.workDir(), "Check-"+tag) }
func (r *Runner) tagDir(tag string) string     { return filepath.Join(r.env.RunDir, tag) }

// openTagDir makes a tag's folder. It is written through the os.Root, so that a
// link in it leads nowhere else; and nobody else may read it, since settings
// may hold passwords.
func (r *Runner) openTagDir(tag string) (*os.Root, error) {
	if err := os.MkdirAll(r.env.RunDir, 0o700); err != nil {
		return nil, fmt.Errorf("hibench: %w", err)
	}
	root, err := os.OpenRoot(r.env.RunDir)
	if err != nil {
		return nil, fmt.Errorf("hibench: %w", err)
	}
	defer root.Close()
	if err := root.MkdirAll(tag, 0o700); err != nil {
		return nil, fmt.Errorf("hibench: folder %s: %w", r.tagDir(tag), err)
	}
	folder, err := root.OpenRoot(tag)
	if err != nil {
		return nil, fmt.Errorf("hibench: folder %s: %w", r.tagDir(tag), err)
	}
	return folder, nil
}

func (r *Runner) removeAll(names ...string) error {
	for _, name := range names {
		if err := r.env.FS.RemoveAll(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("hibench: remove %s from HDFS: %w", name, err)
		}
	}
	return nil
}

// hostName is a name or an address. Names of workers come from the cluster and
// end up in HiBench's shell variables; one that begins with a dash would be an
// option of whatever takes it as an argument.
var hostName = regexp.MustCompile(`^[A-Za-z0-9_:][A-Za-z0-9._:-]{0,254}$`)

// YARN keeps tags in lower case and at most 100 long; ours gets a suffix.
var tagPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,79}$`)

func checkTag(tag string) error {
	if !tagPattern.MatchString(tag) {
		return fmt.Errorf("hibench: tag %q: want 1 to 80 of a-z, 0-9, '.', '_', '-', a letter or digit first", tag)
	}
	return nil
}

// findHadoop returns the examples jar of the distribution in home.
func findHadoop(home string) (string, error) {
	if info, err := os.Stat(filepath.Join(home, "bin", "hadoop")); err != nil {
		return "", fmt.Errorf("hibench: hadoop home: %w", err)
	} else if info.Mode()&0o111 == 0 {
		return "", fmt.Errorf("hibench: hadoop home: %s is not executable", filepath.Join(home, "bin", "hadoop"))
	}
	pattern := filepath.Join(home, "share", "hadoop", "mapreduce", "hadoop-mapreduce-examples-*.jar")
	jars, err := filepath.Glob(pattern)
	if err != nil {
		return "", fmt.Errorf("hibench: hadoop home %s: %w", home, err)
	}
	if len(jars) != 1 {
		return "", fmt.Errorf("hibench: hadoop home: want one examples jar, %d files match %s", len(jars), pattern)
	}
	return jars[0], nil
}
