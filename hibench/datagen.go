package hibench

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// ownRelease is what HiBench's scripts take for the names of the archives of Hive and of
// Mahout.
const ownRelease = "heddle"

// sparkScript stands for Spark in the script that prepares ml/bayes, which makes a copy of
// the input for the Spark workload of that name. The workload for Hadoop does not read it.
const sparkScript = "#!/bin/sh\necho 'heddle makes no copy of the input for Spark'\n"

// addPrograms adds to a folder of links what a script of HiBench's needs beside its own
// files: the jars of its Java programs, if they have not been built, and stand-ins for
// archives that it would unpack.
func (r *Runner) addPrograms(ctx context.Context, c *client, s step, vars map[string]string) error {
	for _, m := range jarClass.FindAllStringSubmatch(r.text(s), -1) {
		jar, err := filepath.Rel(c.dir, vars[m[1]])
		module := modules[m[1]]
		if module == "" || exists(vars[m[1]]) || err != nil || !filepath.IsLocal(jar) {
			continue
		}
		if err := r.compile(ctx, c, jar, filepath.Join(r.env.Checkout, module, "src", "main"), m[2]); err != nil {
			return err
		}
	}
	for _, part := range []string{"sql", "mahout"} {
		// The scripts unpack this archive unless the folder of the program exists, which it does.
		archive := filepath.Join("hibench", "hadoopbench", part, "target", ownRelease+".tar.gz")
		if err := errors.Join(c.folder.MkdirAll(filepath.Dir(archive), 0o700), c.folder.WriteFile(archive, nil, 0o600)); err != nil {
			return err
		}
	}
	return errors.Join(c.folder.MkdirAll("spark/bin", 0o700), c.folder.WriteFile("spark/bin/spark-submit", []byte(sparkScript), 0o700))
}

// compile compiles a Java class of a part of HiBench into a jar in the client's folder,
// with the classes that it uses and with Mahout's jars, if the workload has them. It
// compiles all classes of a part whose files are not where Java looks for them.
func (r *Runner) compile(ctx context.Context, c *client, name, part, class string) error {
	sources := filepath.Join(part, "java")
	files := []string{filepath.Join(sources, filepath.FromSlash(strings.ReplaceAll(class, ".", "/"))+".java")}
	if !exists(files[0]) {
		found, _ := filepath.Glob(filepath.Join(sources, "*", "*", "*.java")) // the pattern is valid
		if files = found; len(files) == 0 {
			return fmt.Errorf("checkout %s: it is no HiBench checkout: %s has no sources of %s", r.env.Checkout, sources, class)
		}
	}
	javac, err := r.env.program("javac")
	if err != nil {
		return fmt.Errorf("HiBench's %s has to be compiled: %w", class, err)
	}
	classpath, err := r.env.output(ctx, filepath.Join(r.env.HadoopHome, "bin", "hadoop"), "classpath")
	if err != nil {
		return err
	}
	const classes = "classes"
	if err := errors.Join(c.folder.RemoveAll(classes), c.folder.MkdirAll(classes+"/lib", 0o700),
		c.folder.MkdirAll(filepath.Dir(name), 0o700)); err != nil {
		return err
	}
	path := strings.TrimSpace(classpath)
	if slices.Contains(r.uses, Mahout) {
		jars, err := r.env.mahoutJars()
		if err != nil {
			return err
		}
		for _, jar := range jars {
			data, err := os.ReadFile(jar)
			if err == nil {
				err = c.folder.WriteFile(filepath.Join(classes, "lib", filepath.Base(jar)), data, 0o600)
			}
			if err != nil {
				return err
			}
		}
		path += ":" + strings.Join(jars, ":")
	}
	dir := filepath.Join(c.dir, classes)
	if _, err := r.env.output(ctx, append([]string{javac, "-nowarn", "-Xlint:none", "-d", dir, "-sourcepath", sources, "-cp", path},
		files...)...); err != nil {
		return err
	}
	jar, err := c.folder.Create(name)
	if err != nil {
		return err
	}
	defer jar.Close()
	if err := zipFolders(jar, dir, filepath.Join(part, "resources")); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return c.folder.RemoveAll(classes)
}

// output runs a program and returns what it writes to its standard output.
func (env *Env) output(ctx context.Context, argv ...string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = env.Vars
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", filepath.Base(argv[0]), err, strings.TrimSpace(said.String()))
	}
	return string(out), nil
}

// zipFolders writes a zip file, which a jar is, with all files of some folders.
func zipFolders(w io.Writer, folders ...string) error {
	z := zip.NewWriter(w)
	for _, dir := range folders {
		if err := z.AddFS(os.DirFS(dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return z.Close()
}
