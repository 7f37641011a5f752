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

// With a checkout, HiBench's own generator makes the tables: a MapReduce program
// in Java. HiBench builds it with Maven, together with much else. Here javac
// compiles it alone.

const (
	dataGenClass = "HiBench.DataGen"
	dataGenJar   = "datagen.jar" // its name in a run's folder
	hiveRelease  = "heddle"      // what HiBench's scripts take for the name of Hive's archive
)

// linkHive adds to a folder of links what HiBench's scripts of the SQL workloads
// need besides what those of the others need.
func (r *Runner) linkHive(ctx context.Context, folder *os.Root, farm string, s step) error {
	if !SQL(r.spec.Workload) {
		return nil
	}
	if s == stepPrepare {
		return r.buildDataGen(ctx, folder)
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

// buildDataGen compiles HiBench's generator of tables into a jar in the run's
// folder.
func (r *Runner) buildDataGen(ctx context.Context, folder *os.Root) error {
	vars := map[string]string{}
	for _, v := range r.env.Vars {
		name, value, _ := strings.Cut(v, "=")
		vars[name] = value
	}
	javac := filepath.Join(vars["JAVA_HOME"], "bin", "javac")
	if _, err := os.Stat(javac); vars["JAVA_HOME"] == "" || err != nil {
		if javac, err = findProgram("javac", vars["PATH"]); err != nil {
			return fmt.Errorf("HiBench's tables are made by a Java program, which has to be compiled: %w; on Debian: apt install openjdk-17-jdk-headless; or run the workload without a checkout", err)
		}
	}
	java := filepath.Join(r.env.Checkout, "autogen", "src", "main")
	program := filepath.Join(java, "java", "HiBench", "DataGen.java")
	if _, err := os.Stat(program); err != nil {
		return fmt.Errorf("checkout %s: it is no HiBench checkout: %w", r.env.Checkout, err)
	}
	classpath, err := r.output(ctx, filepath.Join(r.env.HadoopHome, "bin", "hadoop"), "classpath")
	if err != nil {
		return err
	}
	const classes = "datagen-classes"
	if err := errors.Join(folder.RemoveAll(classes), folder.Mkdir(classes, 0o700)); err != nil {
		return err
	}
	dir := filepath.Join(folder.Name(), classes)
	if _, err := r.output(ctx, javac, "-nowarn", "-Xlint:none", "-d", dir, "-sourcepath", filepath.Join(java, "java"), "-cp", strings.TrimSpace(classpath), program); err != nil {
		return err
	}
	jar, err := folder.Create(dataGenJar)
	if err != nil {
		return err
	}
	defer jar.Close()
	if err := zipFolders(jar, dir, filepath.Join(java, "resources")); err != nil {
		return fmt.Errorf("write %s: %w", dataGenJar, err)
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
