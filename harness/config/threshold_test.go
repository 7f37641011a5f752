package config

import (
	"testing"

	"heddle/harness/measure"
)

// TestThresholdOfEveryMetric: whatever is in the list of metrics can be limited, and
// the schema knows it.
func TestThresholdOfEveryMetric(t *testing.T) {
	schema := compiled(t, ExperimentSchema())
	for _, m := range measure.Metrics() {
		both(t, schema, "thresholds", map[string]any{m.Name: []string{"yarn < 1", "yarn > 0.5" + m.Unit}}, true)
	}
	both(t, schema, "thresholds", map[string]any{"nonsense": []string{"yarn < 1"}}, false)
}

// TestThresholdLimits has what a threshold's text means for its metric.
func TestThresholdLimits(t *testing.T) {
	for _, x := range []struct {
		metric, text string
		other        string
		limit        float64
	}{
		{"makespan", "fifo < yarn", "yarn", 1},
		{"makespan", "fifo < yarn * 1.5", "yarn", 1.5},
		{"makespan", "fifo < 60", "", 60},
		{"makespan", "fifo < 60s", "", 60},
		{"waitingP99", "fifo < 1m30s", "", 90},
		{"waitingP99", "fifo < 5m", "5m", 1}, // a model has that label
		{"waitingP99", "fifo < runs", "runs", 1},
		{"slowdownP95", "fifo < yarn", "yarn", 1},
		{"slowdownP95", "fifo < 3x", "", 3},
		{"nodeLocal", "fifo > yarn - 5%", "yarn", -5},
		{"slotUse", "fifo > yarn", "yarn", 0},
		{"fairness", "fifo > yarn - 0.1", "yarn", -0.1},
		{"failedJobs", "fifo < yarn + 2", "yarn", 2},
	} {
		e, err := ParseExperiment("e.yaml", []byte("workloads: [{name: sort, profile: tiny}]\n"+
			"models: [yarn, fifo, {label: 5m, model: delay}, {label: runs, model: acl}]\n"+
			"thresholds: {"+x.metric+": [\""+x.text+"\"]}"))
		if err != nil {
			t.Errorf("%s: %s: %v", x.metric, x.text, err)
			continue
		}
		if got := e.Thresholds.ByMetric[x.metric][0]; got.Other != x.other || got.Limit != x.limit || e.Thresholds.Len() != 1 {
			t.Errorf("%s: %s is about %q and %v, want %q and %v", x.metric, x.text, got.Other, got.Limit, x.other, x.limit)
		}
	}
}
