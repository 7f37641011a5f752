package config

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"heddle/harness/measure"
)

// SizeClasses are classes into which jobs are put by their number of maps. The key
// is the name of a class, the value the largest number of maps of its jobs. The
// class with the value 0 has all larger jobs.
type SizeClasses map[string]int

// maxSizeClasses is the largest number of size classes in one experiment.
const maxSizeClasses = 20

// Measured returns the classes as package measure wants them: in ascending order,
// and where the experiment names none, those that are usual.
func (c SizeClasses) Measured() []measure.SizeClass {
	if len(c) == 0 {
		return measure.SizeClasses()
	}
	var list []measure.SizeClass
	for _, name := range slices.Sorted(maps.Keys(c)) {
		most := c[name]
		if most == 0 {
			most = math.MaxInt
		}
		list = append(list, measure.SizeClass{Name: name, Most: most})
	}
	slices.SortFunc(list, func(a, b measure.SizeClass) int { return cmp.Compare(a.Most, b.Most) })
	return list
}

func (c SizeClasses) problems(p *problems) {
	if len(c) == 0 {
		return
	}
	if len(c) < 2 || len(c) > maxSizeClasses {
		p.addf("sizeClasses", "%d classes: want 2 to %d, such as {small: 10, large: }", len(c), maxSizeClasses)
	}
	names := map[int]string{}
	for _, name := range slices.Sorted(maps.Keys(c)) {
		path, most := join("sizeClasses", name), c[name]
		other, twice := names[most]
		switch names[most] = name; {
		case !labelName.MatchString(name):
			p.addf(path, "%q: %s", name, wantLabel)
		case most < 0:
			p.addf(path, "%d: want the largest number of maps of a job in the class, 1 or more", most)
		case twice:
			p.addf(path, "%d: the largest number of maps of class %s too", most, other)
		}
	}
	if _, ok := names[0]; !ok {
		p.addf("sizeClasses", "no class of all larger jobs; want one without a number, such as {small: 10, large: }")
	}
}
