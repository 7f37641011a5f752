package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// MissingError lists what this machine lacks for running a lab.
type MissingError struct {
	What []Missing
}

// Missing is one thing that this machine needs for running a lab and does not
// have.
type Missing struct {
	Name string // what this machine lacks, such as "java" or "root"
	Why  string // why the lab needs what is missing, and what was found instead
	// Package is the Debian package that contains what is missing, such as
	// java. Empty means that no package contains it.
	Package string
}

func (e *MissingError) Error() string {
	var text strings.Builder
	text.WriteString("this machine cannot run a lab yet:")
	for _, m := range e.What {
		fmt.Fprintf(&text, "\n  %s: %s", m.Name, m.Why)
		if m.Package != "" {
			fmt.Fprintf(&text, " (Debian package %s)", m.Package)
		}
	}
	return text.String()
}

// Packages returns the names of the Debian packages that contain what is
// missing.
func (e *MissingError) Packages() []string {
	var packages []string
	for _, m := range e.What {
		if m.Package != "" {
			packages = append(packages, m.Package)
		}
	}
	return packages
}

// NeedLinux returns an error if the operating system is not Linux, as labs run
// only on Linux.
func NeedLinux() error {
	if runtime.GOOS == "linux" {
		return nil
	}
	return fmt.Errorf("a lab needs Linux, since its nodes are network namespaces and control groups, and this is %s", runtime.GOOS)
}

// NeedRoot checks that this process has the rights to start or change a lab.
// The error is a *MissingError.
func NeedRoot() error {
	if os.Geteuid() != 0 {
		return &MissingError{[]Missing{{Name: "root", Why: "network namespaces, links and control groups are made as root; run it with sudo"}}}
	}
	return nil
}

// Preflight checks that this machine can run a lab with configuration c. It
// changes nothing. The error is a *MissingError.
func Preflight(c Config) error {
	var missing []Missing
	need := func(name, why, pkg string) { missing = append(missing, Missing{name, why, pkg}) }
	if root, ok := errors.AsType[*MissingError](NeedRoot()); ok {
		missing = root.What
	}
	if _, err := findCgroups("/"); err != nil {
		need("control groups", err.Error(), "")
	}
	if _, err := javaHome(c.release()); err != nil {
		need("java", "Hadoop runs on it: "+err.Error(), "default-jre-headless")
	}
	if needsMaven(c) {
		if _, err := exec.LookPath("mvn"); err != nil {
			need("mvn", "Maven fetches Hadoop "+c.Hadoop+" from Maven Central; or name an unpacked one with --hadoop-home", "maven")
		}
	}
	for _, tool := range []Missing{
		{"ip", "to look at the lab's networks", "iproute2"},
		{"bash", "containers start through it", "bash"},
		{"nsenter", "commands enter a node with it", "util-linux"},
		{"unshare", "commands enter a node with it", "util-linux"},
		{"setpriv", "daemons give up the rights of root with it", "util-linux"},
	} {
		if _, err := exec.LookPath(tool.Name); err != nil {
			missing = append(missing, tool)
		}
	}
	if c.Kerberos {
		missing = append(missing, lacksKDC()...)
	}
	if len(missing) == 0 {
		return nil
	}
	return &MissingError{missing}
}

func needsMaven(c Config) bool {
	cache, err := cacheFolder()
	if c.HadoopHome != "" || err != nil {
		return false
	}
	_, err = os.Stat(filepath.Join(c.release().folder(cache), "jars"))
	return err != nil
}
