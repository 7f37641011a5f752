// Package hibench prepares, runs and checks HiBench's workloads on a Hadoop
// cluster: wordcount, sort and terasort, and the SQL queries join, aggregation
// and scan, which Hive runs as MapReduce jobs. It can do so in two ways: with
// the examples jar of the cluster's Hadoop and with its own queries (the
// default), or through the scripts of a HiBench checkout, which need not be
// built. For the first three, both ways run the same jobs. sleep and dfsioe always
// run from the jar with the tests of Hadoop's MapReduce client. pagerank needs a
// checkout. kmeans and bayes always run from Mahout's jars. Another workload,
// grep, always runs from the examples jar, since HiBench has no grep. A [Jar] is
// a program of the user's own, of which the package knows nothing.
//
// Every job has a YARN tag. The package does not use YARN itself: it returns
// the tag, and the caller asks YARN for the tag's applications, their times and
// their success. It does not kill applications either. A client that is stopped
// leaves its application running, and the caller kills it by its tag.
//
// HiBench's other workloads, its monitor and its charts are not supported.
//
// Words:
//
//   - client: the process that submits a job and waits for it
//   - step: one thing that a workload runs: prepare, run or check
//   - link farm: a folder of links that looks like a HiBench checkout
//   - marker: a file beside an input that describes it
//   - stage: one of the MapReduce jobs that Hive runs for a query, one after
//     the other
package hibench

import (
	"cmp"
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

// Env says on which cluster the workloads run and which local folders they use.
type Env struct {
	HadoopHome string     // the folder with bin/hadoop and share/hadoop/mapreduce/hadoop-mapreduce-examples-*.jar
	ConfDir    string     // the folder with the cluster's client configuration (core-site.xml and so on)
	User       string     // Hadoop user of the jobs, for clusters without Kerberos; empty means the user of this process
	Vars       []string   // the whole environment of client processes, each variable as KEY=VALUE; nil means ClientVars(os.Environ())
	FS         FileSystem // the cluster's HDFS
	DataDir    string     // the HDFS folder, as an absolute path, for everything that the package writes to HDFS
	RunDir     string     // the local folder for logs, configuration and reports; it gets one folder for each YARN tag

	Sums *Sums // checksums and word counts of inputs, kept for later checks; nil means that every check reads the whole input

	Hive  string // the folder with Hive's jars, for the workloads join, aggregation and scan
	Tests string // the jar with the tests of Hadoop's MapReduce client, for sleep and dfsioe; empty means that of HadoopHome

	Mahout string // the folder with Mahout's jars, for kmeans and bayes

	Checkout string   // the folder of a HiBench checkout; empty means that jobs run without HiBench
	Workers  []string // host names of the cluster's workers, for HiBench's reports; HiBench divides its throughput by their number
}

// Runner prepares, runs and checks one workload on one cluster. It may be used
// for many runs, and for several at the same time if their YARN tags differ.
type Runner struct {
	env  Env
	spec Spec
	w    workload
	jar  string // path of the jar that has the workload's program: Hadoop's examples, unless the workload says otherwise
}

// Data describes the input of a workload.
type Data struct {
	Tag    string // YARN tag of the jobs that made the input; an earlier run may have made it
	Path   string // the input's folder in HDFS
	Bytes  int64  // the length of the input's files in bytes
	Files  int
	Reused bool // true if the input existed already and was used again
}

// Result is what the client process of one job reported. Start and End are
// times by the client's clock and include the start of its JVM. They are not
// the job's own times, for which YARN must be asked.
type Result struct {
	Tag        string
	Start, End time.Time
	InputPath  string // the input's folder in HDFS
	OutputPath string // the output's folder in HDFS
	InputBytes int64
	Report     string // the last line of HiBench's file hibench.report; empty if the job ran without HiBench's scripts
	Log        string // the file with the client's output
	ExitCode   int    // exit status of the client process; -1 if a signal ended it
}

// New returns a Runner after it has checked env and spec and has found the
// programs that the workload needs. It starts no process and does not access
// HDFS.
func New(env Env, spec Spec) (*Runner, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	spec = spec.withDefaults()
	if err := env.complete(); err != nil {
		return nil, err
	}
	jar, err := findHadoop(env.HadoopHome)
	if err != nil {
		return nil, err
	}
	r := &Runner{env: env, spec: spec, w: workloads[spec.Workload], jar: jar}
	if SQL(spec.Workload) {
		if err := r.checkHive(); err != nil {
			return nil, err
		}
	}
	if spec.Workload == Grep || r.w.program == Tests || r.w.program == Mahout {
		r.env.Checkout = "" // HiBench has no grep, and see Sleep, DFSIOWrite and Kmeans
	}
	if r.w.program == Mahout {
		if _, err := env.mahoutJars(); err != nil {
			return nil, err
		}
	}
	if r.w.program == Sources && env.Checkout == "" {
		return nil, fmt.Errorf("hibench: %s: its program is a part of HiBench; want a HiBench checkout, such as hibench: DIR in the cluster file", spec.Workload)
	}
	if r.w.program == Tests {
		if r.jar, err = env.testsJar(); err != nil {
			return nil, err
		}
	}
	if r.env.Checkout != "" {
		if err := r.checkCheckout(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// complete checks the environment, and makes its paths absolute.
func (env *Env) complete() error {
	if env.Vars == nil {
		env.Vars = ClientVars(os.Environ())
	}
	if env.User != "" {
		env.Vars = append(slices.Clone(env.Vars), "HADOOP_USER_NAME="+env.User)
	}
	if !path.IsAbs(env.DataDir) || path.Clean(env.DataDir) == "/" {
		return fmt.Errorf("hibench: data folder %q: want an absolute folder in HDFS below /", env.DataDir)
	}
	for _, p := range []*string{&env.HadoopHome, &env.ConfDir, &env.RunDir, &env.Checkout, &env.Hive, &env.Mahout} {
		if *p == "" {
			continue
		}
		abs, err := filepath.Abs(*p)
		if err != nil {
			return fmt.Errorf("hibench: %w", err)
		}
		*p = abs
	}
	for _, host := range env.Workers {
		if !hostName.MatchString(host) {
			return fmt.Errorf("hibench: host name %q: want letters, digits and ._:-, first no dot or dash", host)
		}
	}
	if _, err := os.Stat(filepath.Join(env.ConfDir, "core-site.xml")); err != nil {
		return fmt.Errorf("hibench: configuration of the cluster: %w", err)
	}
	return nil
}

// readsNothing reports whether the workload has no input.
func (r *Runner) readsNothing() bool {
	return r.spec.Workload == Sleep || r.spec.Workload == DFSIOWrite
}

// Prepare makes the workload's input, unless the same input exists already. The
// Data are empty for a workload that has none. The
// jobs that make it have the YARN tag tag + "-prep". The same input must not be
// prepared twice at the same time.
func (r *Runner) Prepare(ctx context.Context, tag string) (Data, error) {
	if err := checkTag(tag); err != nil || r.readsNothing() {
		return Data{}, err
	}
	if d, err := r.existingData(); err != nil || d.Reused {
		return d, err
	}
	// if this fails, the unfinished input has no marker file, so no later run
	// uses it
	if err := r.env.removeAll(r.markerPath(), r.inputPath()); err != nil {
		return Data{}, err
	}
	tag += "-prep"
	var err error
	if SQL(r.spec.Workload) && r.env.Checkout == "" {
		err = r.writeTables(ctx)
	} else if r.spec.Workload == Kmeans {
		err = r.writePoints(ctx)
	} else if r.spec.Workload == Bayes {
		err = r.writePages(ctx)
	} else {
		_, err = r.start(ctx, stepPrepare, tag, "")
	}
	if said := (*ClientError)(nil); r.spec.Workload == Pagerank && errors.As(err, &said) && strings.Contains(strings.Join(said.Tail, " "), "ArrayIndexOutOfBounds") {
		err = fmt.Errorf("HiBench's generator of links fails for some numbers of pages, such as 300, and this may be one; take another: %w", err)
	}
	if err != nil {
		return Data{}, fmt.Errorf("hibench: prepare %s: %w", r.spec, err)
	}
	return r.markData(ctx, tag)
}

// Run runs the workload once. Its job has the given YARN tag, and settings in
// addition to those of the Spec. Run first removes the output of an earlier run
// with the same tag. After an error the Result contains what is known so far.
// ctx should have a deadline: a job that gets no containers waits for ever.
func (r *Runner) Run(ctx context.Context, tag string, settings ...Setting) (Result, error) {
	res := Result{Tag: tag, InputPath: r.inputPath(), OutputPath: r.outputPath(tag), ExitCode: -1}
	if err := checkTag(tag); err != nil {
		return res, err
	}
	if err := r.spec.checkSettings(settings); err != nil {
		return res, err
	}
	var err error
	if r.readsNothing() {
		res.InputPath = ""
	} else if res.InputBytes, _, err = folderSize(r.env.FS, r.mapInputPath()); err != nil {
		return res, fmt.Errorf("hibench: run %s: input (has it been prepared?): %w", r.spec, err)
	}
	if err := r.removeRun(tag); err != nil {
		return res, err
	}
	c, err := r.start(ctx, stepRun, tag, res.OutputPath, settings...)
	res.Start, res.End, res.Log, res.ExitCode = c.start, c.end, c.log, c.code
	if SQL(r.spec.Workload) {
		err = c.queryError(err)
	}
	if err != nil {
		return res, fmt.Errorf("hibench: run %s: %w", r.spec, err)
	}
	if r.env.Checkout != "" {
		text, err := os.ReadFile(filepath.Join(r.tagDir(tag), "report", "hibench.report"))
		if err != nil {
			return res, fmt.Errorf("hibench: run %s: read HiBench's report: %w", r.spec, err)
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		res.Report = strings.TrimRight(lines[len(lines)-1], "\r")
		if n := len(strings.Fields(res.Report)); n != 7 {
			return res, fmt.Errorf("hibench: run %s: HiBench's report line %q: %d columns, want 7", r.spec, res.Report, n)
		}
	}
	return res, nil
}

// Clean removes from HDFS the output of the run with the given YARN tag.
func (r *Runner) Clean(tag string) error {
	if err := checkTag(tag); err != nil {
		return err
	}
	return r.removeRun(tag)
}

// removeRun removes from HDFS what the run with the given YARN tag has written.
func (r *Runner) removeRun(tag string) error {
	written := []string{r.outputPath(tag), grepTemp(r.outputPath(tag)), r.checkPath(tag), r.hivePath(tag)}
	if r.spec.Workload == DFSIORead {
		written = append(written, dfsioOwn(r.inputPath())...)
	}
	return r.env.removeAll(written...)
}

// Remove removes the workload's input and all its outputs from HDFS.
func (r *Runner) Remove() error {
	return r.env.removeAll(r.markerPath(), r.workDir())
}

// step is one of the three things that a workload runs on the cluster: prepare,
// run or check.
type step int

const (
	stepPrepare step = iota
	stepRun
	stepCheck
)

// compressOutput is the Hadoop property that compresses a job's output. It is
// set to false as HiBench does, whatever the cluster's default.
const compressOutput = "mapreduce.output.fileoutputformat.compress"

// start runs the client process of one step (prepare, run or check) and waits
// for its end. The client gets its own configuration folder. This has the
// cluster's configuration and, in addition, the YARN tag and the settings.
func (r *Runner) start(ctx context.Context, s step, tag, output string, extra ...Setting) (client, error) {
	folder, err := r.env.openTagDir(tag)
	if err != nil {
		return client{code: -1}, err
	}
	defer folder.Close()
	settings := slices.Concat([]Setting{{compressOutput, "false"}}, r.hiveTaskSettings(), r.spec.Settings, extra, []Setting{{tagsProperty, tag}})
	if err := writeOverlay(folder, "conf", r.env.ConfDir, settings); err != nil {
		return client{code: -1}, err
	}
	dir := r.tagDir(tag)
	conf := filepath.Join(dir, "conf")
	c := client{folder: folder, dir: dir, log: filepath.Join(dir, logName), vars: r.env.Vars, tag: tag, grace: stopGrace, code: -1}
	if SQL(r.spec.Workload) {
		if err := r.writeHive(folder, tag, conf, slices.Concat(r.spec.Settings, extra)); err != nil {
			return c, err
		}
		defer func() { _ = folder.RemoveAll(filepath.Join("hive", "metastore_db")) }() // several MB that nobody needs
	}
	if r.env.Checkout != "" && s != stepCheck {
		if err := r.hibenchCommand(ctx, &c, s, conf, output); err != nil {
			return c, err
		}
	} else if SQL(r.spec.Workload) {
		if err := r.queryCommand(&c, output); err != nil {
			return c, err
		}
	} else {
		program := []string{"jar", r.jar}
		if r.w.program == Tests {
			// The main class that this jar names needs further jars of tests.
			program = []string{r.testsClass()}
			c.vars = withClassPath(c.vars, r.jar)
			if err := folder.Remove(dfsioName); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return c, err
			}
		}
		if r.w.program == Mahout {
			jars, err := r.env.mahoutJars()
			if err != nil {
				return c, err
			}
			program = []string{r.mahoutClass(), "-libjars", strings.Join(jars, ",")}
			c.vars = withClassPath(c.vars, strings.Join(jars, ":"))
		}
		c.argv = slices.Concat(r.env.hadoopCommand(conf), program, r.jobArgs(s, tag, output))
		if r.spec.Workload == Bayes {
			program[0] = trainClass
			c.argv = inTurn(c.argv, slices.Concat(r.env.hadoopCommand(conf), program, r.spec.trainArgs(output)))
		}
	}
	return c, c.run(ctx)
}

// testsClass returns the main class of a workload whose program is in the jar of tests.
func (r *Runner) testsClass() string {
	if r.spec.Workload == Sleep {
		return sleepClass
	}
	return dfsioClass
}

// withClassPath returns an environment of a client process in which Hadoop finds the
// classes of a jar, besides those that the environment names already.
func withClassPath(vars []string, jar string) []string {
	const name = "HADOOP_CLASSPATH="
	for i, v := range vars {
		if more, ok := strings.CutPrefix(v, name); ok {
			vars = slices.Delete(slices.Clone(vars), i, i+1)
			jar += ":" + more
			break
		}
	}
	return append(slices.Clone(vars), name+jar)
}

// hadoopCommand returns the command hadoop with a configuration folder.
func (env *Env) hadoopCommand(conf string) []string {
	return []string{filepath.Join(env.HadoopHome, "bin", "hadoop"), "--config", conf}
}

// hadoop runs the command hadoop with the given arguments and waits for its end. The
// jobs that it submits have the YARN tag and the settings.
func (env *Env) hadoop(ctx context.Context, tag string, settings []Setting, argv []string) (client, error) {
	folder, err := env.openTagDir(tag)
	if err != nil {
		return client{code: -1}, err
	}
	defer folder.Close()
	if err := writeOverlay(folder, "conf", env.ConfDir, slices.Concat(settings, []Setting{{tagsProperty, tag}})); err != nil {
		return client{code: -1}, err
	}
	dir := env.tagDir(tag)
	c := client{
		folder: folder, dir: dir, log: filepath.Join(dir, logName), vars: env.Vars, tag: tag, grace: stopGrace, code: -1,
		argv: slices.Concat(env.hadoopCommand(filepath.Join(dir, "conf")), argv),
	}
	return c, c.run(ctx)
}

// jobArgs returns the arguments that follow the jar in the command "hadoop jar"
// for a step (prepare, run or check).
func (r *Runner) jobArgs(s step, tag, output string) []string {
	switch s {
	case stepPrepare:
		return r.spec.prepareArgs(r.inputPath())
	case stepRun:
		args := r.spec.runArgs(r.inputPath(), output)
		if DFSIO(r.spec.Workload) {
			args = append(args, "-resFile", filepath.Join(r.tagDir(tag), dfsioName))
		}
		return args
	default:
		return []string{"teravalidate", output, r.checkPath(strings.TrimSuffix(tag, "-check"))}
	}
}

// openTagDir makes and opens the local folder for the run with the given YARN
// tag. Only the owner can read it, since settings may contain passwords. Files
// are opened through the returned os.Root, so that no link can lead to a file
// elsewhere.
func (env *Env) openTagDir(tag string) (*os.Root, error) {
	if err := os.MkdirAll(env.RunDir, 0o700); err != nil {
		return nil, fmt.Errorf("hibench: %w", err)
	}
	root, err := os.OpenRoot(env.RunDir)
	if err != nil {
		return nil, fmt.Errorf("hibench: %w", err)
	}
	defer root.Close()
	if err := root.MkdirAll(tag, 0o700); err != nil {
		return nil, fmt.Errorf("hibench: folder %s: %w", env.tagDir(tag), err)
	}
	folder, err := root.OpenRoot(tag)
	if err != nil {
		return nil, fmt.Errorf("hibench: folder %s: %w", env.tagDir(tag), err)
	}
	return folder, nil
}

func (env *Env) removeAll(names ...string) error {
	for _, name := range names {
		if err := env.FS.RemoveAll(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("hibench: remove %s from HDFS: %w", name, err)
		}
	}
	return nil
}

// The pattern hostName matches safe host names and addresses. The workers'
// names come from the cluster and are put into HiBench's shell variables. A
// name that starts with a hyphen is refused, as a program could take it for an
// option.
var hostName = regexp.MustCompile(`^[A-Za-z0-9_:][A-Za-z0-9._:-]{0,254}$`)

// The pattern tagPattern matches the YARN tags that a caller may choose. YARN
// stores tags in lower case with at most 100 characters. This package adds
// endings such as "-prep", for which there must be room.
var tagPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,79}$`)

func checkTag(tag string) error {
	if !tagPattern.MatchString(tag) {
		return fmt.Errorf("hibench: tag %q: want 1 to 80 of a-z, 0-9, '.', '_', '-', first a letter or digit", tag)
	}
	return nil
}

// TestsJar returns the path of the jar with the tests of Hadoop's MapReduce client in
// a Hadoop folder; empty if there is none.
func TestsJar(home string) string {
	jars, err := filepath.Glob(filepath.Join(home, "share", "hadoop", "mapreduce", "hadoop-mapreduce-client-jobclient-*-tests.jar"))
	if err != nil || len(jars) != 1 {
		return ""
	}
	return jars[0]
}

// testsJar returns the path of the jar with the tests of Hadoop's MapReduce client.
func (env *Env) testsJar() (string, error) {
	jar := cmp.Or(env.Tests, TestsJar(env.HadoopHome))
	if jar == "" {
		return "", fmt.Errorf("hibench: hadoop home %s: no share/hadoop/mapreduce/hadoop-mapreduce-client-jobclient-*-tests.jar, which has the programs sleep and TestDFSIO", env.HadoopHome)
	}
	if _, err := os.Stat(jar); err != nil {
		return "", fmt.Errorf("hibench: jar of Hadoop's tests: %w", err)
	}
	return filepath.Abs(jar)
}

// findHadoop returns the path of the jar of MapReduce examples in a Hadoop
// folder.
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
		return "", fmt.Errorf("hibench: hadoop home: %d files match %s; want one", len(jars), pattern)
	}
	return jars[0], nil
}
