package sched

import (
	"cmp"
	"fmt"
	"slices"

	"heddle/harness/nearest"
)

// models are all scheduler models that are known by name, sorted by name: those
// of this package, and those that Register has added.
var models = []Info{
	aclInfo,
	capacityInfo,
	delayInfo,
	fairInfo,
	fifoInfo,
	matchingInfo,
	plannedInfo,
	randomInfo,
	reduceGreedyInfo,
	reduceRandomInfo,
}

// List returns the descriptions of all scheduler models, sorted by name.
func List() []Info { return slices.Clone(models) }

// New makes the scheduler model with this name. An unknown model or parameter,
// or a value out of range, is an error that lists what is allowed.
//
// The parameter "reduces" names a second model, which places the reduces, while
// the first one places only maps, see Compose. The second model's parameters have
// "reduces." before their names, such as "reduces.seed".
func New(name string, p Params) (Model, error) {
	if second, ok := p[reducesParam]; ok {
		return newComposed(name, second, p)
	}
	return newAlone(name, p)
}

// newAlone makes the scheduler model with this name, which places all tasks.
func newAlone(name string, p Params) (Model, error) {
	i, found := find(models, name)
	if !found {
		return nil, fmt.Errorf("no model %q; %s", name, nearest.Hint(name, names(models, func(m Info) string { return m.Name })))
	}
	return models[i].New(p)
}

// Register makes scheduler models of other packages known to New and List, and
// so to all commands, experiment files and papers. A program calls it at its
// start, before anything else of this package. If one of the models is wrong or
// has the name of another, Register adds none and says what to change.
func Register(more ...Info) error {
	all := List()
	for _, m := range more {
		if err := m.Check(); err != nil {
			return fmt.Errorf("register %w", err)
		}
		i, taken := find(all, m.Name)
		if taken {
			return fmt.Errorf("register model %s: there is a model of this name already; change the field Name of one of them", m.Name)
		}
		all = slices.Insert(all, i, m)
	}
	models = all
	return nil
}

// find returns where a model stands in a sorted list, or is to be inserted.
func find(list []Info, name string) (int, bool) {
	return slices.BinarySearchFunc(list, name, func(m Info, name string) int { return cmp.Compare(m.Name, name) })
}

func names[T any](list []T, name func(T) string) []string {
	names := make([]string, len(list))
	for i, x := range list {
		names[i] = name(x)
	}
	return names
}
