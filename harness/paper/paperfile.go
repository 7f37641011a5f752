package paper

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// paperFile is a paper's file. Lists of lists are rows: of a fact its item, what it is and why; of an
// axis's value the value, its mark and why; of what is not judged what the paper says and why.
type paperFile struct {
	Name, Title, Source, Claimant string
	// Explain says what explains the results: each <formula> is its value, and $name what the paper's code says.
	Explain              string
	Setup                map[string]string // properties of the Testbed, for a paper without a set-up of its own
	Facts                [][]string
	Schedulers, Controls []Scheduler
	Bars                 []string
	Axes                 []axisFile
	Readings             ordered[map[string]string]
	Designs              []designFile
	Figures              []figureFile
	Claims               []claimFile
	NotJudged            [][]string `yaml:"notJudged"`
	Measures             []measureFile
	Sized                Sized
}

// readPaperFile reads a paper's file, which may be a stranger's.
func readPaperFile(files fs.FS) (f *paperFile, err error) {
	in, err := files.Open(PaperFile)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, numbersMaxBytes+1))
	if err != nil || len(data) > numbersMaxBytes {
		return nil, cmp.Or(err, fmt.Errorf("more than %d bytes", numbersMaxBytes))
	}
	defer func() {
		if r := recover(); r != nil { // the YAML library may panic
			err = fmt.Errorf("not valid YAML: %v", r)
		}
	}()
	f = &paperFile{}
	if err = yaml.Load(data, f, yaml.WithKnownFields()); err == nil && (!nameForm.MatchString(f.Name) || f.Title == "") {
		err = fmt.Errorf("name %q, title %q: want a title, and a name of letters, digits and - that begins with a letter", f.Name, f.Title)
	}
	return f, err
}

type axisFile struct {
	Name, Sets, About   string
	Cost, Chosen, Alone bool
	Values              [][]string
}

type designFile struct {
	ID, X   string
	Like    string            // another design, whose columns these are
	Set     map[string]string // in all columns
	Columns ordered[map[string]string]
}

type figureFile struct {
	ID, Title, Design, Unit, Of, X, Go string
	Kind                               Kind
	Schedulers                         []string
	Rows                               []struct {
		Row, Is string
		Once    bool
		Each    []any
	}
	Published []publishedFile
	Notes     []string
}

// publishedFile compares numbers of several schedulers, or of several columns, in which $s
// and $1 stand for their names.
type publishedFile struct {
	What, Unit, Is, Go string
	For                []string
	Each               []any
}

type measureFile struct {
	Name, Unit, Is, Go, In string
	OfSetup                bool `yaml:"ofSetup"`
}

type claimFile struct {
	ID, Text, Published, Go string
	Kind                    ClaimKind
	Figures                 []string
	In                      string // the design of formulas that name none
	Asks                    []effectFile
	Gaining                 *effectFile // a gain of which the claim says that it is larger here than there
	LeastFirst              bool        `yaml:"leastFirst"` // whether effects are in the order of their values
	Beats                   *effectFile
}

// effectFile is an effect, or several: one for each of Each, whose elements $1, $2 and so on stand
// for. Saves, Above, Rises and Steadier are usual effects.
type effectFile struct {
	What, Unit, Is, In, Room, Why string
	Saves, Above, Rises, Steadier []string
	At                            []string // columns of Saves, Above
	Least, Most, None             float64
	Third                         string // "figure; row; column" of the number of which a third is the least asked for
	Within                        []float64
	Near                          []string // a value, and how far from it at most, which a formula may say
	Each                          []any

	published, at float64
	by            *formula
}

// usual are the effects that papers on schedulers ask for, by the keys of a file. The elements of such a
// key's list are $1 and so on, $most is the most that the rate $1 can be, and $at are the columns asked for.
var usual = []struct {
	list                          func(*effectFile) []string
	long                          int
	none                          float64
	what, unit, is, room, roomWhy string
}{
	{
		func(x *effectFile) []string { return x.Saves }, 2, 0, "time that $2 saves against $1$with", "%",
		"saved(time[$1$at], time[$2$at])", "saved(time[$1$at], least[$1$at])",
		"the work of the jobs takes so long on all cores, containers and disks of the cluster",
	},
	{
		func(x *effectFile) []string { return x.Above }, 3, 0, "$1 rate of $3 above $2's", "points",
		"$1[$3$at] - $1[$2$at]", "mean($most[$2$at] - $1[$2$at])", "$2 is at <$1[$2$at]> %, and no scheduler can be above <$most[$2$at]> %",
	},
	{
		func(x *effectFile) []string { return x.Rises }, 4, 0, "$1 rate of $2 from $3 to $4", "points",
		"$1[$2; $4] - $1[$2; $3]", "mean($most[$2; $4] - $1[$2; $3])", "it begins at <$1[$2; $3]> %",
	},
	{
		func(x *effectFile) []string { return x.Steadier }, 3, 1, "deviation of the $1 rate of $2 in $in", "times $3's",
		"steadier($1[$2], $1[$3])", "", "",
	},
}

// spelt fills in what a usual effect stands for. It reports whether the effect is computed in one way, and
// its lists are as long as they must be.
func (x *effectFile) spelt() bool {
	ways := 0
	if x.Is != "" {
		ways++
	}
	for _, u := range usual {
		list := u.list(x)
		if len(list) == 0 {
			continue
		}
		if ways++; len(list) != u.long || u.long > 2 && shareOf[list[0]] == nil {
			return false
		}
		most, with := "all", ""
		if list[0] == "cache" {
			most = "cachedAnywhere"
		}
		if len(x.At) == 1 {
			with = " with " + x.At[0]
		}
		words := []string{"$most", most, "$in", x.In, "$with", with, "$at", strings.Join(append([]string{""}, x.At...), "; ")}
		for i, word := range list {
			words = append(words, fmt.Sprint("$", i+1), word)
		}
		r := strings.NewReplacer(words...)
		x.What, x.Unit, x.None = cmp.Or(x.What, r.Replace(u.what)), r.Replace(u.unit), cmp.Or(x.None, u.none)
		x.Is, x.Room, x.Why = r.Replace(u.is), cmp.Or(x.Room, r.Replace(u.room)), cmp.Or(x.Why, r.Replace(u.roomWhy))
	}
	pair := func(n int) bool { return n == 0 || n == 2 }
	return ways == 1 && pair(len(x.Within)) && pair(len(x.Near))
}

// ordered is a mapping whose order counts.
type ordered[T any] []struct {
	Key   string
	Value T
}

// UnmarshalYAML reads a mapping.
func (o *ordered[T]) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: want a mapping", n.Line)
	}
	for i := 0; i < len(n.Content); i += 2 {
		var x struct {
			Key   string
			Value T
		}
		x.Key = n.Content[i].Value
		if err := n.Content[i+1].Load(&x.Value); err != nil {
			return err
		}
		*o = append(*o, x)
	}
	return nil
}

// check says what is wrong with names in a paper's file: a paper is not simulated with some of it.
func (l *loader) check(f *paperFile) {
	var labels, parts []string
	for _, s := range slices.Concat(l.Schedulers, l.Controls) {
		labels = append(labels, s.Label)
		if l.at = s.Label; l.code.Setup == nil {
			l.fail(l.Paper.check(s))
		}
	}
	known := func(what string, names []string, among []string) {
		for _, name := range names {
			if !slices.Contains(among, name) {
				l.fail(fmt.Errorf("%s %q: %w: there are %s", what, name, ErrUnknown, strings.Join(among, ", ")))
			}
		}
	}
	l.at = "the paper"
	known("claimant", []string{l.Claimant}, labels)
	known("bar", l.Bars, labels)
	for _, a := range l.Axes {
		l.at = "axis " + a.Name
		if len(a.Values) == 0 {
			l.fail(errors.New("it has no values"))
		}
		for _, v := range a.Values {
			known("mark of "+v.Value, []string{string(v.Mark)}, []string{string(Printed), string(Code), string(Inferred), string(Ours)})
		}
	}
	for _, x := range f.Figures {
		l.at = "figure " + x.ID
		parts = append(parts, x.ID)
		known("kind", []string{string(x.Kind)}, []string{"", string(Line), string(Bars), string(Series), string(CDF), string(Points)})
	}
	for _, x := range f.Claims {
		l.at = "claim " + x.ID
		known("kind", []string{string(x.Kind)}, []string{string(Judged), string(Check), string(ReportOnly)})
		known("figure", x.Figures, parts)
		if len(x.Asks) == 0 && x.Go == "" {
			l.fail(errors.New("it asks for nothing: want asks"))
		}
	}
}
