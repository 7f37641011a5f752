package measure

import (
	"fmt"
	"math"

	"heddle/harness/doc"
	"heddle/harness/stats"
	"heddle/traces"
)

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
			since := func(t traces.Time) float64 { return (float64(t) - float64(j.submitted)) / 1e6 } // a damaged trace may have times whose difference is no Time
			x := Prediction{DonePct: int(e.DonePct), AtMs: since(e.T), EndMs: since(e.End)}
			if left := p.TookMs - x.AtMs; p.TookMs >= 0 && left > 0 {
				wrong := 100 * (x.EndMs - p.TookMs) / left
				x.ErrorPct = &wrong
			}
			p.List = append(p.List, x)
		}
		if len(p.List) > 0 {
			list = append(list, p)
		}
	}
	return list
}

// predictionsDoc returns the predictions for people to read.
func predictionsDoc(list []Predictions) doc.Doc {
	if len(list) == 0 {
		return nil
	}
	t := &doc.Table{Name: "predictions", Columns: []string{"job", "took"}}
	for _, pct := range predictionMoments {
		when := fmt.Sprintf("expected at %d %%", pct)
		if pct == 0 {
			when = "expected at submission"
		}
		t.Columns = append(t.Columns, when, "error")
	}
	var wrong [len(predictionMoments)][]float64
	for i, p := range list {
		row := []doc.Cell{doc.Words(string(p.Job)), doc.Words("-")}
		if p.TookMs >= 0 {
			row[1] = doc.Duration(p.TookMs)
		}
		for k, pct := range predictionMoments {
			end, off := doc.Words("-"), doc.Words("-")
			for _, x := range p.List {
				if x.DonePct != int(pct) {
					continue
				}
				end = doc.Duration(x.EndMs)
				if x.ErrorPct != nil {
					off = doc.Wordsf("%+.1f %%", *x.ErrorPct)
					wrong[k] = append(wrong[k], math.Abs(*x.ErrorPct))
				}
			}
			row = append(row, end, off)
		}
		if i < maxRows {
			t.Add(row...)
		}
	}
	median := []doc.Cell{doc.Words("median of errors"), doc.Words("")}
	for k := range wrong {
		off := doc.Words("-")
		if len(wrong[k]) > 0 {
			off = doc.Wordsf("%.1f %%", stats.Quantile(wrong[k], 0.5))
		}
		median = append(median, doc.Words(""), off)
	}
	t.Add(median...)
	return doc.Doc{t, more(len(list)-maxRows, "more jobs"), doc.Text("The model's expectations of when jobs end count from the submission. An error above 0 is too late an end, in percent of the time that was left.")}
}
