package lab

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Class-data sharing: what a JVM spends its first second on, finding, parsing
// and verifying some thousand classes of Hadoop, is done once and mapped from a
// file by every JVM after that: daemons, clients, ApplicationMasters and tasks
// alike. The classes to put in are listed in hadoop/classes.gz, recorded by
// TestRecordClasses from a cluster at work; what a Java or Hadoop of another
// version lacks is left out.
//
// The archive holds for one Java and one list of jars, which must come first on
// the class path; a JVM that finds it does not fit starts without it and says
// nothing.

// recordClasses is a folder in which daemons list the classes that they load;
// only TestRecordClasses sets it.
var recordClasses string

// classArchive finds the archive for a Hadoop and a Java, or builds it, and
// gives its path; empty where that fails.
func classArchive(ctx context.Context, d distribution, java string, say func(Event)) string {
	key, err := archiveKey(d, java)
	if err != nil {
		say(Event{What: fmt.Sprintf("warning: no class-data sharing: %v", err)})
		return ""
	}
	path := filepath.Join(d.cache, "classes-"+key+".jsa")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	say(Event{What: "building the class-data archive, once"})
	began := time.Now()
	if err := buildArchive(ctx, d, java, path); err != nil {
		say(Event{What: fmt.Sprintf("warning: no class-data sharing: %v", err)})
		return ""
	}
	say(Event{What: fmt.Sprintf("class-data archive built in %.1f s", time.Since(began).Seconds())})
	return path
}

// buildArchive makes the archive under another name, so that it appears whole
// or not at all.
func buildArchive(ctx context.Context, d distribution, java, path string) error {
	if err := os.MkdirAll(d.cache, 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(d.cache, ".classes-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	list, err := classList()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tmp, "list"), list, 0o644); err != nil {
		return err
	}
	made := filepath.Join(tmp, "archive")
	args := append([]string{"-Xshare:dump", "-XX:SharedClassListFile=" + filepath.Join(tmp, "list"), "-XX:SharedArchiveFile=" + made}, jvmFlags...)
	out, err := exec.CommandContext(ctx, filepath.Join(java, "bin", "java"), append(args, "-cp", d.classpath)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("dump classes: %w: %s", err, lastLines(out, 2))
	}
	if err := os.Chmod(made, 0o644); err != nil {
		return err
	}
	return os.Rename(made, path)
}

func classList() ([]byte, error) {
	packed, err := hadoopFiles.ReadFile("hadoop/classes.gz")
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// archiveKey changes when anything changes that an archive depends on.
func archiveKey(d distribution, java string) (string, error) {
	list, err := classList()
	if err != nil {
		return "", err
	}
	release, _ := os.ReadFile(filepath.Join(java, "release"))
	libjvm, _ := filepath.Glob(filepath.Join(java, "lib", "server", "libjvm.so"))
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%s\n%s\n%x\n", java, release, strings.Join(jvmFlags, " "), sha256.Sum256(list))
	files := libjvm
	for entry := range strings.SplitSeq(d.classpath, ":") {
		jars, _ := filepath.Glob(entry + ".jar")
		files = append(files, jars...)
	}
	for _, file := range files {
		st, err := os.Stat(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %d %d\n", file, st.Size(), st.ModTime().UnixNano())
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}

// archiveFlags let a JVM start from the archive.
func (l *Lab) archiveFlags() []string {
	if l.Archive == "" {
		return nil
	}
	return []string{"-XX:SharedArchiveFile=" + l.Archive, "-Xshare:auto"}
}

// containerJava is JAVA_HOME of containers, whose command lines are
// MapReduce's: with an archive, a folder like the real one except that
// bin/java adds it.
func (l *Lab) containerJava() string {
	if l.Archive == "" {
		return l.Java
	}
	return l.path("java")
}

func (l *Lab) writeContainerJava() error {
	home := l.path("java")
	if err := os.RemoveAll(home); err != nil || l.Archive == "" {
		return err
	}
	if err := os.MkdirAll(filepath.Join(home, "bin"), 0o755); err != nil {
		return err
	}
	for _, dir := range []string{"", "bin"} {
		entries, err := os.ReadDir(filepath.Join(l.Java, dir))
		if err != nil {
			return err
		}
		for _, e := range entries {
			at := filepath.Join(dir, e.Name())
			if at == "bin" || at == "bin/java" {
				continue
			}
			if err := os.Symlink(filepath.Join(l.Java, at), filepath.Join(home, at)); err != nil {
				return err
			}
		}
	}
	script, err := l.script("java.sh")
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(home, "bin", "java"), script, 0o755)
}
