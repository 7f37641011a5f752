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

// MissingError says what this machine lacks for a lab.
type MissingError struct {
	What []Missing
}

// Missing is one thing that a machine lacks.
type Missing struct {
	Name string // "java", "root"
	Why  string // what it is for, and what was found instead
	// Package is the Debian package that brings it; empty where no package can.
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

// Packages are the Debian packages that would help.
func (e *MissingError) Packages() []string {
	var packages []string
	for _, m := range e.What {
		if m.Package != "" {
			packages = append(packages, m.Package)
		}
	}
	return packages
}

// NeedLinux says so where there is none.
func NeedLinux() error {
	if runtime.GOOS == "linux" {
		return nil
	}
	return fmt.Errorf("a lab needs Linux, since its nodes are network namespaces and control groups, and this is %s", runtime.GOOS)
}

// NeedRoot checks that this process may change a lab. The error is a
// *MissingError.
func NeedRoot() error {
	if os.Geteuid() != 0 {
		return &MissingError{[]Missing{{Name: "root", Why: "network namespaces, links and control groups are made as root; run it with sudo"}}}
	}
	return nil
}

// Preflight checks, without changing anything, that this machine can run a lab
// like c. The error is a *MissingError.
func Preflight(c Config) error {
	var missing []Missing
	need := func(name, why, pkg string) { missing = append(missing, Missing{name, why, pkg}) }
	var root *MissingError
	if errors.As(NeedRoot(), &root) {
		missing = root.What
	}
	if _, err := findCgroups("/"); err != nil {
		need("control groups", err.Error(), "")
	}
	if _, err := javaHome(); err != nil {
		need("java", "Hadoop runs on it: "+err.Error(), "openjdk-17-jre-headless")
	}
	if needsMaven(c) {
		if _, err := exec.LookPath("mvn"); err != nil {
			need("mvn", "Maven fetches Hadoop "+hadoopVersion+" from Maven Central; or name an unpacked one with --hadoop-home", "maven")
		}
	}
	for tool, why := range map[string]string{"ip": "to look at the lab's networks", "bash": "containers start through it"} {
		if _, err := exec.LookPath(tool); err != nil {
			need(tool, why, map[string]string{"ip": "iproute2", "bash": "bash"}[tool])
		}
	}
	for _, tool := range []string{"nsenter", "unshare"} {
		if _, err := exec.LookPath(tool); err != nil {
			need(tool, "commands enter a node with it", "util-linux")
		}
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
	_, err = os.Stat(filepath.Join(cache, "hadoop-"+hadoopVersion, "jars"))
	return err != nil
}
