package hibench

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
)

// Report is a parsed line of HiBench's file hibench.report. heddle keeps it
// beside its own results but computes nothing from it. The line does not prove
// that a job succeeded, and its duration is by the client's clock.
type Report struct {
	Line            string    // the line of hibench.report as written
	Type            string    // HiBench's name of the workload, such as HadoopWordcount
	End             time.Time // time at which HiBench wrote the report line, in whole seconds of local time
	InputBytes      int64
	Duration        time.Duration // duration of the run, in milliseconds
	BytesPerSec     int64         // input bytes per second, as a whole number
	NodeBytesPerSec int64         // input bytes per second, divided by the number of workers
}

// ParseReportLine parses a line of hibench.report. The line is split at blanks
// and not at fixed columns, because HiBench pads columns with blanks and a
// value may be wider than its column.
func ParseReportLine(line string) (Report, error) {
	f := strings.Fields(line)
	if len(f) != 7 {
		return Report{}, fmt.Errorf("hibench: report line %q: %d columns, want 7", line, len(f))
	}
	r := Report{Line: strings.TrimRight(line, "\r\n"), Type: f[0]}
	var err error
	if r.End, err = time.ParseInLocation("2006-01-02 15:04:05", f[1]+" "+f[2], time.Local); err != nil {
		return Report{}, fmt.Errorf("hibench: report line %q: %w", line, err)
	}
	seconds, err := strconv.ParseFloat(f[4], 64)
	if err != nil || !(seconds >= 0 && seconds < 1e9) {
		return Report{}, fmt.Errorf("hibench: report line %q: duration %q: want a number of seconds", line, f[4])
	}
	r.Duration = time.Duration(math.Round(seconds*1000)) * time.Millisecond
	for i, n := range map[int]*int64{3: &r.InputBytes, 5: &r.BytesPerSec, 6: &r.NodeBytesPerSec} {
		if *n, err = strconv.ParseInt(f[i], 10, 64); err != nil || *n < 0 {
			return Report{}, fmt.Errorf("hibench: report line %q: column %d: %q: want a whole number, 0 or more", line, i+1, f[i])
		}
	}
	return r, nil
}

// readReport parses the last line of the file hibench.report at the given path,
// which is about the latest job.
func readReport(name string) (*Report, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read HiBench's report: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	r, err := ParseReportLine(lines[len(lines)-1])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &r, nil
}
