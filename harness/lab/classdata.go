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

	"heddle/traces/printable"
)

// Java's class-data sharing saves most of a JVM's first second. In that second
// a JVM finds, parses and verifies some thousand Hadoop classes. Here one JVM
// does this once and writes an archive file. Every later JVM of the lab maps
// the archive into memory: daemons, clients, ApplicationMasters and tasks.
//
// TestRecordClasses recorded the list of these classes, hadoop/classes.gz,
// from a working cluster. Classes that another version of Java or Hadoop lacks
// are left out of the archive.
//
// An archive is valid for one Java and one list of jars. These jars must come
// first on the class path. A JVM whose Java or jars differ ignores the archive
// without a message.

// recordClasses is the folder in which daemons list the classes that they
// load. Only TestRecordClasses sets it.
var recordClasses string

// classArchive returns the path of the class-data archive for this Hadoop and
// this Java. It builds the archive if it is missing. If that fails, it reports
// a warning through say and returns "".
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

// buildArchive writes the class-data archive under a temporary name and then
// renames it, so that a half-written archive never has the final name.
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
	args := append([]string{
		"-Xshare:dump", "-XX:SharedClassListFile=" + filepath.Join(tmp, "list"),
		"-XX:SharedArchiveFile=" + made,
	}, jvmFlags...)
	out, err := exec.CommandContext(ctx, filepath.Join(java, "bin", "java"), append(args, "-cp", d.classpath)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("dump classes: %w: %s", err, printable.LastLines(out, 2))
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

// archiveKey returns a hash of everything that a class-data archive depends on:
// the Java, the JVM flags, the class list, and the path, size and time of each
// jar. An archive with another hash is out of date.
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

// archiveFlags returns the JVM flags that make a JVM use the class-data
// archive.
func (l *Lab) archiveFlags() []string {
	if l.Archive == "" {
		return nil
	}
	return []string{"-XX:SharedArchiveFile=" + l.Archive, "-Xshare:auto"}
}

// containerJava returns the JAVA_HOME of YARN containers. MapReduce writes the
// command lines of containers, so no JVM flag can be added there. If there is
// a class-data archive, this JAVA_HOME is a copy of the real one whose
// bin/java adds the flags.
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
