package measure_test

import (
	"strings"
	"testing"

	"heddle/harness/measure"
)

// TestStarvedText: each model has its own figures, the one with the worst trial first.
func TestStarvedText(t *testing.T) {
	f := func(model string, ms, of float64) *measure.Figures {
		return &measure.Figures{Model: model, StarvedMs: ms, MakespanMs: of}
	}
	const held, change = "reduces held all slots while maps of their own jobs waited", ": give fewer reduces "
	for want, trials := range map[string][]*measure.Figures{
		" for 200.0 of 300.0 s (what is measured is mostly this wait)": {f("yarn", 200_000, 300_000)},
		" in 2 of 3 trials, for 9.0 of 150.0 s": {
			f("yarn", 9000, 150_000), f("yarn", 9000, 150_000),
			f("yarn", 0, 150_000),
		},
		" under acl in 3 of 3 trials, for 9.0 of 150.0 s and at worst 316.0 of 425.0 s, under yarn in 1 of 2 trials, for 20.0 of 160.0 s": {
			f("delay", 0, 150_000), f("yarn", 20_000, 160_000), f("yarn", 0, 150_000), f("acl", 9000, 150_000), f("acl", 316_000, 425_000),
			f("acl", 9000, 150_000),
		},
	} {
		if got := measure.StarvedText(trials...); !strings.HasPrefix(got, held+want+change) {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}
