package paper

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"heddle/harness/design"
)

// named returns the reading with this name; empty means AsPrinted.
func (p *Paper) named(name string) (Reading, error) {
	if name == "" || name == AsPrinted {
		return Reading{Name: AsPrinted}, nil
	}
	for _, r := range p.Readings {
		if r.Name == name {
			return r, nil
		}
	}
	return Reading{}, fmt.Errorf("reading %q: %w: there are %s", name, ErrUnknown, strings.Join(p.readingNames(), ", "))
}

func (p *Paper) readingNames() []string {
	names := []string{AsPrinted}
	for _, r := range p.Readings {
		names = append(names, r.Name)
	}
	return names
}

// printed returns the first value of every axis, by the name of what it sets.
func (p *Paper) printed() map[string]string {
	values := map[string]string{}
	for i := range p.Axes {
		values[p.Axes[i].key()] = p.Axes[i].Values[0].Value
	}
	return values
}

// Key returns what an axis of this name sets. Any other name stands for itself.
func (p *Paper) Key(name string) string {
	for i := range p.Axes {
		if p.Axes[i].Name == name {
			return p.Axes[i].key()
		}
	}
	return name
}

// axes returns the paper's axes, with the values that a reading takes.
func (p *Paper) axes(values map[string]string) []AxisTaken {
	var list []AxisTaken
	for _, a := range p.Axes {
		t := AxisTaken{Axis: a, Taken: values[a.key()]}
		for _, v := range a.Values {
			if v.Value == t.Taken {
				t.Mark, t.Why = v.Mark, v.Why
			}
		}
		list = append(list, t)
	}
	return list
}

// AxisTaken is an axis with the value that a reading takes.
type AxisTaken struct {
	Axis
	Taken string `json:"taken"`
	Mark  Mark   `json:"mark"` // empty for a value that is none of the axis's
	Why   string `json:"why,omitempty"`
}

// differing returns values that differ from those as printed, as a text like
// "reward=step, episode=job".
func (p *Paper) differing(set map[string]string) string {
	var list []string
	left := maps.Clone(set)
	for i := range p.Axes {
		a := &p.Axes[i]
		if v, ok := left[a.key()]; ok {
			list = append(list, a.Name+"="+v)
			delete(left, a.key())
		}
	}
	for _, key := range slices.Sorted(maps.Keys(left)) {
		list = append(list, key+"="+left[key])
	}
	return strings.Join(list, ", ")
}

// changed returns the values that a user sets otherwise than a reading has them, as
// differing does. The set-up's own value of a property that no axis has is not known
// here, so that setting such a property counts as a change.
func (p *Paper) changed(r Reading, set map[string]string) string {
	values, other := p.values(r, nil), map[string]string{}
	for key, value := range set {
		if was, known := values[key]; !known || was != value {
			other[key] = value
		}
	}
	return p.differing(other)
}

// chosen returns the axes that a matrix varies: those with the given names, or
// those that the paper chooses. To screen is to vary all of them. Axes with a fixed
// value are left out.
func (p *Paper) chosen(names []string, screen bool, fixed map[string]string) ([]*Axis, error) {
	var list []*Axis
	var all []string
	left := slices.Clone(names)
	for i := range p.Axes {
		a := &p.Axes[i]
		all = append(all, a.Name)
		wanted := slices.Contains(names, a.Name)
		left = slices.DeleteFunc(left, func(name string) bool { return name == a.Name })
		if _, isFixed := fixed[a.key()]; !isFixed && (wanted || len(names) == 0 && (a.Chosen || screen)) {
			list = append(list, a)
		}
	}
	if len(left) > 0 {
		return nil, fmt.Errorf("axis %q: %w: paper %s has %s", left[0], ErrUnknown, p.Name, strings.Join(all, ", "))
	}
	return list, nil
}

// readings returns the readings of a matrix: as printed, those with a name, each
// axis changed alone from the last of these, each cost changed alone as printed,
// and mixed ones, in which every pair of values of two axes occurs. To screen is
// to change each axis alone from both, and to mix nothing. With vary.Full all
// combinations take the place of the mixed ones.
func (p *Paper) readings(axes []*Axis, vary Vary) []Reading {
	named := append([]Reading{{Name: AsPrinted}}, p.Readings...)
	centre := named[len(named)-1]
	var list []Reading
	known, mixed := map[string]bool{}, 0
	add := func(r Reading) {
		values := p.values(r, nil)
		if id := fmt.Sprint(values); !known[id] {
			known[id] = true
			if r.Name == "" {
				mixed++
				r.Name = fmt.Sprintf("mixed %d", mixed)
			}
			list = append(list, r)
		}
	}
	alone := func(from Reading, a *Axis) {
		for _, v := range a.Values {
			set := maps.Clone(from.Set)
			if set == nil {
				set = map[string]string{}
			}
			set[a.key()] = v.Value
			add(Reading{Name: from.Name + ", " + a.Name + "=" + v.Value, Set: set})
		}
	}
	for _, r := range named {
		add(r)
	}
	for _, a := range axes {
		alone(centre, a)
	}
	for _, a := range axes {
		if a.Of == Cost || vary.Screen {
			alone(named[0], a)
		}
	}
	switch {
	case vary.Screen:
		return list
	case vary.Full:
		for _, r := range of(axes, design.Grid(levels(axes))) {
			add(r)
		}
		return list
	}
	var mixable []*Axis
	slow := map[string]string{} // axes that are not mixed are as in the reading from which axes are changed alone
	for _, a := range axes {
		if !a.Alone {
			mixable = append(mixable, a)
		} else if v, ok := centre.Set[a.key()]; ok {
			slow[a.key()] = v
		}
	}
	for _, r := range of(mixable, design.Pairwise(levels(mixable))) {
		maps.Copy(r.Set, slow)
		add(r)
	}
	return list
}

// of returns the readings of a design, which has for each reading the index of a value
// of each axis.
func of(axes []*Axis, rows [][]int) []Reading {
	var list []Reading
	for _, row := range rows {
		r := Reading{Set: map[string]string{}}
		for i, a := range axes {
			r.Set[a.key()] = a.Values[row[i]].Value
		}
		list = append(list, r)
	}
	return list
}

// levels returns how many values each axis has.
func levels(axes []*Axis) []int {
	var list []int
	for _, a := range axes {
		list = append(list, len(a.Values))
	}
	return list
}
