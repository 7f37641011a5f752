package units

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseSize(t *testing.T) {
	for _, c := range []struct {
		text string
		want Size
		err  string
	}{
		{"0", 0, ""},
		{"4096", 4096, ""},
		{"4096B", 4096, ""},
		{"64KB", 64000, ""},
		{"64kb", 64000, ""},
		{"64KiB", 65536, ""},
		{"1.5GiB", 3 << 29, ""},
		{" 512 MiB ", 512 << 20, ""},
		{"1TB", 1e12, ""},
		{"64Mb", 0, "unknown unit"},
		{"64MBB", 0, "unknown unit"},
		{"1.0001B", 0, "whole number"},
		{"9999999999TiB", 0, "too large"},
		{"-1KB", 0, "not a number"},
		{"", 0, "not a number"},
		{"MB", 0, "not a number"},
		{"1e3", 0, "not a number"},
	} {
		got, err := parseSize(c.text)
		check(t, c.text, got, c.want, err, c.err)
	}
}

func TestParseRate(t *testing.T) {
	for _, c := range []struct {
		text string
		want Rate
		err  string
	}{
		{"0", 0, ""},
		{"80MB/s", 80e6, ""},
		{"10MiB/s", 10 << 20, ""},
		{"200Mbit", 25e6, ""},
		{"200mbit/s", 25e6, ""},
		{"60Mbit", 7.5e6, ""},
		{"1Gbit", 125e6, ""},
		{"8bit", 1, ""},
		{"7bit", 0, "whole number"},
		{"80", 0, "no unit"},
		{"80MB", 0, "unknown unit"},
		{"80Mb/s", 0, "unknown unit"},
	} {
		got, err := parseRate(c.text)
		check(t, c.text, got, c.want, err, c.err)
	}
}

func TestParseDuration(t *testing.T) {
	for _, c := range []struct {
		text string
		want Duration
		err  string
	}{
		{"200ms", Duration(200 * time.Millisecond), ""},
		{"1.5s", Duration(1500 * time.Millisecond), ""},
		{"-1s", 0, "positive"},
		{"200", 0, "positive"},
	} {
		got, err := ParseDuration(c.text)
		check(t, c.text, got, c.want, err, c.err)
	}
}

func TestSetKeepsTheOldValueOnError(t *testing.T) {
	s := 5 * MiB
	if err := s.Set("many"); err == nil || s != 5*MiB {
		t.Errorf("after a failed Set: %v, error %v; want 5MiB and an error", s, err)
	}
}

func check[T comparable](t *testing.T, text string, got, want T, err error, wantErr string) {
	t.Helper()
	switch {
	case wantErr == "" && err != nil:
		t.Errorf("%q: %v", text, err)
	case wantErr != "" && (err == nil || !strings.Contains(err.Error(), wantErr)):
		t.Errorf("%q: error %v, want one with %q", text, err, wantErr)
	case got != want:
		t.Errorf("%q = %v, want %v", text, got, want)
	}
}

// What is printed reads back as the same amount.
func TestTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 1<<62).Draw(t, "n")
		if s, err := parseSize(Size(n).String()); err != nil || s != Size(n) {
			t.Fatalf("size %d printed as %q reads back as %d, error %v", n, Size(n), s, err)
		}
		if r, err := parseRate(Rate(n).String()); err != nil || r != Rate(n) {
			t.Fatalf("rate %d printed as %q reads back as %d, error %v", n, Rate(n), r, err)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"0", "512MiB", "80MB/s", "200Mbit", "1.5s", "-", "9e9"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := parseSize(text); err == nil && s < 0 {
			t.Errorf("size %q is negative: %d", text, s)
		}
		if r, err := parseRate(text); err == nil && r < 0 {
			t.Errorf("rate %q is negative: %d", text, r)
		}
		if d, err := ParseDuration(text); err == nil && d < 0 {
			t.Errorf("duration %q is negative: %d", text, d)
		}
	})
}
