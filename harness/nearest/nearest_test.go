package nearest

import "testing"

func TestHint(t *testing.T) {
	known := []string{"launchMs", "labelMs", "sharing"}
	for name, want := range map[string]string{
		"lauchMs":  `did you mean "launchMs"?`,
		"LABELMS":  `did you mean "labelMs"?`,
		"shar":     `did you mean "sharing"?`,
		"absolute": "known here: launchMs, labelMs, sharing",
	} {
		if got := Hint(name, known); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestName: the shortest of the names that begin so is meant, letters in the wrong
// order are a small difference, and words that share nothing are no suggestion.
func TestName(t *testing.T) {
	keys := []string{"cpu", "jobs", "label", "mapOutput", "maps", "maxTasks", "name", "output", "reduces", "size"}
	commands := []string{
		"agent", "bench", "capture", "cluster", "compare", "completion", "demo", "doctor", "fidelity", "lab", "labels",
		"models", "paper", "replay", "run", "runs", "schema", "task", "trace",
	}
	for _, c := range []struct {
		name  string
		known []string
		want  string
	}{
		{"map", keys, "maps"},
		{"mapO", keys, "mapOutput"},
		{"redces", keys, "reduces"},
		{"x", keys, ""},
		{"version", commands, ""},
		{"frobnicate", commands, ""},
		{"help", commands, ""},
		{"log", commands, ""},
		{"compair", commands, "compare"},
		{"rnu", commands, "run"},
		{"comp", commands, "compare"},
		{"modells", commands, "models"},
		{"delya", []string{"acl", "delay"}, "delay"},
	} {
		if got := Name(c.name, c.known); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
