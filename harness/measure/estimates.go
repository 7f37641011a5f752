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
			wrong := 100 * (float64(j.estimate)/float64(j.Bytes.Shuffle) - 1)
			e.ShuffledBytes, e.ErrorPct = j.Bytes.Shuffle, &wrong
		}
		list = append(list, e)
	}
	return list
}

// estimatesDoc returns the estimates for people to read.
func estimatesDoc(list []Estimate) doc.Doc {
	if len(list) == 0 {
		return nil
	}
	t := &doc.Table{Name: "estimates", Columns: []string{"job", "bytes estimated", "bytes shuffled", "error"}}
	var wrong []float64
	for i, e := range list {
		shuffled, errorPct := doc.Words("-"), doc.Words("-")
		if e.ErrorPct != nil {
			shuffled, errorPct = doc.Bytes(e.ShuffledBytes), doc.Wordsf("%+.1f %%", *e.ErrorPct)
			wrong = append(wrong, math.Abs(*e.ErrorPct))
		}
		if i < maxRows {
			t.Add(doc.Words(string(e.Job)), doc.Bytes(e.EstimatedBytes), shuffled, errorPct)
		}
	}
	d := doc.Doc{t, more(len(list)-maxRows, "more jobs")}
	if len(wrong) > 0 {
		d = append(d, doc.Text(fmt.Sprintf("When the first reduce of a job was placed, the model's estimate of its shuffle was off by %.1f %% in the median of %d jobs, and by %.1f %% at most.",
			stats.Quantile(wrong, 0.5), len(wrong), stats.Quantile(wrong, 1))))
	}
	return d
}
