package measure

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"heddle/harness/doc"
	"heddle/harness/sched"
	"heddle/harness/stats"
	"heddle/traces"
	"heddle/traces/printable"
)

// Estimate holds how many bytes a scheduler model expected a job's reduces to fetch,
// when it placed the first of them, against how many they fetched.
type Estimate struct {
	Job            traces.JobID `json:"job"`
	EstimatedBytes int64        `json:"estimatedBytes"`
	// ShuffledBytes is -1 if it is not known, as of a job that did not succeed. There is no
	// error then.
	ShuffledBytes int64    `json:"shuffledBytes"`
	ErrorPct      *float64 `json:"errorPct,omitempty"` // above 0: too many were expected
}

// mostEstimated is the largest estimate that is taken for one, in bytes.
const mostEstimated = 1e18

// estimated keeps the estimate of a job's first decision that has one.
func (j *Job) estimated(e *traces.Decision) {
	if j.estimate != 0 {
		return
	}
	for _, value := range strings.Fields(e.Values) {
		if text, ok := strings.CutPrefix(value, sched.EstimatedBytes+"="); ok {
			if x, err := strconv.ParseFloat(text, 64); err == nil && x > 0 && x <= mostEstimated {
				j.estimate = int64(math.Round(x))
			}
		}
	}
}

// estimates returns what models expected of the jobs, nil if they did not say.
func estimates(jobs []*Job) (list []Estimate) {
	for _, j := range jobs {
		if j.estimate == 0 {
			continue
		}
		e := Estimate{j.ID, j.estimate, -1, nil}
		if j.Outcome == traces.Succeeded && j.Bytes.Shuffle > 0 {
			e.ShuffledBytes, e.ErrorPct = j.Bytes.Shuffle, new(100*(float64(j.estimate)/float64(j.Bytes.Shuffle)-1))
		}
		list = append(list, e)
	}
	return list
}

// Predictions holds when a scheduler model expected a job to end against when it ended.
type Predictions struct {
	Job traces.JobID `json:"job"`
	// TookMs is the time from the job's submission to its end, -1 if it did not succeed
	// or its submission is not known. There are no errors then.
	TookMs float64      `json:"tookMs"`
	List   []Prediction `json:"list"`
}

// Prediction is what the model expected at one moment.
type Prediction struct {
	DonePct int     `json:"donePct"` // share of the job's tasks, in percent, that had succeeded at least
	AtMs    float64 `json:"atMs"`    // from the job's submission
	EndMs   float64 `json:"endMs"`   // expected end, from the job's submission
	// ErrorPct is by how much the expected end was too late, in percent of the time that
	// was left. Below 0 it was too early.
	ErrorPct *float64 `json:"errorPct,omitempty"`
}

// predictionMoments are the shares of a job's tasks, in percent, at which models are asked.
var predictionMoments = [...]uint8{0, 50, 90}

// predicted keeps a prediction, the first of each moment.
func (c *Collector) predicted(e *traces.JobPredicted) {
	j := c.jobs[e.Job]
	if j == nil {
		return
	}
	if j.predictions == nil {
		j.predictions = new([len(predictionMoments)]traces.JobPredicted)
	}
	for i, pct := range predictionMoments {
		if x := &j.predictions[i]; pct == e.DonePct && x.Job == "" {
			*x = *e
		}
	}
}

// predictions returns what the model expected of the jobs, nil if it did not say.
func predictions(jobs []*Job) (list []Predictions) {
	for _, j := range jobs {
		if j.predictions == nil {
			continue
		}
		p := Predictions{Job: j.ID, TookMs: -1}
		if j.Outcome == traces.Succeeded && j.CompletionMs > 0 {
			p.TookMs = j.CompletionMs
		}
		for _, e := range j.predictions {
			if e.Job == "" {
				continue
			}
			// a damaged trace may have times whose difference is no Time
			since := func(t traces.Time) float64 { return (float64(t) - float64(j.submitted)) / 1e6 }
			x := Prediction{DonePct: int(e.DonePct), AtMs: since(e.T), EndMs: since(e.End)}
			if left := p.TookMs - x.AtMs; p.TookMs >= 0 && left > 0 {
				x.ErrorPct = new(100 * (x.EndMs - p.TookMs) / left)
			}
			p.List = append(p.List, x)
		}
		if len(p.List) > 0 {
			list = append(list, p)
		}
	}
	return list
}

// expected returns what the scheduler model expected of jobs against what came, for people
// to read.
func (f *Figures) expected() doc.Doc {
	t := doc.NewTable("expected", "job", "of", "expected", "came", "error")
	var kinds []string
	off := map[string][]float64{} // errors without sign, by what was expected
	rows := 0
	add := func(job traces.JobID, what string, expected, came any, errorPct *float64) {
		if _, ok := off[what]; !ok {
			kinds, off[what] = append(kinds, what), nil
		}
		wrong := "-"
		if errorPct != nil {
			wrong = fmt.Sprintf("%+.1f %%", *errorPct)
			off[what] = append(off[what], math.Abs(*errorPct))
		}
		if rows++; rows <= maxRows {
			t.Add(job, what, expected, came, wrong)
		}
	}
	for _, e := range f.Estimates {
		add(e.Job, "shuffle, when its first reduce is placed", doc.Bytes(e.EstimatedBytes),
			doc.Known(e.ShuffledBytes >= 0, doc.Bytes(e.ShuffledBytes)), e.ErrorPct)
	}
	for _, p := range f.Predictions {
		for _, x := range p.List {
			what := "end, at submission"
			if x.DonePct > 0 {
				what = fmt.Sprintf("end, at %d %% of its tasks", x.DonePct)
			}
			add(p.Job, what, doc.Duration(x.EndMs), lasting(p.TookMs), x.ErrorPct)
		}
	}
	var medians doc.List
	for _, what := range kinds {
		if wrong := off[what]; len(wrong) > 0 {
			medians = append(medians, fmt.Sprintf("%s: the model is off by %.1f %% in the median of %s, by %.1f %% at most", what,
				stats.Quantile(wrong, 0.5), printable.Count(len(wrong), "job"), stats.Quantile(wrong, 1)))
		}
	}
	d := doc.Doc{t, more(rows-maxRows, "more expectations"), medians}
	if len(f.Predictions) > 0 {
		d = append(d, doc.Text("Ends count from a job's submission. Their errors are in percent of the time that was left; above 0 they were "+
			"expected too late."))
	}
	return d
}
