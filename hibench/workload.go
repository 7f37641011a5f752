package hibench

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/hibench/tables"
)

// Spec says which workload to run, on how much data and with how many
// tasks.
type Spec struct {
	Workload string // name of the workload: one of Workloads, Grep or Script
	Script   string // for Script, the folder of the workload below bin/workloads of a checkout, such as ml/kmeans
	// Profile is the name of one of HiBench's sizes, tiny to bigdata; empty means SizeBytes or Visits. grep, kmeans and bayes have none
	Profile string
	// SizeBytes is the input size, for workloads without Hive; 0 means the size of Profile. terasort rounds it down to rows of 100 bytes
	SizeBytes int64
	Visits    int64 // rows of the table uservisits, for workloads with Hive; 0 means the size of Profile
	// Pages are the rows of the table rankings, for workloads with Hive; 0 means those of Profile, or 12 for 100 Visits, as in most profiles
	Pages int64
	Seed  uint64 // decides the rows of the tables that heddle makes itself
	// Maps is HiBench's NUM_MAPS: the number of tasks that write the input; 0 means 8, as in HiBench. For sleep
	// it is the number of maps, for dfsioe that of files
	Maps    int
	Reduces int    // HiBench's NUM_REDS: number of reduces; 0 means 8, as in HiBench
	Regex   string // regular expression that grep looks for; the other workloads have none
	// Settings are Hadoop properties for all jobs of the workload; they are written to files and sent to YARN, so they
	// must not contain secrets
	Settings []Setting

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

// Workloads returns the sorted names of the HiBench workloads, which Grep and Script
// are not.
func Workloads() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(workloads)), func(name string) bool { return name == Grep || name == Script })
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
	group  string  // HiBench's name for the group of the workload: groupMicro or groupSQL, or that of a script
	folder string  // name of the workload's folder below the data folder; with "Hadoop" before it, the workload's name in reports
	sizes  []int64 // HiBench's size of the input (its DATASIZE) for each profile, in the order of Profiles
	// unitBytes is the number of bytes in one unit of DATASIZE, HiBench's size of the input; for tables, whose
	// sizes are numbers of visits, the least that a visit takes
	unitBytes int64
	second    []int64 // what a profile says besides: pages of tables, seconds that sleep's reduces sleep, or files of dfsioe
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
	Mahout   Program = "Mahout"  // Mahout's jars
	Scripts  Program = "scripts" // HiBench's scripts in a checkout, and what these use
)

// HiBench's groups of workloads.
const (
	groupMicro = "micro"
	groupSQL   = "sql"
)

var workloads = map[string]workload{
	"wordcount": {groupMicro, "Wordcount", []int64{
		32_000, 320_000_000, 3_200_000_000, 32_000_000_000, 320_000_000_000,
		1_600_000_000_000,
	}, 1, nil, wordcountShape, Examples},
	"sort": {
		groupMicro, "Sort",
		[]int64{32_000, 3_200_000, 320_000_000, 3_200_000_000, 32_000_000_000, 300_000_000_000},
		1, nil,
		sortShape, Examples,
	},
	Grep: {groupMicro, "Grep", nil, 1, nil, grepShape, Examples},
	"terasort": {
		groupMicro, "Terasort",
		[]int64{32_000, 3_200_000, 32_000_000, 320_000_000, 3_200_000_000, 6_000_000_000},
		terasortRowBytes, nil, terasortShape, Examples,
	},
	Sleep:         {groupMicro, "Sleep", []int64{3, 30, 90, 90, 90, 10}, 0, []int64{3, 30, 45, 45, 45, 10}, Shape{}, Tests},
	DFSIOWrite:    {groupMicro, "Dfsioe", dfsioSizes, mebi, dfsioFiles, dfsioShape, Tests},
	DFSIORead:     {groupMicro, "Dfsioe", dfsioSizes, mebi, dfsioFiles, dfsioShape, Tests},
	Kmeans:        {folder: "Kmeans", unitBytes: 1, program: Mahout},
	Bayes:         {folder: "Bayes", unitBytes: 1, program: Mahout},
	Script:        {program: Scripts},
	"join":        {groupSQL, "Join", tableSizes(5_000_000_000), 1, tablePages(120_000_000), joinShape, Hive},
	"aggregation": {groupSQL, "Aggregation", tableSizes(1_000_000_000), 1, tablePages(100_000_000), aggregationShape, Hive},
	"scan":        {groupSQL, "Scan", tableSizes(2_000_000_000), 1, tablePages(10_000_000), scanShape, Hive},
}

// tableSizes and tablePages return the rows of the two tables of a query in each profile.
// The queries differ in the last profile alone.
func tableSizes(bigdata int64) []int64 {
	return []int64{1_000, 100_000, 1_000_000, 10_000_000, 100_000_000, bigdata}
}

func tablePages(bigdata int64) []int64 {
	return []int64{120, 12_000, 120_000, 1_200_000, 12_000_000, bigdata}
}

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
	if i := slices.Index(Profiles(), s.Profile); i >= 0 && w.sizes != nil {
		return w.sizes[i]
	}
	if w.group == groupSQL {
		return s.Visits
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
	switch {
	case s.Profile != "":
		return cmp.Or(s.Script, s.Workload) + " " + s.Profile
	case SQL(s.Workload):
		return fmt.Sprintf("%s of %d visits", s.Workload, s.Visits)
	case s.Workload == Sleep:
		return fmt.Sprintf("%s of %v", s.Workload, s.Sleep)
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
