package hibench

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseReportLine(t *testing.T) {
	const line = "HadoopWordcount 2026-11-21 05:39:16 65166232             17.545               3714233              928558              \n"
	got, err := ParseReportLine(line)
	want := Report{
		Line: strings.TrimSuffix(line, "\n"), Type: "HadoopWordcount", End: time.Date(2026, 11, 21, 5, 39, 16, 0, time.Local),
		InputBytes: 65166232, Duration: 17545 * time.Millisecond, BytesPerSec: 3714233, NodeBytesPerSec: 928558,
	}
	if err != nil || got != want {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
	for line, want := range map[string]string{
		"": "0 columns",
		"Type         Date       Time     Input_data_size      Duration(s)          Throughput(bytes/s)  Throughput/node": "parsing time",
		"HadoopSort 2026-11-21 05:39:16 1 NaN 1 1":  "duration",
		"HadoopSort 2026-11-21 05:39:16 1 -1 1 1":   "duration",
		"HadoopSort 2026-11-21 05:39:16 1 1e99 1 1": "duration",
		"HadoopSort 2026-11-21 05:39:16 x 1 1 1":    "column 4",
		"HadoopSort 2026-11-21 05:39:16 1 1 1 -1":   "column 7",
		"HadoopSort 2026-13-21 05:39:16 1 1 1 1":    "month",
	} {
		if _, err := ParseReportLine(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want an error with %q", line, err, want)
		}
	}
}

// What HiBench's format writes is read back. Under a second bc leaves out the
// zero before the point.
func TestReportLineRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 1<<60)
		want := Report{
			Type:       rapid.StringMatching(`Hadoop[A-Z][a-z]{1,12}`).Draw(t, "type"),
			End:        time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "end"), 0),
			InputBytes: n.Draw(t, "bytes"), BytesPerSec: n.Draw(t, "rate"), NodeBytesPerSec: n.Draw(t, "node rate"),
			Duration: time.Duration(rapid.Int64Range(0, 1e8).Draw(t, "ms")) * time.Millisecond,
		}
		seconds := strings.TrimPrefix(fmt.Sprintf("%.3f", want.Duration.Seconds()), "0")
		line := fmt.Sprintf("%-12s %-10s %-8s %-20d %-20s %-20d %-20d", want.Type, want.End.Format("2006-01-02"),
			want.End.Format("15:04:05"), want.InputBytes, seconds, want.BytesPerSec, want.NodeBytesPerSec)
		got, err := ParseReportLine(line)
		if err != nil {
			t.Fatal(err)
		}
		// A local time can be there twice when clocks go back.
		if got.End.Format(time.DateTime) != want.End.Format(time.DateTime) {
			t.Errorf("end %s, want %s", got.End, want.End)
		}
		got.End, want.Line = want.End, line
		if got != want {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
	})
}

func FuzzParseReportLine(f *testing.F) {
	f.Add("HadoopSort   2026-11-21 05:39:40 65166799             12.051               5407584              1351896")
	f.Fuzz(func(t *testing.T, line string) {
		if r, err := ParseReportLine(line); err == nil && (r.Duration < 0 || r.InputBytes < 0) {
			t.Errorf("%q: %+v", line, r)
		}
	})
}
