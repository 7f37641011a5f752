package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"heddle/hibench"
)

// WorkloadJar is the name of the workload that runs a jar of the user's. An entry with
// the key jar need not give it.
const WorkloadJar = "jar"

// jarLabel returns the name of a jar without its ending, with _ in place of what
// labels may not contain.
func jarLabel(path string) string { return labelText(strings.TrimSuffix(filepath.Base(path), ".jar")) }

// badJars returns what is wrong with the files of jars.
func (e *Experiment) badJars() problems {
	var p problems
	for i, w := range e.Workloads {
		if w.Jar == "" {
			continue
		}
		if err := w.Program().Validate(); err != nil {
			hint := ""
			if errors.Is(err, fs.ErrNotExist) {
				hint = "; a relative path starts from the folder of this file"
			}
			p.addf(fmt.Sprintf("workloads[%d].jar", i), "%v%s", err, hint)
		}
	}
	return p
}

// Program returns the jar in the form that package hibench needs to run it.
func (w Workload) Program() hibench.Jar {
	return hibench.Jar{Path: w.Jar, Main: w.Main, Args: w.Args, Settings: hibench.Settings(w.Settings)}
}

// jarProblems adds what is wrong with an entry that names a jar. The file itself is
// not read here.
func (w Workload) jarProblems(p *problems, at string) {
	j := w.Program()
	switch {
	case w.Jar == "":
		p.addf(at+".jar", "no jar; want the path of one")
	case w.Input != "" && w.Size != 0:
		p.addf(at+".input", "both an input and a size; want one of them")
	case w.Maps < 0 || w.Maps > 100_000:
		p.addf(at+".maps", "%d: want 0 to 100000", w.Maps)
	case w.Maps > 0 && w.Size == 0:
		p.addf(at+".maps", "it is how many files the input has that heddle writes; give a size with it")
	case w.Input != "" && (!path.IsAbs(w.Input) || path.Clean(w.Input) != w.Input || w.Input == "/"):
		p.addf(at+".input", "%q: want an absolute folder in HDFS below /", w.Input)
	case j.Reads() && w.Input == "" && w.Size == 0:
		p.addf(at+".args", "%s stands for no folder; give an input or a size", hibench.InputPlace)
	case !j.Reads() && (w.Input != "" || w.Size != 0):
		p.addf(at+".args", "no argument has %s, so nothing reads the input; put it where the program takes its input", hibench.InputPlace)
	}
}
