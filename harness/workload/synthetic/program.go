package synthetic

import (
	"debug/elf"
	"errors"
	"fmt"
)

// machines are the architectures that Hadoop's nodes may have, by Go's names.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64, "ppc64le": elf.EM_PPC64, "s390x": elf.EM_S390}

// CheckProgram looks whether the heddle at a path can run as a task on nodes of
// the given architecture, by Go's name for it. It must be built for Linux and
// that architecture, and must need no C library: that of a node may be another.
func CheckProgram(path, goarch string) error {
	machine, known := machines[goarch]
	if !known {
		return fmt.Errorf("check %s: tasks cannot run on nodes of architecture %s", path, goarch)
	}
	build := fmt.Sprintf("build it with 'GOOS=linux GOARCH=%s CGO_ENABLED=0 go install ./cmd/heddle'", goarch)
	f, err := elf.Open(path)
	var format *elf.FormatError
	if errors.As(err, &format) {
		return fmt.Errorf("check %s: it is no program for Linux, so the cluster's nodes cannot run it as a task; %s", path, build)
	}
	if err != nil {
		return fmt.Errorf("check the program of tasks: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	if f.Machine != machine {
		return fmt.Errorf("check %s: it is for %v and the cluster's nodes are %s, so they cannot run it as a task; %s", path, f.Machine,
			goarch, build)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("check %s: it needs the C library of this machine, which the cluster's nodes may lack; %s", path, build)
		}
	}
	return nil
}
