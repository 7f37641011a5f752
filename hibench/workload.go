package hibench

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"heddle/hibench/tables"
)

// Spec says which workload to run, on how much data and with how many
// tasks.
type Spec struct {
	Workload  string    // name of the workload: wordcount, sort, terasort, grep, sleep, dfsioe-write, dfsioe-read, pagerank, kmeans or bayes, or with Hive: join, aggregation or scan
	Profile   string    // name of one of HiBench's sizes, tiny to bigdata; empty means SizeBytes or Visits. grep has none
	SizeBytes int64     // input size in bytes, for workloads without Hive; 0 means the size of Profile. terasort rounds it down to rows of 100 bytes
	Visits    int64     // rows of the table uservisits, for workloads with Hive; 0 means the size of Profile
	Pages     int64     // rows of the table rankings, for workloads with Hive; 0 means those of Profile, or 12 for 100 Visits, as in most profiles. For pagerank and bayes it is the size
	Samples   int64     // points of kmeans; 0 means those of Profile
	Seed      uint64    // decides the rows of the tables, and the points, that heddle makes itself
	Maps      int       // HiBench's NUM_MAPS: number of tasks that write the input; 0 means 8, as in HiBench. For sleep it is the number of maps, for dfsioe that of files
	Reduces   int       // HiBench's NUM_REDS: number of reduces; 0 means 8, as in HiBench
	Regex     string    // regular expression that grep looks for; the other workloads have none
	Settings  []Setting // Hadoop properties for all jobs of the workload; they are written to files and sent to YARN, so they must not contain secrets

	// Sleep is how long each map of sleep sleeps, and ReduceSleep how long each
	// reduce, which is as long if it is 0. 0 for both means the times of Profile.
	Sleep, ReduceSleep time.Duration
}

// Setting is the name and the value of one Hadoop property.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Settings returns the given Hadoop properties as a list sorted by name.
func Settings(properties map[string]string) []Setting {
	var s []Setting
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		s = append(s, Setting{name, properties[name]})
	}
	return s
}

// Workloads returns the sorted names of the HiBench workloads, which Grep is
// not.
func Workloads() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(workloads)), func(name string) bool { return name == Grep })
}

// Profiles returns HiBench's size profiles, smallest first.
func Profiles() []string {
	return []string{"tiny", "small", "large", "huge", "gigantic", "bigdata"}
}

const (
	defaultParallelism = 8
	terasortRowBytes   = 100
)

// workload contains what HiBench's conf file says about one workload.
type workload struct {
	group     string  // HiBench's name for the group of the workload: groupMicro or groupSQL
	folder    string  // name of the workload's folder below the data folder; with "Hadoop" before it, the workload's name in reports
	sizes     []int64 // HiBench's size of the input (its DATASIZE) for each profile, in the order of Profiles
	unitBytes int64   // the number of bytes in one unit of DATASIZE, HiBench's size of the input; for tables, whose sizes are numbers of visits, the least that a visit takes
	second    []int64 // what a profile says besides: pages of tables, seconds that sleep's reduces sleep, files of dfsioe, or iterations of pagerank and kmeans
	shape     Shape   // typical ratios and times of the workload's job, for simulations
	program   Program // what has the workload's program; the default is Examples
}

// Program names what the program of a workload is part of.
type Program string

// All that a workload's program is part of.
const (
	Examples Program = ""        // the jar with Hadoop's examples
	Hive     Program = "Hive"    // Hive's jars
	Tests    Program = "tests"   // the jar with the tests of Hadoop's MapReduce client
	Sources  Program = "sources" // Java sources in HiBench's checkout
	Mahout   Program = "Mahout"  // Mahout's jars
)

// ProgramOf returns what the program of the named workload is part of.
func ProgramOf(workload string) Program { return workloads[workload].program }

// HiBench's groups of workloads.
const (
	groupMicro = "micro"
	groupSQL   = "sql"
	groupWeb   = "websearch"
	groupML    = "ml"
)

var workloads = map[string]workload{
	"wordcount":   {groupMicro, "Wordcount", []int64{32_000, 320_000_000, 3_200_000_000, 32_000_000_000, 320_000_000_000, 1_600_000_000_000}, 1, nil, wordcountShape, Examples},
	"sort":        {groupMicro, "Sort", []int64{32_000, 3_200_000, 320_000_000, 3_200_000_000, 32_000_000_000, 300_000_000_000}, 1, nil, sortShape, Examples},
	Grep:          {groupMicro, "Grep", nil, 1, nil, grepShape, Examples},
	"terasort":    {groupMicro, "Terasort", []int64{32_000, 3_200_000, 32_000_000, 320_000_000, 3_200_000_000, 6_000_000_000}, terasortRowBytes, nil, terasortShape, Examples},
	Sleep:         {groupMicro, "Sleep", []int64{3, 30, 90, 90, 90, 10}, 0, []int64{3, 30, 45, 45, 45, 10}, Shape{}, Tests},
	DFSIOWrite:    {groupMicro, "Dfsioe", dfsioSizes, mebi, dfsioFiles, dfsioShape, Tests},
	DFSIORead:     {groupMicro, "Dfsioe", dfsioSizes, mebi, dfsioFiles, dfsioShape, Tests},
	Pagerank:      {groupWeb, "Pagerank", []int64{50, 5_000, 500_000, 5_000_000, 30_000_000, 50_000_000}, 1, []int64{1, 3, 3, 3, 3, 3}, pagerankShape, Sources},
	Kmeans:        {groupML, "Kmeans", []int64{30_000, 3_000_000, 20_000_000, 100_000_000, 200_000_000, 1_200_000_000}, 1, []int64{5, 5, 5, 5, 5, 10}, kmeansShape, Mahout},
	Bayes:         {groupML, "Bayes", []int64{25_000, 30_000, 100_000, 500_000, 1_000_000, 20_000_000}, 1, nil, bayesShape, Mahout},
	"join":        {groupSQL, "Join", []int64{1_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 5_000_000_000}, 1, []int64{120, 12_000, 120_000, 1_200_000, 12_000_000, 120_000_000}, joinShape, Hive},
	"aggregation": {groupSQL, "Aggregation", []int64{1_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000}, 1, []int64{120, 12_000, 120_000, 1_200_000, 12_000_000, 100_000_000}, aggregationShape, Hive},
	"scan":        {groupSQL, "Scan", []int64{1_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 2_000_000_000}, 1, []int64{120, 12_000, 120_000, 1_200_000, 12_000_000, 10_000_000}, scanShape, Hive},
}

// cannotRun says of workloads of HiBench's for Hadoop why they do not run.
var cannotRun = map[string]string{
	"nutchindexing": "its program is org.apache.nutch.indexer.Indexer of Nutch 1.2, which Maven Central does not have; " +
		"it begins with Nutch 1.3, in which Solr took the place of this class",
}

// CannotRun returns why a workload of HiBench's for Hadoop does not run; empty if it does.
func CannotRun(workload string) string { return cannotRun[workload] }

// SQL reports whether the named workload is a query over tables, which Hive
// runs.
func SQL(workload string) bool { return workloads[workload].group == groupSQL }

// prepareArgs returns the arguments that follow the examples jar in the command
// that makes the input, as in HiBench's prepare.sh.
func (s Spec) prepareArgs(input string) []string {
	if s.Workload == "terasort" {
		return slices.Concat([]string{"teragen"}, s.parallelismArgs(), []string{decimal(s.dataSize()), input})
	}
	if s.Workload == Grep {
		return s.grepPrepareArgs(input)
	}
	if DFSIO(s.Workload) {
		return s.dfsioArgs(DFSIOWrite, input)
	}
	return s.randomTextArgs(input)
}

// randomTextArgs returns the arguments that follow the examples jar in the
// command that writes random words.
func (s Spec) randomTextArgs(input string) []string {
	return slices.Concat([]string{"randomtextwriter"}, defines(
		"mapreduce.randomtextwriter.totalbytes", decimal(s.dataSize()),
		"mapreduce.randomtextwriter.bytespermap", decimal(s.dataSize()/int64(s.Maps))),
		s.parallelismArgs(), []string{input})
}

// runArgs returns the arguments that follow the examples jar in the command
// that runs the workload, as in HiBench's hadoop/run.sh.
func (s Spec) runArgs(input, output string) []string {
	reduces := strconv.Itoa(s.Reduces)
	switch s.Workload {
	case Grep:
		return s.grepArgs(input, output)
	case Sleep:
		return s.sleepArgs()
	case Kmeans:
		return s.kmeansArgs(input, output)
	case Bayes:
		return s.vectorizeArgs(input, output)
	case DFSIOWrite:
		return s.dfsioArgs(DFSIOWrite, output)
	case DFSIORead:
		return s.dfsioArgs(DFSIORead, input)
	case "sort":
		const text = "org.apache.hadoop.io.Text"
		return []string{"sort", "-outKey", text, "-outValue", text, "-r", reduces, input, output}
	case "terasort":
		return slices.Concat([]string{"terasort"}, defines("mapreduce.job.reduces", reduces), []string{input, output})
	}
	const lib = "org.apache.hadoop.mapreduce.lib."
	const in, out = lib + "input.SequenceFileInputFormat", lib + "output.SequenceFileOutputFormat"
	return slices.Concat([]string{"wordcount"}, s.parallelismArgs(), defines(
		"mapreduce.inputformat.class", in, "mapreduce.outputformat.class", out,
		"mapreduce.job.inputformat.class", in, "mapreduce.job.outputformat.class", out),
		[]string{input, output})
}

func (s Spec) parallelismArgs() []string {
	return defines("mapreduce.job.maps", strconv.Itoa(s.Maps), "mapreduce.job.reduces", strconv.Itoa(s.Reduces))
}

// The function defines returns -D options for a Hadoop tool. Its arguments are
// property names and values in turn: a name, its value, the next name, and so
// on.
func defines(nameValue ...string) []string {
	var args []string
	for i := 0; i < len(nameValue); i += 2 {
		args = append(args, "-D", nameValue[i]+"="+nameValue[i+1])
	}
	return args
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// Validate returns an error if the spec has a value that is not allowed. The
// error says which values are allowed.
func (s Spec) Validate() error {
	w, ok := workloads[s.Workload]
	if reason, known := cannotRun[s.Workload]; known {
		return fmt.Errorf("hibench: %s does not run: %s", s.Workload, reason)
	}
	if !ok {
		return fmt.Errorf("hibench: unknown workload %q: want %s, %s", s.Workload, strings.Join(Workloads(), ", "), Grep)
	}
	sql := w.group == groupSQL
	if s.Workload != Sleep && s.Sleep|s.ReduceSleep != 0 {
		return fmt.Errorf("hibench: %s: it does not sleep; only %s does", s.Workload, Sleep)
	}
	switch {
	case s.Workload == Sleep:
		if err := s.checkSleep(); err != nil {
			return err
		}
	case s.Workload == Pagerank || s.Workload == Bayes:
		if err := s.checkCount("pages", s.Pages, s.Samples); err != nil {
			return err
		}
	case s.Workload == Kmeans:
		if err := s.checkCount("samples", s.Samples, s.Pages); err != nil {
			return err
		}
	case s.Samples != 0:
		return fmt.Errorf("hibench: %s: it has no samples; only %s has", s.Workload, Kmeans)
	case sql && s.SizeBytes != 0:
		return fmt.Errorf("hibench: %s: a size of %d bytes; want visits, the number of rows of its larger table", s.Workload, s.SizeBytes)
	case !sql && (s.Visits != 0 || s.Pages != 0):
		return fmt.Errorf("hibench: %s: it reads no tables; want a size in place of visits and pages", s.Workload)
	case s.Visits < 0 || s.Pages < 0:
		return fmt.Errorf("hibench: %s: %d visits, %d pages: want 1 or more", s.Workload, s.Visits, s.Pages)
	case s.Profile != "" && s.Visits+s.Pages != 0:
		return fmt.Errorf("hibench: %s: both a profile (%s) and a number of visits or pages; want one of them", s.Workload, s.Profile)
	case sql && s.Profile == "" && s.Visits == 0:
		return fmt.Errorf("hibench: %s: no size; want a profile (%s) or a number of visits", s.Workload, strings.Join(Profiles(), ", "))
	case s.Profile != "" && w.sizes == nil:
		return fmt.Errorf("hibench: %s: profile %q: it is none of HiBench's workloads; want a size in bytes", s.Workload, s.Profile)
	case s.SizeBytes == 0 && w.sizes == nil:
		return fmt.Errorf("hibench: %s: no size; want a size in bytes", s.Workload)
	case s.Profile != "" && s.SizeBytes != 0:
		return fmt.Errorf("hibench: %s: both a profile (%s) and a size (%d bytes); want one of them", s.Workload, s.Profile, s.SizeBytes)
	case !sql && s.Profile == "" && s.SizeBytes == 0:
		return fmt.Errorf("hibench: %s: no size; want a profile (%s) or a size in bytes", s.Workload, strings.Join(Profiles(), ", "))
	case s.Profile != "" && !slices.Contains(Profiles(), s.Profile):
		return fmt.Errorf("hibench: %s: unknown profile %q: want %s", s.Workload, s.Profile, strings.Join(Profiles(), ", "))
	}
	if s.Maps < 0 || s.Reduces < 0 {
		return fmt.Errorf("hibench: %s: %d maps, %d reduces: want 1 or more, or 0 for %d", s.Workload, s.Maps, s.Reduces, defaultParallelism)
	}
	// Refuse this: RandomTextWriter divides by zero if a map has to write less
	// than one byte.
	d := s.withDefaults()
	if DFSIO(s.Workload) {
		if err := s.checkDFSIO(); err != nil {
			return err
		}
	}
	if sql && d.dataSize() < int64(d.Maps) {
		return fmt.Errorf("hibench: %s: %d visits are too few for %d maps: want at least %d", s.Workload, d.dataSize(), d.Maps, d.Maps)
	}
	if w.unitBytes > 0 && d.dataSize() < int64(d.Maps) {
		return fmt.Errorf("hibench: %s: %d bytes are too few for %d maps: want at least %d", s.Workload, s.bytes(), d.Maps, int64(d.Maps)*w.unitBytes)
	}
	if err := s.checkRegex(); err != nil {
		return err
	}
	return s.checkSettings(s.Settings)
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

// checkCount returns an error if the size of a workload, which is a number of things of
// the given kind, is not valid. The argument other is what the workload must not have.
func (s Spec) checkCount(kind string, count, other int64) error {
	switch d := s.withDefaults(); {
	case s.SizeBytes|s.Visits|other != 0:
		return fmt.Errorf("hibench: %s: its size is a number of %s", s.Workload, kind)
	case s.Profile != "" && !slices.Contains(Profiles(), s.Profile):
		return fmt.Errorf("hibench: %s: unknown profile %q: want %s", s.Workload, s.Profile, strings.Join(Profiles(), ", "))
	case s.Profile != "" && count != 0:
		return fmt.Errorf("hibench: %s: both a profile (%s) and a number of %s; want one of them", s.Workload, s.Profile, kind)
	case s.Profile == "" && count == 0:
		return fmt.Errorf("hibench: %s: no size; want a profile (%s) or a number of %s", s.Workload, strings.Join(Profiles(), ", "), kind)
	case d.dataSize() < int64(d.Maps) || d.dataSize() > maxCount:
		return fmt.Errorf("hibench: %s: %d %s: want at least one for each of %d maps, and at most %d", s.Workload, d.dataSize(), kind, d.Maps, maxCount)
	}
	return nil
}

// maxCount is the greatest number of pages or samples; the ids of pages have 31 bits.
const maxCount = math.MaxInt32

// Iterations returns how many iterations pagerank or kmeans has at most. They end earlier
// if nothing changes much: for pagerank, if no rank changes by more than a tenth of the
// mean rank.
func (s Spec) Iterations() int {
	i := slices.Index(Profiles(), s.Profile)
	if i < 0 {
		i = 1 // a size of one's own has as many as small
	}
	return int(workloads[s.Workload].second[i])
}

func (s Spec) checkSettings(settings []Setting) error {
	for _, p := range settings {
		if err := p.check(); err != nil {
			return fmt.Errorf("hibench: %s: %w", s.Workload, err)
		}
		if instead, ok := reserved[p.Name]; ok {
			return fmt.Errorf("hibench: %s: setting %s is not allowed: %s", s.Workload, p.Name, instead)
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

func (s Spec) withDefaults() Spec {
	if i := slices.Index(Profiles(), s.Profile); i >= 0 && DFSIO(s.Workload) {
		s.Maps = int(dfsioFiles[i])
	}
	if s.Maps == 0 {
		s.Maps = defaultParallelism
	}
	if s.Reduces == 0 {
		s.Reduces = defaultParallelism
	}
	return s
}

// dataSize returns the input's size in HiBench's unit: in rows for terasort, in
// rows of uservisits for the SQL workloads, otherwise in bytes.
func (s Spec) dataSize() int64 {
	w := workloads[s.Workload]
	if i := slices.Index(Profiles(), s.Profile); i >= 0 {
		return w.sizes[i]
	}
	if w.group == groupSQL {
		return s.Visits
	}
	switch s.Workload {
	case Pagerank, Bayes:
		return s.Pages
	case Kmeans:
		return s.Samples
	}
	if w.unitBytes == 0 {
		return 0
	}
	return s.SizeBytes / w.unitBytes
}

// source returns the tables of an SQL workload.
func (s Spec) source() tables.Source {
	t := tables.Source{Visits: s.dataSize(), Pages: s.Pages, Seed: s.Seed}
	if i := slices.Index(Profiles(), s.Profile); i >= 0 {
		t.Pages = workloads[s.Workload].second[i]
	} else if t.Pages == 0 {
		t.Pages = max(1, t.Visits*12/100)
	}
	return t
}

// bytes returns the least number of bytes that the input has.
func (s Spec) bytes() int64 { return s.dataSize() * workloads[s.Workload].unitBytes }

// String returns the spec's workload and size for messages, such as "wordcount
// small" or "sort of 1000 bytes".
func (s Spec) String() string {
	if s.Profile != "" {
		return s.Workload + " " + s.Profile
	}
	if SQL(s.Workload) {
		return fmt.Sprintf("%s of %d visits", s.Workload, s.Visits)
	}
	switch s.Workload {
	case Sleep:
		return fmt.Sprintf("%s of %v", s.Workload, s.Sleep)
	case Pagerank, Bayes:
		return fmt.Sprintf("%s of %d pages", s.Workload, s.Pages)
	case Kmeans:
		return fmt.Sprintf("%s of %d samples", s.Workload, s.Samples)
	}
	return fmt.Sprintf("%s of %d bytes", s.Workload, s.SizeBytes)
}

// dataName returns the name of the HDFS folder for the spec's input and output.
// The name contains the size, the number of maps, and the settings that change
// the input, so that different inputs have different folders.
func (s Spec) dataName() string {
	size := s.Profile
	if size == "" {
		size = decimal(s.bytes())
	}
	if SQL(s.Workload) {
		t := s.source()
		size = fmt.Sprintf("%dvisits-%dpages", t.Visits, t.Pages)
	}
	name := fmt.Sprintf("%s-%dmaps", size, s.Maps)
	if shaping := s.shapingSettings(); len(shaping) > 0 {
		h := sha256.New()
		for _, p := range shaping {
			fmt.Fprintf(h, "%s=%s\n", p.Name, p.Value)
		}
		name += fmt.Sprintf("-%x", h.Sum(nil)[:4])
	}
	return name
}

// shapingSettings returns those Hadoop settings that change the bytes or the
// files of the input, sorted by name. If a name occurs twice, the last value is
// used.
func (s Spec) shapingSettings() []Setting {
	shaping := map[string]string{}
	for _, p := range s.Settings {
		for _, prefix := range []string{"dfs.", "io.", "mapreduce.output.", "mapreduce.randomtextwriter."} {
			if strings.HasPrefix(p.Name, prefix) {
				shaping[p.Name] = p.Value
			}
		}
	}
	return Settings(shaping)
}
