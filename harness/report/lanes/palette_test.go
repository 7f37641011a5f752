package lanes

import (
	"math"
	"regexp"
	"strconv"
	"testing"
)

// colour is a colour as linear shares of red, green and blue light.
type colour [3]float64

func parseColour(t *testing.T, hex string) colour {
	t.Helper()
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	var c colour
	for k := range c {
		c[k] = math.Pow(float64(n>>(16-8*k)&255)/255, 2.2)
	}
	return c
}

// luminance is how light a colour is, and lightness the same on a scale from 0 to 100 on
// which equal steps look alike.
func (c colour) luminance() float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] }
func (c colour) lightness() float64 { return 116*math.Cbrt(c.luminance()) - 16 }

// contrast is that of WCAG 2, from 1 to 21.
func (c colour) contrast(d colour) float64 {
	a, b := c.luminance()+0.05, d.luminance()+0.05
	return max(a, b) / min(a, b)
}

// blueness is what a reader who lacks red or green cones sees beside lightness: how much
// blue there is against red and green.
func (c colour) blueness() float64 {
	return 116 * (math.Cbrt(c[2]) - math.Cbrt((c[0]+c[1])/2)) // a rough scale, about that of lightness
}

// palettes returns the colours of the style sheet by name, of the light theme and of the dark.
func palettes(t *testing.T) [2]map[string]colour {
	t.Helper()
	both := [2]map[string]colour{{}, {}}
	for _, m := range regexp.MustCompile(`--lanes-([a-z0-9-]+): #([0-9a-f]{6});`).FindAllStringSubmatch(Style(), -1) {
		theme := 0
		if _, again := both[0][m[1]]; again {
			theme = 1
		}
		if _, again := both[theme][m[1]]; again {
			t.Errorf("%s is set twice in one theme", m[1])
		}
		both[theme][m[1]] = parseColour(t, m[2])
	}
	return both
}

func TestColoursDifferForColourBlindReaders(t *testing.T) {
	groups := [][]string{
		{"cache", "node", "rack", "off", "reduce"}, // unknown has dots
		{"map", "merge", "shuffle", "sort", "write"},
		{"maps", "reduces"},
		{"line1", "line2"}, // the second is dashed
	}
	for theme, colours := range palettes(t) {
		for _, group := range groups {
			for i, a := range group {
				for _, b := range group[:i] {
					light := math.Abs(colours[a].lightness() - colours[b].lightness())
					blue := math.Abs(colours[a].blueness() - colours[b].blueness())
					if apart := math.Hypot(light, blue); apart < 24 {
						t.Errorf("theme %d: %s and %s are %.0f apart for readers who cannot tell red from green", theme, a, b, apart)
					}
					if light < 6 && group[0] == "cache" {
						t.Errorf("theme %d: %s and %s differ in lightness by %.0f only", theme, a, b, light)
					}
				}
			}
		}
	}
}

func TestWordsCanBeRead(t *testing.T) {
	for theme, colours := range palettes(t) {
		for _, words := range []string{"text", "faint", "accent", "bad", "warn", "good"} {
			for _, ground := range []string{"ground", "raised"} {
				if c := colours[words].contrast(colours[ground]); c < 4.5 {
					t.Errorf("theme %d: %s on %s has a contrast of %.1f, under 4.5", theme, words, ground, c)
				}
			}
		}
		for _, bars := range []string{"cache", "node", "off", "merge", "line1", "line2", "maps", "reduces", "edge"} {
			if c := colours[bars].contrast(colours["ground"]); c < 2 {
				t.Errorf("theme %d: %s has a contrast of %.1f to the ground, under 2", theme, bars, c)
			}
		}
		if c := colours["on-accent"].contrast(colours["accent"]); c < 4.5 {
			t.Errorf("theme %d: words on accent have a contrast of %.1f", theme, c)
		}
	}
}
