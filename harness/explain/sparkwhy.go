package explain

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"heddle/traces"
)

// SparkTask is how a task of Spark is named: s4/t2, or application_1_0002/s4/t2 if there are several applications.
var SparkTask = regexp.MustCompile(`^(?:(.+)/)?s(\d+)/t(\d+)$`)

// SparkWhy says of an attempt of a task of Spark why it ran where and when it ran.
type SparkWhy struct {
	ID        string   `json:"id"`
	Sentences []string `json:"sentences"`
}

// Why says of the attempts of a task, named as SparkTask has it, why they ran where they ran, as far as an event log goes.
func (w *Reader) Why(text string) (list []SparkWhy, err error) {
	parts := SparkTask.FindStringSubmatch(text)
	w.finish()
	var of []*job
	for _, j := range w.order {
		if j.app != nil && (parts[1] == "" || parts[1] == string(j.id)) {
			of = append(of, j)
		}
	}
	if len(of) != 1 {
		return nil, fmt.Errorf("task %q: the trace has %d such applications of Spark, want one: \"heddle trace info\" lists them", text, len(of))
	}
	for _, t := range of[0].app.ends {
		if strconv.Itoa(int(t.Stage)) == parts[2] && strconv.Itoa(int(t.Index)) == parts[3] {
			id := fmt.Sprintf("task %d.%d of stage %d.%d of %s, TID %d", t.Index, t.Attempt, t.Stage, t.StageAttempt, t.App, t.ID)
			list = append(list, SparkWhy{id, w.whySpark(of[0], t)})
		}
	}
	if len(list) == 0 {
		return nil, errors.New("task " + text + ": no such task of Spark ended in the trace")
	}
	slices.SortFunc(list, func(a, b SparkWhy) int { return strings.Compare(a.ID, b.ID) })
	return list, nil
}

func (w *Reader) whySpark(j *job, t *sparkTask) []string {
	seconds := func(t traces.Time) string { return Ns(t - w.begin).String() }
	said := fmt.Sprintf("ran on executor %s on %s at %s for %v, %s as Spark counts locality: where its data was is in no event log",
		t.Executor, t.Node, seconds(t.T), Ns(t.End-t.T), t.Locality)
	if t.Outcome != traces.Succeeded {
		said += fmt.Sprintf("; it %v: %s", t.Outcome, t.Error)
	}
	list := []string{said}
	w.walks++
	k := walk{w: w, at: t.T, floor: at(t.stage.T), id: w.walks}
	held := k.waitedSpark(j, t)
	if len(k.steps) == 0 && held == nil {
		return append(list, "its stage was submitted just before, and a core was free")
	}
	for _, s := range slices.Backward(k.steps) {
		what := "it was on its way there"
		switch s.Cause {
		case sparkStart:
			what = "no executor was there"
		case executorsLate:
			what = "its executor had not registered"
		case localityWait:
			what = "a core of its executor was free: it waited for one nearer to its data (" + j.app.setting("spark.locality.wait", "3s") + ")"
		}
		list = append(list, fmt.Sprintf("from %s to %s %s", seconds(s.From), seconds(s.To), what))
	}
	if held != nil && k.at > at(t.stage.T) {
		list = append(list, fmt.Sprintf("from %s to %s all cores of its executor were taken, until task %d of stage %d.%d left one",
			seconds(t.stage.T), seconds(k.at), held.Index, held.Stage, held.StageAttempt))
	}
	return list
}
