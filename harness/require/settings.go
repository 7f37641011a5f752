package require

import (
	_ "embed" // for the settings
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Names of the features of heddle that need Hadoop settings, as in doctor's
// report.
const (
	Captured = "captured" // name of the feature of making traces of jobs
	Steered  = "steered"  // name of the feature of placing containers by heddle's scheduler models
	Cached   = "cached"   // name of the feature of caching job inputs in HDFS
)

// Queues is the text with which the name of every property of the Capacity
// scheduler starts.
const Queues = "yarn.scheduler.capacity."

// settings lists all Hadoop settings that heddle needs. Settings that the same
// doctor check looks at follow each other; doctor shows only the first one's
// reason.
var settings = readSettings()

//go:embed settings.yaml
var settingsFile []byte

func readSettings() (list []Setting) {
	var rows []struct {
		Setting `yaml:",inline"`
		Good    string
	}
	if err := yaml.Unmarshal(settingsFile, &rows); err != nil {
		panic(err) // the file is part of this program
	}
	for _, r := range rows {
		r.met = rules[r.Good]
		if low, high, ok := strings.Cut(r.Good, " to "); ok {
			r.met = func(value string) bool { return number(low) <= number(value) && number(value) <= number(high) }
		} else if r.met == nil && r.Good != "" {
			r.met = func(value string) bool { return slices.Contains(strings.Fields(r.Good), value) }
		}
		list = append(list, r.Setting)
	}
	return list
}

// rules are what else may be good of a value.
var rules = map[string]func(string) bool{
	"any": func(value string) bool { return value != "" },
	// A folder without a scheme is in HDFS, and one of viewfs may be.
	"in HDFS": func(value string) bool {
		scheme, _, other := strings.Cut(value, ":")
		return value != "" && (!other || scheme == "hdfs" || scheme == "viewfs")
	},
	// Hosts empty /tmp when they restart.
	"outside /tmp": func(value string) bool {
		return value != "" && !strings.HasPrefix(strings.TrimPrefix(value, "file://"), "/tmp/")
	},
}

// number returns NaN, which no comparison holds for, of what is no number.
func number(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return n
}
