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
	"strings"
)

// With a checkout, HiBench's own generator makes tables and links: a MapReduce program
// in Java. HiBench builds it with Maven, together with much else, as the program of
// pagerank. Here javac compiles each alone.

const (
	dataGenClass = "HiBench.DataGen"
	dataGenJar   = "datagen.jar" // its name in a run's folder
	hiveRelease  = "heddle"      // what HiBench's scripts take for the name of Hive's archive
)

// addPrograms adds to a folder of links the programs that HiBench's scripts of the SQL
// workloads and of pagerank need besides what those of the others need.
func (r *Runner) addPrograms(ctx context.Context, folder *os.Root, farm string, s step) error {
	switch {
	case r.w.program == Examples:
		return nil
	case s == stepPrepare:
		java := filepath.Join(r.env.Checkout, "autogen", "src", "main")
		return r.compile(ctx, folder, dataGenJar, filepath.Join(java, "java"), filepath.Join(java, "java", "HiBench", "DataGen.java"), filepath.Join(java, "resources"))
	case r.w.program == Sources:
		return r.buildPegasus(ctx, folder, farm)
	}
	// The scripts unpack this archive unless Hive's folder exists, which it does.
	archive := filepath.Join(farm, "hadoopbench", "sql", "target", hiveRelease+".tar.gz")
	common := filepath.Join("bin", "workloads", groupSQL, "common")
	for _, dir := range []string{filepath.Dir(archive), filepath.Join(farm, common)} {
		if err := folder.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if err := folder.WriteFile(archive, nil, 0o600); err != nil {
		return err
	}
	const script = "set_hive_env.sh"
	return folder.Symlink(filepath.Join(r.env.Checkout, common, script), filepath.Join(farm, common, script))
}

// compile compiles a Java program of HiBench's into a jar in the run's folder, with the
// classes of the folder sources that it uses and the files of further folders.
func (r *Runner) compile(ctx context.Context, folder *os.Root, name, sources, program string, more ...string) error {
	vars := map[string]string{}
	for _, v := range r.env.Vars {
		name, value, _ := strings.Cut(v, "=")
		vars[name] = value
	}
	javac := filepath.Join(vars["JAVA_HOME"], "bin", "javac")
	if _, err := os.Stat(javac); vars["JAVA_HOME"] == "" || err != nil {
		if javac, err = findProgram("javac", vars["PATH"]); err != nil {
			return fmt.Errorf("HiBench's %s has to be compiled: %w; on Debian: apt install openjdk-17-jdk-headless%s", filepath.Base(program), err, map[bool]string{true: "; or run the workload without a checkout"}[SQL(r.spec.Workload)])
		}
	}
	if _, err := os.Stat(program); err != nil {
		return fmt.Errorf("checkout %s: it is no HiBench checkout: %w", r.env.Checkout, err)
	}
	classpath, err := r.output(ctx, filepath.Join(r.env.HadoopHome, "bin", "hadoop"), "classpath")
	if err != nil {
		return err
	}
	const classes = "classes"
	if err := errors.Join(folder.RemoveAll(classes), folder.Mkdir(classes, 0o700)); err != nil {
		return err
	}
	dir := filepath.Join(folder.Name(), classes)
	if _, err := r.output(ctx, javac, "-nowarn", "-Xlint:none", "-d", dir, "-sourcepath", sources, "-cp", strings.TrimSpace(classpath), program); err != nil {
		return err
	}
	jar, err := folder.Create(name)
	if err != nil {
		return err
	}
	defer jar.Close()
	if err := zipFolders(jar, append([]string{dir}, more...)...); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return folder.RemoveAll(classes)
}

// output runs a program and returns what it writes to its standard output.
func (r *Runner) output(ctx context.Context, argv ...string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = r.env.Vars
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
