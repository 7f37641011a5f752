package hibench

import (
	"archive/zip"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/textproto"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Jar is a program of the user's: a jar whose main class submits MapReduce jobs, as
// the command "hadoop jar" runs it. The main class runs on this machine with the
// rights of this process, so a jar is as trusted as a command that the user types.
type Jar struct {
	Path string // on this machine
	Main string // the class to run; empty means the one that the jar's manifest names
	// Args follow the class. In each of them, InputPlace stands for the HDFS folder of
	// the input, and OutputPlace for that of the output, which does not exist before.
	Args     []string
	Settings []Setting // Hadoop properties of its jobs
}

// What stands for HDFS folders in the arguments of a jar.
const (
	InputPlace  = "{input}"
	OutputPlace = "{output}"
)

// Writes reports whether the jar is told an output folder.
func (j Jar) Writes() bool { return j.has(OutputPlace) }

// Reads reports whether the jar is told an input folder.
func (j Jar) Reads() bool { return j.has(InputPlace) }

func (j Jar) has(place string) bool {
	return slices.ContainsFunc(j.Args, func(a string) bool { return strings.Contains(a, place) })
}

// Limits of what a jar may be.
const (
	maxArgs          = 1000
	maxArgBytes      = 64 << 10 // of all arguments together
	maxManifestBytes = 1 << 20
)

// className matches the names of Java classes that can be the main class.
var className = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*(\.[A-Za-z_$][A-Za-z0-9_$]*)*$`)

// Validate returns an error if the jar cannot be run: if its file is missing or no
// jar, if no main class is known or the jar does not have it, or if an argument takes
// away by what heddle finds its jobs. It reads the jar's list of files and its manifest.
func (j Jar) Validate() error {
	_, err := j.check()
	return err
}

// check is Validate, and returns the class that the jar's manifest names, if any.
func (j Jar) check() (named string, err error) {
	bytes := 0
	for i, a := range j.Args {
		bytes += len(a)
		if definedBy(j.Args, i) == tagsProperty {
			return "", fmt.Errorf("argument %q is not allowed: %s", a, reserved[tagsProperty])
		}
		if strings.Contains(a, "\x00") {
			return "", fmt.Errorf("argument %q: want no zero byte", a)
		}
	}
	if len(j.Args) > maxArgs || bytes > maxArgBytes {
		return "", fmt.Errorf("%d arguments of %d bytes: want at most %d of %d", len(j.Args), bytes, maxArgs, maxArgBytes)
	}
	if j.Main != "" && !className.MatchString(j.Main) {
		return "", fmt.Errorf("main class %q: want the name of a Java class, such as org.example.WordCount", j.Main)
	}
	for _, p := range j.Settings {
		if err := p.check(); err != nil {
			return "", err
		}
		if p.Name == tagsProperty {
			return "", fmt.Errorf("setting %s is not allowed: %s", p.Name, reserved[p.Name])
		}
	}
	return j.checkFile()
}

// definedBy returns the name of the property that argument i defines with -D, if any.
func definedBy(args []string, i int) string {
	text, joined := strings.CutPrefix(args[i], "-D")
	if !joined && i > 0 && args[i-1] == "-D" {
		text, joined = args[i], true
	}
	if !joined {
		return ""
	}
	name, _, _ := strings.Cut(text, "=")
	return strings.TrimSpace(name)
}

// checkFile reads the jar and looks for the main class. It returns the one that the
// manifest names, if any.
func (j Jar) checkFile() (named string, err error) {
	if info, err := os.Stat(j.Path); err != nil {
		return "", err
	} else if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no regular file; want a jar", j.Path)
	}
	z, err := zip.OpenReader(j.Path)
	if err != nil {
		return "", fmt.Errorf("%s is no jar: %w", j.Path, err)
	}
	defer func() { _ = z.Close() }()
	named, err = mainClass(&z.Reader)
	switch {
	case err != nil:
		return "", fmt.Errorf("manifest of %s: %w", j.Path, err)
	case named == "" && j.Main == "":
		return "", fmt.Errorf("the manifest of %s names no Main-Class; give the class with main", j.Path)
	case named != "" && j.Main != "" && named != j.Main:
		return "", fmt.Errorf("the manifest of %s names the Main-Class %s, which Hadoop runs whatever main says; remove main, and give "+
			"that class its arguments, such as the name of a program, in args", j.Path, named)
	}
	file := strings.ReplaceAll(j.Main, ".", "/") + ".class"
	if named == "" && !slices.ContainsFunc(z.File, func(f *zip.File) bool { return f.Name == file }) {
		return "", fmt.Errorf("%s has no class %s", j.Path, j.Main)
	}
	return named, nil
}

// mainClass returns the class that a jar's manifest names, empty if none.
func mainClass(z *zip.Reader) (string, error) {
	f, err := z.Open("META-INF/MANIFEST.MF")
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	// up to the parts about single files
	h, err := textproto.NewReader(bufio.NewReader(io.LimitReader(f, maxManifestBytes))).ReadMIMEHeader()
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	found := strings.ReplaceAll(h.Get("Main-Class"), " ", "") // lines that go on are joined by a blank
	if found != "" && !className.MatchString(strings.ReplaceAll(found, "/", ".")) {
		return "", fmt.Errorf("Main-Class %.80q is not the name of a class", found)
	}
	return strings.ReplaceAll(found, "/", "."), nil
}

// JarRunner runs a jar on one cluster. It may be used for several runs at the same
// time if their YARN tags differ.
type JarRunner struct {
	env Env
	jar Jar
}

// NewJar returns a JarRunner after it has checked env and the jar. Outputs go to
// folders below env.DataDir.
func NewJar(env Env, j Jar) (*JarRunner, error) {
	if err := env.complete(); err != nil {
		return nil, err
	}
	if _, err := findHadoop(env.HadoopHome); err != nil {
		return nil, err
	}
	named, err := j.check()
	if err != nil {
		return nil, fmt.Errorf("hibench: jar: %w", err)
	}
	if named != "" {
		j.Main = "" // Hadoop takes the words behind the jar for arguments
	}
	if j.Path, err = filepath.Abs(j.Path); err != nil {
		return nil, fmt.Errorf("hibench: jar: %w", err)
	}
	return &JarRunner{env, j}, nil
}

// Output returns the HDFS folder that stands for OutputPlace in the run with the
// given YARN tag.
func (r *JarRunner) Output(tag string) string { return path.Join(r.env.DataDir, "output-"+tag) }

// Run runs the jar's main class once and waits for its end. Its jobs have the given
// YARN tag, and settings in addition to those of the jar. Run first removes the output
// of an earlier run with the same tag. The main class finds the settings in Hadoop's
// configuration files; a program that sets a property itself overrides them.
func (r *JarRunner) Run(ctx context.Context, tag, input string, settings ...Setting) error {
	if err := checkTag(tag); err != nil {
		return err
	}
	if err := r.env.removeAll(r.Output(tag)); err != nil {
		return err
	}
	c, err := r.env.newClient(tag, slices.Concat(r.jar.Settings, settings))
	if err == nil {
		defer c.folder.Close()
		c.argv = append(r.env.hadoopCommand(tag), "jar", r.jar.Path)
		if r.jar.Main != "" {
			c.argv = append(c.argv, r.jar.Main)
		}
		places := strings.NewReplacer(InputPlace, input, OutputPlace, r.Output(tag))
		for _, a := range r.jar.Args {
			c.argv = append(c.argv, places.Replace(a))
		}
		err = c.run(ctx)
	}
	if err != nil {
		return fmt.Errorf("hibench: run jar %s: %w", filepath.Base(r.jar.Path), err)
	}
	return nil
}

// FolderSize returns the length of all files in a folder of HDFS, and their number.
func (r *JarRunner) FolderSize(dir string) (bytes int64, files int, err error) {
	return folderSize(r.env.FS, dir)
}
