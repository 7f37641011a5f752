package lab

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// hadoopVersion is the Hadoop version that is fetched from Maven Central.
// Later 3.4 releases lack artifacts there.
const hadoopVersion = "3.4.2"

// distribution is a Hadoop installed on this machine.
type distribution struct {
	classpath string // Java class path that consists only of jars: "DIR/*:DIR/*"
	examples  string // path of hadoop-mapreduce-examples-VERSION.jar, which has Hadoop's example jobs
	streaming string // path of hadoop-streaming-VERSION.jar, which runs commands as mappers and reducers; empty if a given distribution lacks it
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
	d := distribution{cache: filepath.Join(cache, "hadoop-"+hadoopVersion)}
	jars, tools := filepath.Join(d.cache, "jars"), filepath.Join(d.cache, "tools")
	d.classpath = jars + "/*"
	d.examples = filepath.Join(jars, "hadoop-mapreduce-examples-"+hadoopVersion+".jar")
	d.streaming = filepath.Join(tools, "hadoop-streaming-"+hadoopVersion+".jar")
	for _, part := range []jarFolder{
		{jars, "jars.sha256", []string{"dependency:copy-dependencies", "-DincludeScope=runtime"}},
		{tools, "tools.sha256", []string{"dependency:copy", "-Dartifact=org.apache.hadoop:hadoop-streaming:" + hadoopVersion}},
	} {
		if err := part.have(ctx, say); err != nil {
			return d, err
		}
	}
	return d, nil
}

// jarFolder is a folder in the user's cache folder with jars from Maven
// Central. The tools are in a folder of their own, as in an unpacked Hadoop:
// they are no part of the daemons' class path.
type jarFolder struct {
	path string
	sums string   // name of the file in hadoop/ that lists the folder's jars and their SHA-256 hashes
	goal []string // Maven's goal that fetches the jars, with its options
}

// have checks the jars in the folder. It first fetches them if the folder is
// missing.
func (f jarFolder) have(ctx context.Context, say func(Event)) error {
	if _, err := os.Stat(f.path); err != nil {
		say(Event{What: "fetching Hadoop " + hadoopVersion + " with Maven: " + filepath.Base(f.path)})
		return f.fetch(ctx)
	}
	if err := f.check(f.path); err != nil {
		return fmt.Errorf("%w; remove the folder, then 'heddle lab up' fetches it anew", err)
	}
	return nil
}

// check compares the jars in a folder with the list in f.sums. A jar that
// is not in that list is an error too, since the class path takes every jar of
// the folder. After a change of hadoop/pom.xml, 'go generate' writes the lists
// again.
//
//go:generate ./pin.sh
func (f jarFolder) check(folder string) error {
	text, err := hadoopFiles.ReadFile("hadoop/" + f.sums)
	if err != nil {
		return err
	}
	want := map[string]string{} // expected SHA-256 hash of each file, by file name
	for line := range strings.Lines(string(text)) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		want[name] = sum
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("check Hadoop's jars: %w", err)
	}
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		pinned, known := want[e.Name()]
		if !known {
			return fmt.Errorf("check Hadoop's jars: %s is not part of Hadoop %s as this heddle knows it", path, hadoopVersion)
		}
		sum, err := fileSHA256(path)
		if err != nil {
			return fmt.Errorf("check Hadoop's jars: %w", err)
		}
		if sum != pinned {
			return fmt.Errorf("check Hadoop's jars: %s has SHA-256 %s, want %s", path, sum, pinned)
		}
		delete(want, e.Name())
	}
	if len(want) > 0 {
		return fmt.Errorf("check Hadoop's jars: %s has no %s", folder, strings.Join(slices.Sorted(maps.Keys(want)), ", "))
	}
	return nil
}

func fileSHA256(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// fetch lets Maven fetch the jars and then checks their hashes. It fetches into
// a temporary folder and renames that folder at the end.
func (f jarFolder) fetch(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(f.path), "."+filepath.Base(f.path)+"-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	pom, err := hadoopFiles.ReadFile("hadoop/pom.xml")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tmp, "pom.xml"), pom, 0o644); err != nil {
		return err
	}
	out := filepath.Join(tmp, "jars")
	args := append([]string{"-B", "-q", "-C", "-f", filepath.Join(tmp, "pom.xml"), "-DoutputDirectory=" + out}, f.goal...)
	cmd := exec.CommandContext(ctx, "mvn", args...)
	// Without this flag, the JVM that runs Maven would leave a folder in /tmp.
	cmd.Env = append(os.Environ(), "MAVEN_OPTS="+os.Getenv("MAVEN_OPTS")+" -XX:-UsePerfData -Djava.io.tmpdir="+tmp)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("fetch Hadoop %s with Maven: %w; is Maven Central reachable?\n%s", hadoopVersion, err, lastLines(log.Bytes(), 10))
	}
	if err := f.check(out); err != nil {
		return fmt.Errorf("fetch Hadoop %s with Maven: %w; something between Maven Central and this machine gives out other files", hadoopVersion, err)
	}
	if err := os.Chmod(out, 0o755); err != nil {
		return err
	}
	if err := os.Rename(out, f.path); err != nil {
		if _, statErr := os.Stat(f.path); statErr == nil {
			return nil // no error if the folder exists: another 'lab up' has fetched the jars meanwhile
		}
		return err
	}
	return nil
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
		return distribution{}, fmt.Errorf("--hadoop-home %s: no share/hadoop/mapreduce/hadoop-mapreduce-examples-*.jar there; is it an unpacked Hadoop?", home)
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
// Hadoop 3.4 fails with misleading errors on a Java that is too old or too
// new.
func javaHome() (string, error) {
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
	if _, err := fmt.Sscanf(version, "%d", &major); ok && err == nil && (major < 11 || major > 23) {
		return "", fmt.Errorf("%s is Java %d; Hadoop 3.4 runs on 11 to 23, best on 17", home, major)
	}
	return home, nil
}

// lastLines returns the last n lines of a log, to be shown in an error message.
func lastLines(log []byte, n int) string {
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
