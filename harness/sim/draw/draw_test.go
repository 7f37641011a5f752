package draw

import (
	"math"
	"testing"
)

// TestValues are the same on every machine and in every version: replays are
// compared across both.
func TestValues(t *testing.T) {
	// The first numbers of SplitMix64 from seed 0, as published with it.
	for i, want := range []Key{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f} {
		if got := Key(0).At(uint64(i)); got != want {
			t.Errorf("number %d is %#x, want %#x", i, uint64(got), uint64(want))
		}
	}
	if got, want := Stream(1, "replicas").At(2).At(3), Key(0x1813c6e63e7dca03); got != want {
		t.Errorf("a name's number is %#x, want %#x", uint64(got), uint64(want))
	}
}

func TestNamesDiffer(t *testing.T) {
	seen := map[Key]string{}
	for seed := range uint64(20) {
		for _, name := range []string{"", "a", "b", "ab", "ba", "replicas", "cache"} {
			for a := range uint64(20) {
				for b := range uint64(20) {
					k := Stream(seed, name).At(a).At(b)
					if was, ok := seen[k]; ok {
						t.Fatalf("%q of seed %d, %d, %d has the number of %q", name, seed, a, b, was)
					}
					seen[k] = name
				}
			}
		}
	}
}

// TestEven is chi squared over 100 classes, below its 99.9 % point of 149 with 99
// degrees of freedom, along each part of a name.
func TestEven(t *testing.T) {
	const n, classes = 100_000, 100
	for name, key := range map[string]func(i uint64) Key{
		"seed":   func(i uint64) Key { return Stream(i, "x") },
		"first":  func(i uint64) Key { return Stream(1, "x").At(i).At(0) },
		"second": func(i uint64) Key { return Stream(1, "x").At(0).At(i) },
	} {
		var below, fraction [classes]float64
		for i := range uint64(n) {
			below[key(i).Below(classes)]++
			fraction[int(key(i).Fraction()*classes)]++
		}
		for what, counts := range map[string][classes]float64{"Below": below, "Fraction": fraction} {
			chi := 0.0
			for _, c := range counts {
				chi += (c - n/classes) * (c - n/classes) / (n / classes)
			}
			if chi > 149 {
				t.Errorf("%s by %s: chi squared %.0f", what, name, chi)
			}
		}
	}
}

func TestBounds(t *testing.T) {
	if got := Key(math.MaxUint64).Below(7); got != 6 {
		t.Errorf("the largest key is %d below 7", got)
	}
	if got := Key(math.MaxUint64).Fraction(); got >= 1 {
		t.Errorf("the largest fraction is %v", got)
	}
	if Key(0).Below(7) != 0 || Key(0).Fraction() != 0 {
		t.Error("key 0 is not 0")
	}
}

func BenchmarkAt(b *testing.B) {
	k := Stream(1, "x")
	for i := range b.N {
		k = k.At(uint64(i))
	}
	if k == 0 {
		b.Log(k)
	}
}
