package hibench

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Validate returns an error if the spec has a value that is not allowed. The
// error says which values are allowed.
func (s Spec) Validate() error {
	w, ok := workloads[s.Workload]
	if !ok {
		return fmt.Errorf("hibench: unknown workload %q: want %s, %s, %s", s.Workload, strings.Join(Workloads(), ", "), Grep, Script)
	}
	var err error
	switch {
	case s.Workload == Sleep:
		err = s.checkSleep()
	case s.Sleep|s.ReduceSleep != 0:
		err = fmt.Errorf("it does not sleep; only %s does", Sleep)
	case s.Workload == Script:
		err = s.checkScript()
	case s.Script != "":
		err = fmt.Errorf("it has no script; only %s has", Script)
	case w.group == groupSQL:
		err = s.checkRows()
	case s.Visits != 0 || s.Pages != 0:
		err = errors.New("it reads no tables; want a size in place of visits and pages")
	case s.Profile != "" && w.sizes == nil:
		err = fmt.Errorf("profile %q: it has none of HiBench's sizes; want a size in bytes", s.Profile)
	case s.SizeBytes == 0 && w.sizes == nil:
		err = errors.New("no size; want a size in bytes")
	default:
		err = s.checkProfile(fmt.Sprintf("a size (%d bytes)", s.SizeBytes), "a size in bytes", s.SizeBytes != 0)
	}
	if err == nil {
		err = s.checkTasks(w)
	}
	if err == nil {
		err = s.checkRegex()
	}
	if err == nil {
		err = checkSettings(s.Settings)
	}
	if err != nil {
		return fmt.Errorf("hibench: %s: %w", s.Workload, err)
	}
	return nil
}

// checkProfile returns an error unless the spec has exactly one of a known profile and
// what stands for it, which is given: that in words, such as "a size", and what is wanted
// in its place if both are missing.
func (s Spec) checkProfile(other, want string, given bool) error {
	profiles := strings.Join(Profiles(), ", ")
	switch {
	case s.Profile != "" && given:
		return fmt.Errorf("both a profile (%s) and %s; want one of them", s.Profile, other)
	case s.Profile == "" && !given:
		return fmt.Errorf("no size; want a profile (%s) or %s", profiles, want)
	case s.Profile != "" && !slices.Contains(Profiles(), s.Profile):
		return fmt.Errorf("unknown profile %q: want %s", s.Profile, profiles)
	}
	return nil
}

// checkRows returns an error if the sizes of a query's tables are not valid.
func (s Spec) checkRows() error {
	switch {
	case s.SizeBytes != 0:
		return fmt.Errorf("a size of %d bytes; want visits, the number of rows of its larger table", s.SizeBytes)
	case s.Visits < 0 || s.Pages < 0:
		return fmt.Errorf("%d visits, %d pages: want 1 or more", s.Visits, s.Pages)
	case s.Profile != "" && s.Pages != 0:
		return fmt.Errorf("both a profile (%s) and a number of visits or pages; want one of them", s.Profile)
	}
	return s.checkProfile("a number of visits or pages", "a number of visits", s.Visits != 0)
}

// checkTasks returns an error if the numbers of tasks are not valid for the workload's size.
func (s Spec) checkTasks(w workload) error {
	if s.Maps < 0 || s.Reduces < 0 {
		return fmt.Errorf("%d maps, %d reduces: want 1 or more, or 0 for %d", s.Maps, s.Reduces, defaultParallelism)
	}
	if DFSIO(s.Workload) {
		if err := s.checkDFSIO(); err != nil {
			return err
		}
	}
	// Refuse this: RandomTextWriter divides by zero if a map has to write less
	// than one byte.
	switch d := s.withDefaults(); {
	case w.unitBytes == 0 || d.dataSize() >= int64(d.Maps):
		return nil
	case SQL(s.Workload):
		return fmt.Errorf("%d visits are too few for %d maps: want at least %d", d.dataSize(), d.Maps, d.Maps)
	default:
		return fmt.Errorf("%d bytes are too few for %d maps: want at least %d", s.bytes(), d.Maps, int64(d.Maps)*w.unitBytes)
	}
}

// tagsProperty is the Hadoop property with the tags by which heddle finds a job.
const tagsProperty = "mapreduce.job.tags"

// reserved contains the Hadoop properties that users may not set, because
// heddle sets them. For each, it says what the user can do instead.
var reserved = map[string]string{
	"hive.query.tag":                         "the tag of a run is set by the run itself, which finds its jobs by it",
	"hive.execution.engine":                  "the workload is a sequence of MapReduce jobs",
	tagsProperty:                             "the tag of a run is set by the run itself, which finds its jobs by it",
	"mapreduce.job.maps":                     "set the number of maps of the workload",
	"mapreduce.job.reduces":                  "set the number of reduces of the workload",
	"mapreduce.inputformat.class":            "it is part of the workload",
	"mapreduce.outputformat.class":           "it is part of the workload",
	"mapreduce.job.inputformat.class":        "it is part of the workload",
	"mapreduce.job.outputformat.class":       "it is part of the workload",
	"mapreduce.mapper.regex":                 "set the workload's regex",
	"test.build.data":                        "it is part of the workload",
	"dfs.user.home.dir.prefix":               "it is part of the workload",
	"mapreduce.randomtextwriter.totalbytes":  "set the size of the workload",
	"mapreduce.randomtextwriter.bytespermap": "set the size and the number of maps of the workload",
}

func checkSettings(settings []Setting) error {
	for _, p := range settings {
		if err := p.check(); err != nil {
			return err
		}
		if instead, ok := reserved[p.Name]; ok {
			return fmt.Errorf("setting %s is not allowed: %s", p.Name, instead)
		}
	}
	return nil
}

// check returns an error if the property cannot be written to a configuration file.
func (p Setting) check() error {
	if p.Name == "" || strings.ContainsFunc(p.Name, func(r rune) bool { return r <= ' ' || r == '=' || r > '~' }) {
		return fmt.Errorf("setting %q: want a property name, without blanks and =", p.Name)
	}
	// XML cannot represent control characters other than tab and line ends,
	// so a property's value may not contain them.
	notXML := func(r rune) bool {
		return r == utf8.RuneError || unicode.IsControl(r) && !strings.ContainsRune("\t\n\r", r)
	}
	if strings.ContainsFunc(p.Value, notXML) {
		return fmt.Errorf("setting %s: value %q: want plain text without control characters, as XML allows no others", p.Name, p.Value)
	}
	return nil
}
