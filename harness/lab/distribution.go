package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"heddle/harness/internal/mavenjars"
)

// A release is a version of Hadoop that is fetched from Maven Central. Where a release
// has no jar there with the example jobs or with Streaming, those of a near one are taken:
// they are jobs, which use only what all 3.x releases have.
type release struct {
	version, examples, streaming string
	leastJava                    int // the oldest Java that the release's daemons run on
}

var releases = []release{
	{version: "3.3.6", examples: "3.3.6", streaming: "3.3.5", leastJava: 11},
	{version: DefaultHadoop, examples: DefaultHadoop, streaming: DefaultHadoop, leastJava: 11},
	{version: "3.5.0", examples: "3.4.2", streaming: "3.4.2", leastJava: 17},
}

// DefaultHadoop is the version of Hadoop that a lab runs unless told otherwise.
const DefaultHadoop = "3.4.2"

// Hadoops returns the versions of Hadoop that a lab can run, oldest first.
func Hadoops() []string {
	var versions []string
	for _, r := range releases {
		versions = append(versions, r.version)
	}
	return versions
}

// release returns the release that Config.Hadoop names. Validate has checked that there
// is one.
func (c Config) release() release {
	return releases[max(0, slices.IndexFunc(releases, func(r release) bool { return r.version == c.Hadoop }))]
}

// exclude is the option of Maven that leaves out the old log4j that some of Hadoop 3.3's
// dependencies bring along. Hadoop's own archive has only reload4j in its place, too.
const exclude = "-DexcludeArtifactIds=log4j,slf4j-log4j12"

// folder returns the folder in the user's cache where a release's jars are kept.
func (r release) folder(cache string) string { return filepath.Join(cache, "hadoop-"+r.version) }

// distribution is a Hadoop installed on this machine.
type distribution struct {
	classpath string // Java class path that consists only of jars: "DIR/*:DIR/*"
	examples  string // path of hadoop-mapreduce-examples-VERSION.jar, which has Hadoop's example jobs
	// path of hadoop-streaming-VERSION.jar, which runs commands as mappers and reducers; empty if a given distribution lacks it
	streaming string
	cache     string // folder of this user where heddle keeps Hadoop's jars and class-data archives
}

// findDistribution returns the Hadoop in the folder Config.HadoopHome. If this
// setting is empty, it returns the Hadoop in the user's cache folder, and first
// fetches it from Maven Central if the cache folder lacks it.
func findDistribution(ctx context.Context, c Config, say func(Event)) (distribution, error) {
	cache, err := cacheFolder()
	if err != nil {
		return distribution{}, err
	}
	if c.HadoopHome != "" {
		return unpacked(c.HadoopHome, cache)
	}
	r := c.release()
	d := distribution{cache: r.folder(cache)}
	jars, tools := filepath.Join(d.cache, "jars"), filepath.Join(d.cache, "tools")
	d.classpath = jars + "/*"
	d.examples = filepath.Join(jars, "hadoop-mapreduce-examples-"+r.examples+".jar")
	d.streaming = filepath.Join(tools, "hadoop-streaming-"+r.streaming+".jar")
	for _, part := range []struct {
		folder, sums string
		goal         []string
	}{
		{jars, "jars.sha256", []string{
			"dependency:copy-dependencies", "-DincludeScope=runtime",
			exclude, "-Dhadoop=" + r.version, "-Dexamples=" + r.examples,
		}},
		{tools, "tools.sha256", []string{"dependency:copy", "-Dartifact=org.apache.hadoop:hadoop-streaming:" + r.streaming}},
	} {
		set, err := r.jars(path.Join(r.version, part.sums), part.goal)
		if err != nil {
			return d, err
		}
		fetching := Event{What: "fetching " + set.Name + " with Maven, once, 100 MB in all: " + filepath.Base(part.folder)}
		if err := set.Ensure(ctx, part.folder, func() { say(fetching) }); err != nil {
			return d, err
		}
	}
	return d, nil
}

// Jars returns two folders of the user's cache: the default Hadoop's jars with all that they
// need, and its tools'. It first fetches them from Maven Central if the cache
// lacks them.
func Jars(ctx context.Context) (jars, tools string, err error) {
	d, err := findDistribution(ctx, Default(), func(Event) {})
	if err != nil {
		return "", "", fmt.Errorf("get Hadoop's jars: %w", err)
	}
	return filepath.Dir(d.examples), filepath.Dir(d.streaming), nil
}

// jars returns a set of the release's jars that is fetched by the given goal of
// Maven. The tools are a set of their own, as in an unpacked Hadoop: they are no
// part of the daemons' class path. After a change of hadoop/pom.xml, 'go
// generate' writes the lists of sums again.
//
//go:generate ../internal/mavenjars/pin.sh hadoop 3.3.6/jars.sha256 dependency:copy-dependencies -DincludeScope=runtime -DexcludeArtifactIds=log4j,slf4j-log4j12 -Dhadoop=3.3.6 -Dexamples=3.3.6
//go:generate ../internal/mavenjars/pin.sh hadoop 3.3.6/tools.sha256 dependency:copy -Dartifact=org.apache.hadoop:hadoop-streaming:3.3.5
//go:generate ../internal/mavenjars/pin.sh hadoop 3.4.2/jars.sha256 dependency:copy-dependencies -DincludeScope=runtime -DexcludeArtifactIds=log4j,slf4j-log4j12 -Dhadoop=3.4.2 -Dexamples=3.4.2
//go:generate ../internal/mavenjars/pin.sh hadoop 3.4.2/tools.sha256 dependency:copy -Dartifact=org.apache.hadoop:hadoop-streaming:3.4.2
//go:generate ../internal/mavenjars/pin.sh hadoop 3.5.0/jars.sha256 dependency:copy-dependencies -DincludeScope=runtime -DexcludeArtifactIds=log4j,slf4j-log4j12 -Dhadoop=3.5.0 -Dexamples=3.4.2
//go:generate ../internal/mavenjars/pin.sh hadoop 3.5.0/tools.sha256 dependency:copy -Dartifact=org.apache.hadoop:hadoop-streaming:3.4.2
func (r release) jars(sums string, goal []string) (mavenjars.Set, error) {
	s := mavenjars.Set{Name: "Hadoop " + r.version, Goal: goal}
	var err, perr error
	s.POM, err = hadoopFiles.ReadFile("hadoop/pom.xml")
	s.Pins, perr = hadoopFiles.ReadFile("hadoop/" + sums)
	return s, errors.Join(err, perr)
}

// unpacked returns the Hadoop distribution in a folder that was unpacked from
// Apache's tar file.
func unpacked(home, cache string) (distribution, error) {
	home, err := filepath.Abs(home)
	if err != nil {
		return distribution{}, err
	}
	if !safePath.MatchString(home) {
		return distribution{}, fmt.Errorf("--hadoop-home %q: want a path of letters, digits and ._+@-", home)
	}
	share := filepath.Join(home, "share", "hadoop")
	var entries []string
	for _, part := range []string{"common", "hdfs", "yarn", "mapreduce"} {
		for _, dir := range []string{filepath.Join(share, part, "lib"), filepath.Join(share, part)} {
			if found, _ := filepath.Glob(filepath.Join(dir, "*.jar")); len(found) > 0 {
				entries = append(entries, dir+"/*")
			}
		}
	}
	found, _ := filepath.Glob(filepath.Join(share, "mapreduce", "hadoop-mapreduce-examples-*.jar"))
	if len(entries) == 0 || len(found) == 0 {
		return distribution{}, fmt.Errorf("--hadoop-home %s: no share/hadoop/mapreduce/hadoop-mapreduce-examples-*.jar there; is it an "+
			"unpacked Hadoop?", home)
	}
	version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(found[0]), "hadoop-mapreduce-examples-"), ".jar")
	streaming := filepath.Join(share, "tools", "lib", "hadoop-streaming-"+version+".jar")
	if _, err := os.Stat(streaming); err != nil {
		streaming = "" // only Streaming jobs need it
	}
	return distribution{
		streaming: streaming,
		classpath: strings.Join(entries, ":"),
		examples:  found[0],
		cache:     filepath.Join(cache, "hadoop-"+version+"-local"),
	}, nil
}

// javaHome finds the Java that Hadoop is to run with, and checks its version.
// Hadoop fails with misleading errors on a Java that is too old or too new.
func javaHome(r release) (string, error) {
	home := os.Getenv("JAVA_HOME")
	if home == "" {
		java, err := exec.LookPath("java")
		if err != nil {
			return "", errors.New("no java on the PATH and no JAVA_HOME")
		}
		if java, err = filepath.EvalSymlinks(java); err != nil {
			return "", err
		}
		home = filepath.Dir(filepath.Dir(java))
	}
	if !safePath.MatchString(home) {
		return "", fmt.Errorf("JAVA_HOME %q: want a path of letters, digits and ._+@-", home)
	}
	if _, err := os.Stat(filepath.Join(home, "bin", "java")); err != nil {
		return "", fmt.Errorf("JAVA_HOME: %w", err)
	}
	release, _ := os.ReadFile(filepath.Join(home, "release"))
	_, version, ok := strings.Cut(string(release), `JAVA_VERSION="`)
	var major int
	if _, err := fmt.Sscanf(version, "%d", &major); ok && err == nil && (major < r.leastJava || major > 23) {
		return "", fmt.Errorf("%s is Java %d; Hadoop %s runs on %d to 23, best on 17", home, major, r.version, r.leastJava)
	}
	return home, nil
}
