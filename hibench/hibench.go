// Package hibench prepares, runs and checks HiBench's workloads on a Hadoop
// cluster: wordcount, sort and terasort, and the SQL queries join, aggregation
// and scan, which Hive runs as MapReduce jobs. It can do so in two ways: with
// the examples jar of the cluster's Hadoop and with its own queries (the
// default), or through the scripts of a HiBench checkout, which need not be
// built. For the first three, both ways run the same jobs. sleep and dfsioe always
// run from the jar with the tests of Hadoop's MapReduce client, kmeans and bayes
// from Mahout's jars, and grep, which HiBench does not have, from the examples jar.
// A [Script] is any workload for Hadoop of a checkout, as its scripts prepare and run
// it. A [Jar] is a program of the user's own. Of these two the package knows nothing
// but where they read and write.
//
// Every job has a YARN tag. The package does not use YARN itself: it returns
// the tag, and the caller asks YARN for the tag's applications, their times and
// their success. It does not kill applications either. A client that is stopped
// leaves its application running, and the caller kills it by its tag.
//
// HiBench's workloads for Spark and for streams, its monitor and its charts are not
// supported.
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
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
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

	Hive string // the folder with Hive's jars, for the workloads join, aggregation and scan, and for scripts that use Hive
	// Tests is the jar with the tests of Hadoop's MapReduce client, for sleep, dfsioe and scripts that sleep; empty means that of HadoopHome
	Tests string

	Mahout string // the folder with Mahout's jars, for kmeans, bayes and scripts that use Mahout

	Checkout string   // the folder of a HiBench checkout; empty means that jobs run without HiBench
	Workers  []string // host names of the cluster's workers, for HiBench's reports; HiBench divides its throughput by their number
}

// Runner prepares, runs and checks one workload on one cluster. It may be used
// for many runs, and for several at the same time if their YARN tags differ.
type Runner struct {
	env  Env
	spec Spec
	w    workload
	jar  string    // path of the jar with Hadoop's examples
	uses []Program // what the workload's programs are part of, besides Hadoop's examples
}

// Data describes the input of a workload.
type Data struct {
	Path   string // the input's folder in HDFS
	Bytes  int64  // the length of the input's files in bytes
	Files  int
	Reused bool // true if the input existed already and was used again
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
	r := &Runner{env: env, spec: spec, w: spec.workload(), jar: jar}
	if spec.Workload == Grep || r.w.program == Tests || r.w.program == Mahout {
		r.env.Checkout = "" // HiBench has no grep, and see Sleep, DFSIOWrite and Kmeans
	}
	if r.env.Checkout != "" || r.w.program == Scripts {
		if err := r.checkCheckout(); err != nil {
			return nil, err
		}
	}
	r.uses = r.programs()
	for _, p := range r.uses {
		switch p {
		case Hive:
			err = r.checkHive()
		case Tests:
			r.env.Tests, err = r.env.testsJar()
		case Mahout:
			_, err = r.env.mahoutJars()
		}
		if err != nil {
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

// testsPattern matches the jar with the tests of Hadoop's MapReduce client in a Hadoop
// folder.
const testsPattern = "share/hadoop/mapreduce/hadoop-mapreduce-client-jobclient-*-tests.jar"

// HasTests reports whether a Hadoop folder has the jar with the tests of Hadoop's
// MapReduce client.
func HasTests(home string) bool {
	_, err := oneFile(home, testsPattern)
	return err == nil
}

// testsJar returns the path of the jar with the tests of Hadoop's MapReduce client.
func (env *Env) testsJar() (string, error) {
	if env.Tests == "" {
		jar, err := oneFile(env.HadoopHome, testsPattern)
		if err != nil {
			err = fmt.Errorf("hibench: programs sleep and TestDFSIO: hadoop home: %w", err)
		}
		return jar, err
	}
	if _, err := os.Stat(env.Tests); err != nil {
		return "", fmt.Errorf("hibench: jar of Hadoop's tests: %w", err)
	}
	return filepath.Abs(env.Tests)
}

// findHadoop returns the path of the jar of MapReduce examples in a Hadoop
// folder.
func findHadoop(home string) (jar string, err error) {
	program := filepath.Join(home, "bin", "hadoop")
	info, err := os.Stat(program)
	if err == nil && info.Mode()&0o111 == 0 {
		err = fmt.Errorf("%s is not executable", program)
	}
	if err == nil {
		jar, err = oneFile(home, "share/hadoop/mapreduce/hadoop-mapreduce-examples-*.jar")
	}
	if err != nil {
		return "", fmt.Errorf("hibench: hadoop home: %w", err)
	}
	return jar, nil
}

// oneFile returns the path of the one file below a folder that a pattern matches.
func oneFile(dir, pattern string) (string, error) {
	pattern = filepath.Join(dir, pattern)
	found, err := filepath.Glob(pattern)
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("%d files match %s; want one", len(found), pattern)
	}
	if err != nil {
		return "", err
	}
	return found[0], nil
}
