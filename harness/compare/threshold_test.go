package compare

import (
	"strings"
	"testing"

	"heddle/harness/config"
	"heddle/harness/doc"
	"heddle/harness/measure"
)

func TestThresholds(t *testing.T) {
	// In each repeat fifo takes 0.8 to 0.9 of yarn's 100 s to 105 s, acl about as
	// long, and 4 of its ten maps read from the cache, of yarn's one or two.
	var trials []trial
	for repeat := range 6 {
		yarn := 100e3 + 1e3*float64(repeat)
		for model, f := range map[string][]*measure.Figures{
			"yarn": made10(yarn, 1+repeat%2),
			"fifo": made10(yarn*(0.8+0.02*float64(repeat)), 0),
			"acl":  made10(yarn*(0.95+0.02*float64(repeat)), 4),
		} {
			trials = append(trials, trial{repeat: repeat + 1, model: model, figures: f})
		}
	}
	for _, c := range []struct {
		metric, text string
		repeats      int
		want         Verdict
		says         string
	}{
		{"makespan", "fifo < yarn", 6, Met, "fifo / yarn"},
		{"makespan", "fifo < yarn * 0.9", 6, Met, ""},
		{"makespan", "fifo < yarn * 0.8", 6, Missed, ""},
		{"makespan", "yarn > fifo * 1.1", 6, Met, "yarn / fifo"},
		{"makespan", "fifo > yarn * 1", 6, Missed, ""},
		{"makespan", "acl < yarn * 1.0", 6, Unclear, "too few repeats to tell, the interval holds 1.000"},
		{"makespan", "fifo < yarn", 1, Unclear, "too few repeats to tell"},
		{"makespan", "yarn < 110", 6, Met, " s  ["},
		{"makespan", "yarn < 60s", 6, Missed, ""},
		{"makespan", "yarn < 2m", 6, Met, " s  ["},
		{"makespan", "yarn < 110", 1, Unclear, "too few repeats"},
		{"cacheLocal", "acl > yarn", 6, Met, "acl - yarn"},
		{"cacheLocal", "acl > yarn + 10%", 6, Met, " points  ["},
		{"cacheLocal", "acl > yarn + 60", 6, Missed, ""},
		{"cacheLocal", "yarn > acl - 10", 6, Missed, ""},
		{"cacheLocal", "fifo > 50%", 6, Missed, ""},
		{"mapDuration", "fifo < yarn", 6, Unclear, "no finished trial has it"},
		{"overBound", "fifo < yarn * 0.9", 6, Met, "fifo / yarn"},
		{"overBound", "yarn > 1.5x", 6, Met, " x  ["},
		{"failedJobs", "fifo < yarn + 1", 6, Met, "fifo - yarn"},
		{"failedJobs", "fifo < 1", 6, Met, "fifo"},
	} {
		text := "workloads: [{name: sort, profile: tiny}]\nactuator: labels\nmodels: [yarn, fifo, acl]\nthresholds: {" + c.metric + ": [\"" +
			c.text + "\"]}"
		e, err := config.ParseExperiment("e.yaml", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		metric := must(metricsOf([]string{c.metric}))
		got := newThreshold(metric[0], e.Thresholds.ByMetric[c.metric][0], func(model string) (of []trial) {
			for _, x := range trials {
				if x.model == model && x.repeat <= c.repeats && metric[0].of(x) >= 0 {
					of = append(of, x)
				}
			}
			return of
		})
		var b strings.Builder
		mustDo(t, doc.WriteText(&b, doc.Doc{ThresholdTable([]Threshold{got})}, false))
		if got.Verdict != c.want || !strings.Contains(b.String(), c.says) {
			t.Errorf("%s: %s after %d repeats: want %s and %q, have\n%s", c.metric, c.text, c.repeats, c.want, c.says, &b)
		}
	}
}
