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
