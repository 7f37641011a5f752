package config

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

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
		{"waiting.p99", "fifo < 1m30s", "", 90},
		{"waiting.p99", "fifo < 5m", "5m", 1}, // a model has that label
		{"waiting.p99", "fifo < runs", "runs", 1},
		{"slowdown.p95", "fifo < yarn", "yarn", 1},
		{"slowdown.p95", "fifo < 3x", "", 3},
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

// TestThresholdForms has the ways to write a threshold, and what they come to.
func TestThresholdForms(t *testing.T) {
	schema := compiled(t, ExperimentSchema())
	for _, x := range []struct {
		value any
		want  string
	}{
		{map[string]any{"makespan": "< 60s"}, "makespan: yarn < 60s, fifo < 60s"},
		{map[string]any{"makespan": []string{"<60s", "fifo>1s"}}, "makespan: yarn <60s, fifo <60s, fifo>1s"},
		{map[string]any{"makespan": "fifo < yarn * 1.1", "nodeLocal": "> 40%"}, "makespan: fifo < yarn * 1.1; nodeLocal: yarn > 40%, fifo > 40%"},
		{map[string]any{"makespan": "< yarn * 1.1"}, "makespan: fifo < yarn * 1.1"},
		{"makespan < 60s", "makespan: yarn < 60s, fifo < 60s"},
		{[]string{"makespan < 60s", "failedJobs<1"}, "failedJobs: yarn <1, fifo <1; makespan: yarn < 60s, fifo < 60s"},
	} {
		data, _ := json.Marshal(map[string]any{
			"workloads": []any{map[string]any{"name": "sort", "profile": "tiny"}},
			"models":    []string{"yarn", "fifo"}, "thresholds": x.value,
		})
		content, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err == nil {
			err = schema.Validate(content)
		}
		e, perr := ParseExperiment("e.yaml", data)
		if err != nil || perr != nil {
			t.Errorf("%v: refused by the schema: %v, when read: %v", x.value, err, perr)
			continue
		}
		var got []string
		for _, m := range e.Thresholds.Metrics() {
			var texts []string
			for _, one := range e.Thresholds.ByMetric[m.Name] {
				texts = append(texts, one.Text)
			}
			got = append(got, m.Name+": "+strings.Join(texts, ", "))
		}
		if text := strings.Join(got, "; "); text != x.want {
			t.Errorf("%v comes to %q, want %q", x.value, text, x.want)
		}
	}
	for _, bad := range []any{"60", "yarn < 60", []string{"makspan < 60"}, map[string]any{"makespan": "fifo <= yarn"}, 60} {
		both(t, schema, "thresholds", bad, false)
	}
}

// TestThresholdSuggestions: what a message suggests is accepted in the place of what was wrong.
func TestThresholdSuggestions(t *testing.T) {
	suggested := regexp.MustCompile(`such as ([^,;\n]+)`)
	const start = "workloads: [{name: sort, profile: tiny}]\nmodels: [yarn, fifo]\nthresholds: "
	tried := 0
	for _, x := range []struct{ around, wrong string }{
		{"%", "60s"},
		{"[%]", "makspan < 60s"},
		{"{makespan: %}", "60s"},
		{"{makespan: %}", "{max: 60s}"},
		{"{makespan: [%]}", "fifo = yarn"},
		{"{makespan: [%]}", "fifo < yarn + 5"},
		{"{nodeLocal: [%]}", "fifo > yarn * 2"},
		{"{failedJobs: %}", "fifo < yarn * 2"},
		{"{slowdown: [%]}", "fifo > yarn - 1"},
		{"{makespan: [%]}", "''"},
	} {
		_, err := ParseExperiment("e.yaml", []byte(start+strings.ReplaceAll(x.around, "%", x.wrong)))
		if err == nil {
			t.Errorf("%s is accepted", x.wrong)
			continue
		}
		for _, m := range suggested.FindAllStringSubmatch(err.Error(), -1) {
			tried++
			if _, err := ParseExperiment("e.yaml", []byte(start+strings.ReplaceAll(x.around, "%", m[1]))); err != nil {
				t.Errorf("of %s the message suggests %s, which is refused: %v", x.wrong, m[1], err)
			}
		}
	}
	if tried < 9 {
		t.Errorf("the messages have %d suggestions", tried)
	}
}
