package calibration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
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
	in := json.NewDecoder(bytes.NewReader(data))
	in.DisallowUnknownFields()
	err := in.Decode(c)
	if (err == nil || c.Format > calibrationFormat) && (c.Format < 1 || c.Format > calibrationFormat) {
		err = fmt.Errorf("format %d: this heddle reads formats up to %d; was the file written by heddle replay --calibrate?",
			c.Format, calibrationFormat)
	}
	if err == nil {
		err = c.check()
	}
	return c, err
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
		float64(c.LinkBytesPerSec), float64(c.UplinkBytesPerSec), float64(c.DiskBytesPerSec), float64(c.AMBeatMs), c.Sharing, c.NodeCores,
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
