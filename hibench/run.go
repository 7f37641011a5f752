package hibench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

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
	} else {
		_, err = r.start(ctx, stepPrepare, tag, "")
	}
	if err != nil {
		return Data{}, fmt.Errorf("hibench: prepare %s: %w", r.spec, err)
	}
	return r.markData(ctx, tag)
}

// Run runs the workload once. Its job has the given YARN tag, and settings in
// addition to those of the Spec. Run first removes the output of an earlier run
// with the same tag. It returns the last line of HiBench's file hibench.report, which
// is empty if the job ran without HiBench's scripts. ctx should have a deadline: a job
// that gets no containers waits for ever.
func (r *Runner) Run(ctx context.Context, tag string, settings ...Setting) (report string, err error) {
	if err := checkTag(tag); err != nil {
		return "", err
	}
	if err := checkSettings(settings); err != nil {
		return "", fmt.Errorf("hibench: %s: %w", r.spec.Workload, err)
	}
	if !r.readsNothing() {
		if _, err := r.data(); err != nil {
			return "", fmt.Errorf("hibench: run %s: input (has it been prepared?): %w", r.spec, err)
		}
	}
	if err := r.removeRun(tag); err != nil {
		return "", err
	}
	c, err := r.start(ctx, stepRun, tag, r.outputPath(tag), settings...)
	if err = r.failure(&c, err); err == nil && r.env.Checkout != "" {
		report, err = reportLine(filepath.Join(c.dir, "report", "hibench.report"))
	}
	if err != nil {
		return "", fmt.Errorf("hibench: run %s: %w", r.spec, err)
	}
	return report, nil
}

// reportLine returns the last line of HiBench's report.
func reportLine(name string) (string, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("read HiBench's report: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	line := strings.TrimRight(lines[len(lines)-1], "\r")
	if n := len(strings.Fields(line)); n != 7 {
		return "", fmt.Errorf("HiBench's report line %q: %d columns, want 7", line, n)
	}
	return line, nil
}

// removeRun removes from HDFS what the run with the given YARN tag has written.
func (r *Runner) removeRun(tag string) error {
	written := []string{r.outputPath(tag), grepTemp(r.outputPath(tag)), r.checkPath(tag), r.hivePath(tag)}
	if r.spec.Workload == DFSIORead {
		written = append(written, dfsioOwn(r.inputPath())...)
	}
	return r.env.removeAll(written...)
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

// compressed reports whether the user has input and output compressed.
func (s Spec) compressed() bool { return slices.Contains(s.Settings, Setting{compressOutput, "true"}) }

// start runs the client process of one step (prepare, run or check) and waits
// for its end.
func (r *Runner) start(ctx context.Context, s step, tag, output string, extra ...Setting) (client, error) {
	settings := slices.Concat([]Setting{{compressOutput, "false"}}, r.hiveTaskSettings(), r.spec.Settings, extra)
	c, err := r.env.newClient(tag, settings)
	if err != nil {
		return c, err
	}
	defer c.folder.Close()
	if slices.Contains(r.uses, Hive) {
		err = r.writeHive(c.folder, tag, slices.Concat(r.spec.Settings, extra))
		defer func() { _ = c.folder.RemoveAll(filepath.Join("hive", "metastore_db")) }() // several MB that nobody needs
	}
	if err == nil && slices.Contains(r.uses, Mahout) {
		err = r.writeMahout(&c)
	}
	switch {
	case err != nil:
	case r.env.Checkout != "" && s != stepCheck:
		err = r.hibenchCommand(ctx, &c, s, output)
	case SQL(r.spec.Workload):
		err = r.queryCommand(&c, output)
	case r.w.program == Mahout:
		r.mahoutCommand(&c, s, output)
	case r.w.program == Tests:
		// The main class that this jar names needs further jars of tests.
		c.argv = slices.Concat(r.env.hadoopCommand(tag), []string{r.testsClass()}, r.jobArgs(s, tag, output))
		c.vars = withClassPath(c.vars, r.env.Tests)
		if err = c.folder.Remove(dfsioName); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	default:
		c.argv = slices.Concat(r.env.hadoopCommand(tag), []string{"jar", r.jar}, r.jobArgs(s, tag, output))
	}
	if err != nil {
		return c, err
	}
	return c, c.run(ctx)
}

// newClient returns a client process that has no command yet. It has a folder of its
// own, which the caller closes, and in it Hadoop's configuration: that of the cluster
// and, in addition, the YARN tag and the settings.
func (env *Env) newClient(tag string, settings []Setting) (client, error) {
	dir := env.tagDir(tag)
	c := client{dir: dir, log: filepath.Join(dir, logName), vars: env.Vars, tag: tag, grace: stopGrace, code: -1}
	var err error
	if c.folder, err = env.openTagDir(tag); err != nil {
		return c, err
	}
	if err = writeOverlay(c.folder, confName, env.ConfDir, slices.Concat(settings, []Setting{{tagsProperty, tag}})); err != nil {
		c.folder.Close()
	}
	return c, err
}

// confName is the folder of Hadoop's configuration in the folder of a client.
const confName = "conf"

// hadoopCommand returns the command hadoop with the configuration of the client with
// a YARN tag.
func (env *Env) hadoopCommand(tag string) []string {
	return []string{filepath.Join(env.HadoopHome, "bin", "hadoop"), "--config", filepath.Join(env.tagDir(tag), confName)}
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

// jobArgs returns the arguments that follow the jar in the command "hadoop jar"
// for a step (prepare, run or check).
func (r *Runner) jobArgs(s step, tag, output string) []string {
	switch s {
	case stepPrepare:
		return r.spec.prepareArgs(r.inputPath())
	case stepRun:
		args := r.spec.runArgs(r.inputPath(), output)
		if DFSIO(r.spec.Workload) {
			args = append(args, "-resFile", filepath.Join(r.env.tagDir(tag), dfsioName))
		}
		return args
	default:
		return []string{"teravalidate", output, r.checkPath(strings.TrimSuffix(tag, "-check"))}
	}
}
