package hibench

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Sleep is the name of HiBench's workload whose tasks only sleep. It reads and
// writes no files. HiBench's script gives the job seconds where it expects ms, and
// the time of reduces under a name that the job does not know, so its tasks sleep
// for some ms. heddle starts the same job itself, with the times that HiBench's
// configuration means, even with a checkout.
const Sleep = "sleep"

const (
	sleepClass = "org.apache.hadoop.mapreduce.SleepJob"
	maxSleep   = 24 * time.Hour
)

// Sleeps returns how long each map and each reduce of sleep sleeps.
func (s Spec) Sleeps() (ofMap, ofReduce time.Duration) {
	if i := slices.Index(Profiles(), s.Profile); i >= 0 {
		w := workloads[Sleep]
		return time.Duration(w.sizes[i]) * time.Second, time.Duration(w.second[i]) * time.Second
	}
	if s.ReduceSleep == 0 {
		return s.Sleep, s.Sleep
	}
	return s.Sleep, s.ReduceSleep
}

// checkSleep returns an error if the times of sleep are not valid.
func (s Spec) checkSleep() error {
	if s.SizeBytes != 0 || s.Visits != 0 || s.Pages != 0 {
		return errors.New("it reads nothing, so it has no size; want a time to sleep")
	}
	if s.Profile == "" && s.Sleep == 0 {
		return fmt.Errorf("no time to sleep; want one, or a profile (%s)", strings.Join(Profiles(), ", "))
	}
	if err := s.checkProfile("a time to sleep", "one", s.Sleep|s.ReduceSleep != 0); err != nil {
		return err
	}
	ofMap, ofReduce := s.Sleeps()
	for _, d := range []time.Duration{ofMap, ofReduce} {
		if d < time.Millisecond || d > maxSleep || d%time.Millisecond != 0 {
			return fmt.Errorf("%v: want 1ms to %v, in whole ms", d, maxSleep)
		}
	}
	return nil
}

// sleepArgs returns the arguments of the job. With the longer time as the time of a
// record, each task sleeps once.
func (s Spec) sleepArgs() []string {
	ofMap, ofReduce := s.Sleeps()
	ms := func(d time.Duration) string { return decimal(d.Milliseconds()) }
	return []string{
		"-m", strconv.Itoa(s.Maps), "-r", strconv.Itoa(s.Reduces), "-mt", ms(ofMap), "-rt", ms(ofReduce),
		"-recordt", ms(max(ofMap, ofReduce)),
	}
}

// checkSlept compares the counters of sleep's job with the spec. Each map has one
// record and gives one to each reduce. A task takes at least as long as it sleeps.
func (s Spec) checkSlept(k *check, c Counters) error {
	maps, reduces := int64(s.Maps), int64(s.Reduces)
	if err := k.compare("maps (counters)", c.MapInputRecords, maps); err != nil {
		return err
	}
	if err := k.compare("records for reduces (counters)", c.MapOutputRecords, maps*reduces); err != nil {
		return err
	}
	ofMap, ofReduce := s.Sleeps()
	for _, t := range []struct {
		what      string
		ran, want time.Duration
	}{{"maps", c.MapTime, ofMap * time.Duration(maps)}, {"reduces", c.ReduceTime, ofReduce * time.Duration(reduces)}} {
		if t.ran < t.want {
			return fmt.Errorf("%w: its %s took %v together; want at least the %v that they sleep", ErrInvalidOutput, t.what, t.ran, t.want)
		}
		k.add("times of " + t.what)
	}
	return nil
}
