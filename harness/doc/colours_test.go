package doc

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"heddle/traces/errtest"
)

// lab is a colour as CIELAB has it, in which equal distances look about equally large.
func lab(t *testing.T, hex string) [3]float64 {
	t.Helper()
	n := errtest.Must(strconv.ParseUint(hex[1:], 16, 32))
	var c [3]float64
	for k := range c {
		v := float64(n>>(16-8*k)&255) / 255
		if c[k] = v / 12.92; v > 0.04045 {
			c[k] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	x, y, z := math.Cbrt((0.4124*c[0]+0.3576*c[1]+0.1805*c[2])/0.9505), math.Cbrt(0.2126*c[0]+0.7152*c[1]+0.0722*c[2]),
		math.Cbrt((0.0193*c[0]+0.1192*c[1]+0.9505*c[2])/1.089)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

// TestOneMeaning has colours of models, of localities and of good and bad news differ: a
// reader takes none for another.
func TestOneMeaning(t *testing.T) {
	tones := map[string][2]string{
		"good": {toneColours[Good], "#4fd07f"}, "bad": {toneColours[Bad], "#ff8d85"},
		"notable": {toneColours[Notable], "#cfa35a"},
	}
	groups := []map[string][2]string{{}, {}, tones}
	for k, c := range palette {
		groups[0][fmt.Sprint("row ", k+1)] = c
	}
	for k, c := range levels {
		groups[1][[]string{"cache", "node", "rack", "off"}[k]] = c
	}
	for i, group := range groups {
		for _, other := range groups[:i] {
			for a, x := range group {
				for b, y := range other {
					for theme := range 2 {
						p, q := lab(t, x[theme]), lab(t, y[theme])
						if d := math.Hypot(math.Hypot(p[0]-q[0], p[1]-q[1]), p[2]-q[2]); d < 15 {
							t.Errorf("theme %d: %s and %s are only %.0f apart", theme, a, b, d)
						}
					}
				}
			}
		}
	}
}

// TestNearAndFarDiffer has the colours of localities differ in lightness, for readers who
// cannot tell red from green.
func TestNearAndFarDiffer(t *testing.T) {
	for i, a := range levels {
		for k, b := range levels[:i] {
			for theme := range 2 {
				if d := math.Abs(lab(t, a[theme])[0] - lab(t, b[theme])[0]); d < 6 {
					t.Errorf("theme %d: localities %d and %d differ in lightness by %.0f only", theme, k, i, d)
				}
			}
		}
	}
}
