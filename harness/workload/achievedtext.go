package workload

import (
	"fmt"
	"io"
	"text/tabwriter"

	"heddle/harness/internal/units"
	"heddle/harness/measure"
	"heddle/traces/printable"
)

// worstJobs is the greatest number of jobs that the text of Achieved lists.
const worstJobs = 5

// WriteText writes the comparison for people: first the sums, then the jobs
// that are farthest from what was asked, then the warnings.
func (a *Achieved) WriteText(out io.Writer) error {
	s := &a.Sum
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  \tasked\tfloors\tachieved\terror")
	for _, x := range []struct {
		name string
		Amount
		bytes bool
	}{{"input", s.Input, true}, {"shuffle", s.Shuffle, true}, {"output", s.Output, true}, {"maps", s.Maps, false}, {"reduces", s.Reduces, false}} {
		text := func(n int64) string {
			if x.bytes {
				return units.Size(n).Rounded()
			}
			return fmt.Sprint(n)
		}
		floors := ""
		if x.Floors > 0 {
			floors = "+" + text(x.Floors)
		}
		printable.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\n", x.name, text(x.Asked), floors, text(x.Got), percent(x.ErrorPct))
	}
	printable.Fprintf(w, "  arrivals\t%d in %.1f s\t\t%.1f s late\t%s\n", len(a.Jobs), s.Arrival.AskedMs/1000, s.Arrival.LateMs/1000, percent(s.Arrival.ErrorPct))
	if s.CompletionMs >= 0 {
		recorded := "unknown"
		if s.RecordedMs >= 0 {
			recorded = fmt.Sprintf("%.1f s in the trace", s.RecordedMs/1000)
		}
		printable.Fprintf(w, "  completion\t%s\t\t%.1f s\t\n", recorded, s.CompletionMs/1000)
	}
	if s.Locality.Known() > 0 {
		printable.Fprintf(w, "  locality\t%s\t\t%s\t\n", shares(s.RecordedLocality), shares(s.Locality))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	printable.Fprintf(out, "  waits on average: %.1f s for labels, %.1f s of a map for its container; %d attempts beyond one for each task\n", s.LabelWaitMs/1000, s.MapWaitMs/1000, s.ExtraAttempts)
	if worst := a.worst(worstJobs); len(worst) > 0 {
		fmt.Fprintln(w, "  worst jobs\tlate\tlabels\tinput\tshuffle\toutput\tattempts more\t")
		for _, c := range worst {
			failed := ""
			if c.FailedJobs > 0 {
				failed = "failed"
			}
			printable.Fprintf(w, "  %s\t%.1f s\t%.1f s\t%s\t%s\t%s\t%d\t%s\n", c.Job, c.Arrival.LateMs/1000, c.LabelWaitMs/1000, percent(c.Input.ErrorPct), percent(c.Shuffle.ErrorPct), percent(c.Output.ErrorPct), c.ExtraAttempts, failed)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	for _, text := range a.Warnings {
		printable.Fprintln(out, "  warning:", text)
	}
	return nil
}

// shares returns how near maps ran to their input, in percent of those of which
// it is known.
func shares(l measure.Locality) string {
	if l.Known() == 0 {
		return "unknown"
	}
	s := l.Shares()
	return fmt.Sprintf("cache %.0f%% node %.0f%% rack %.0f%% off %.0f%%", 100*s[0], 100*s[1], 100*s[2], 100*s[3])
}

// percent returns an error in percent with its sign, without one if it rounds to
// 0.
func percent(error float64) string {
	if text := fmt.Sprintf("%+.1f%%", error); text != "-0.0%" && text != "+0.0%" {
		return text
	}
	return "0.0%"
}
