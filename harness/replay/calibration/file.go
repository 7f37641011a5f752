package calibration

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"

	"heddle/harness/nearest"
)

// WriteFile writes the calibration to a JSON file.
func (c *Calibration) WriteFile(path string) error {
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("write calibration %s: %w", path, err)
	}
	if err := os.WriteFile(path, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("write calibration: %w", err)
	}
	return nil
}

// Read reads a calibration file that WriteFile wrote.
func Read(path string) (*Calibration, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read calibration: %w", err)
	}
	c, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("read calibration %s: %w", path, err)
	}
	return c, nil
}

func parse(data []byte) (*Calibration, error) {
	c := new(Calibration)
	err := json.Unmarshal(data, c)
	if err == nil {
		err = c.checkFormat()
	}
	if err == nil {
		err = checkKeys(data, reflect.TypeFor[Calibration](), "")
	}
	if err == nil {
		err = c.check()
	}
	return c, err
}

// checkFormat refuses a calibration file of a newer format.
func (c *Calibration) checkFormat() error {
	if c.Format < 1 || c.Format > calibrationFormat {
		return fmt.Errorf("format %d: this heddle reads formats up to %d; was the file written by heddle replay --calibrate?",
			c.Format, calibrationFormat)
	}
	return nil
}

// checkKeys refuses JSON with a key that type t lacks, because a misspelt key would
// silently count as 0. It also refuses JSON that lacks a key which WriteFile always
// writes. The argument at is the place in the file, for messages.
func checkKeys(data []byte, t reflect.Type, at string) error {
	switch t.Kind() {
	case reflect.Slice:
		var list []json.RawMessage
		if err := json.Unmarshal(data, &list); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		for i, element := range list {
			if err := checkKeys(element, t.Elem(), fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		var values map[string]json.RawMessage
		if err := json.Unmarshal(data, &values); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		for _, key := range sortedKeys(values) {
			if err := checkKeys(values[key], t.Elem(), at+"."+key); err != nil {
				return err
			}
		}
	case reflect.Struct:
		return checkFields(data, t, at)
	default:
		if string(data) == "null" {
			return fmt.Errorf("%s: null is not allowed here", at)
		}
	}
	return nil
}

func checkFields(data []byte, t reflect.Type, at string) error {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(data, &values); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	if at != "" {
		at += "."
	}
	fields := map[string]reflect.Type{}
	var missing []string
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		fields[name] = t.Field(i).Type
		if _, ok := values[name]; !ok && options != "omitempty" {
			missing = append(missing, name)
		}
	}
	for _, key := range sortedKeys(values) {
		field, ok := fields[key]
		if !ok {
			return fmt.Errorf("unknown key %q; %s", at+key, nearest.Hint(key, sortedKeys(fields)))
		}
		if err := checkKeys(values[key], field, at+key); err != nil {
			return err
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("key %q is missing; heddle replay --calibrate writes all that are needed", at+missing[0])
	}
	return nil
}

// mostAMMemoryMB is the most memory of an ApplicationMaster that a file may say, in MB.
const mostAMMemoryMB = 1 << 30

// mostContention is the most by which attempts may slow each other that a file may say.
const mostContention = 10

// check refuses a calibration with a number that is negative, not finite, or too
// large to be a time.
func (c *Calibration) check() error {
	if n := c.Noise; n != nil && !(n.Runs >= 0 && n.Measured >= 0 && n.Measured <= mostNoise && n.Simulated >= 0 && n.Simulated <= mostNoise) {
		return fmt.Errorf("noise: %d runs, measured %v, simulated %v: want 0 runs or more, and deviations from 0 to %d",
			n.Runs, n.Measured, n.Simulated, mostNoise)
	}
	if !(c.Contention >= 0 && c.Contention <= mostContention) {
		return fmt.Errorf("contention %v: want 0 to %d", c.Contention, mostContention)
	}
	if c.AMMemoryMB < 0 || c.AMMemoryMB > mostAMMemoryMB {
		return fmt.Errorf("amMemoryMB %d: want 0 to %d", c.AMMemoryMB, mostAMMemoryMB)
	}
	for _, x := range c.figures() {
		if !(x >= 0 && x < 1e12) {
			return fmt.Errorf("figure %v: it must be 0 or more", x)
		}
	}
	return nil
}

// figures are all numbers that may be any, from 0.
func (c *Calibration) figures() []float64 {
	figures := []float64{
		float64(c.LinkBytesPerSec), float64(c.UplinkBytesPerSec), float64(c.DiskBytesPerSec), float64(c.AMBeatMs), c.Sharing,
		c.HostCores, c.MasterCores, c.MastersUp, c.OthersCores,
		c.AMStart.Value, c.Finish.Value, c.Turnover.Value, c.TaskStart.Value, c.LaunchMs, c.FreeMs,
	}
	if c.Load != nil {
		figures = append(figures, c.Load.Idle)
		for _, x := range c.Load.Tasks {
			figures = append(figures, x.Load)
		}
	}
	for _, costs := range c.CPU {
		for _, x := range costs {
			figures = append(figures, float64(x.Bytes), float64(x.Maps), x.CPUMs)
		}
	}
	for _, q := range c.LabelQuantiles {
		figures = append(figures, float64(q))
	}
	for _, w := range c.Workloads {
		figures = append(figures, w.MapOutputPerByte, w.ReduceOutputPerByte)
		for _, p := range []Phase{w.Map, w.Reduce} {
			figures = append(append(figures, p.FixedMs, p.MsPerMiB, p.SpreadMiB), p.Spread...)
		}
	}
	return figures
}
