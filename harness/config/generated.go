package config

import (
	"fmt"

	"heddle/harness/workload/generate"
)

// generated are the workloads of this program that functions make, by their names.
var generated = map[string]generate.Workload{}

// RegisterWorkloads makes workloads known to experiment files. A program calls it at its
// start. If one of them is wrong, or has the name of another workload, the function adds
// none and says what to change.
func RegisterWorkloads(more ...generate.Workload) error {
	names := map[string]bool{}
	for _, w := range more {
		if err := w.Check(); err != nil {
			return fmt.Errorf("register %w", err)
		}
		if _, taken := workloadKinds[w.Name]; taken || names[w.Name] {
			return fmt.Errorf("register workload %s: there is a workload of this name already; change the field Name of one of them", w.Name)
		}
		names[w.Name] = true
	}
	for _, w := range more {
		generated[w.Name] = w
		workloadKinds[w.Name] = workloadKind{append([]string{"params"}, jobKeys...), Workload.generatedProblems}
	}
	return nil
}

// Generated returns the workload with this name that a function makes.
func Generated(name string) (generate.Workload, bool) {
	w, ok := generated[name]
	return w, ok
}

// generatedProblems adds what is wrong with an entry whose jobs a function makes.
func (w Workload) generatedProblems(p *problems, path string) {
	w.jobKeysProblems(p, path)
	if _, err := generated[w.Name].Make(w.Params); err != nil {
		p.addf(path+".params", "%v", err)
	}
}
