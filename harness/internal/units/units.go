// Package units reads and prints the sizes, rates and durations that flags and
// files share, so that "512MiB", "80MB/s" and "200Mbit" mean the same in every
// command. It knows no defaults and no limits; who takes a value checks it.
package units

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"time"
)

// Size is a number of bytes. It reads "512MiB", "64KB", "1.5GiB", "4096B" and
// "4096". It is a flag.Value and a text marshaler.
type Size int64

// Decimal and binary multiples of a byte.
const (
	KB  Size = 1000
	MB       = 1000 * KB
	GB       = 1000 * MB
	TB       = 1000 * GB
	KiB Size = 1024
	MiB      = 1024 * KiB
	GiB      = 1024 * MiB
	TiB      = 1024 * GiB
)

// Rate is a number of bytes a second. It reads byte rates ("80MB/s",
// "10MiB/s") and bit rates ("200Mbit", "200Mbit/s", "1Gbit"); "0" is no rate.
// It is a flag.Value and a text marshaler.
type Rate int64

// Bits is the rate in bits a second.
func (r Rate) Bits() int64 { return int64(r) * 8 }

// Duration is a time.Duration that is written as text ("200ms") in files.
type Duration time.Duration

// unit is one way to write an amount; the first that divides a value without
// rest prints it.
type unit struct {
	name  string
	bytes *big.Rat
}

var (
	sizeUnits = []unit{
		whole("TiB", TiB), whole("GiB", GiB), whole("MiB", MiB), whole("KiB", KiB),
		whole("TB", TB), whole("GB", GB), whole("MB", MB), whole("KB", KB), whole("B", 1),
	}
	rateUnits = []unit{
		whole("GB/s", GB), whole("MB/s", MB), whole("KB/s", KB),
		whole("GiB/s", GiB), whole("MiB/s", MiB), whole("KiB/s", KiB), whole("B/s", 1),
		bits("Gbit", 1e9), bits("Mbit", 1e6), bits("Kbit", 1e3), bits("bit", 1),
		bits("Gbit/s", 1e9), bits("Mbit/s", 1e6), bits("Kbit/s", 1e3), bits("bit/s", 1),
	}
	number = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) *([A-Za-z/]*)$`)
)

func whole(name string, n Size) unit { return unit{name, big.NewRat(int64(n), 1)} }
func bits(name string, n int64) unit { return unit{name, big.NewRat(n, 8)} }

// ParseSize reads a size; a number without a unit is bytes.
func ParseSize(text string) (Size, error) {
	n, err := parse("size", text, sizeUnits, "B", "512MiB, 64KB or 4096")
	return Size(n), err
}

// ParseRate reads a rate. Only 0 may stand without a unit, since byte and bit
// rates differ by a factor of eight.
func ParseRate(text string) (Rate, error) {
	n, err := parse("rate", text, rateUnits, "", "80MB/s, 200Mbit or 0")
	return Rate(n), err
}

// ParseDuration reads a duration as time.ParseDuration does, but not a
// negative one.
func ParseDuration(text string) (Duration, error) {
	d, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil || d < 0 {
		return 0, fmt.Errorf("read duration %q: want a positive one such as 200ms or 1.5s", text)
	}
	return Duration(d), nil
}

func parse(what, text string, units []unit, bare, examples string) (int64, error) {
	bad := func(why string) (int64, error) {
		return 0, fmt.Errorf("read %s %q: %s; want one such as %s", what, text, why, examples)
	}
	m := number.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return bad("not a number with a unit")
	}
	if len(m[1]) > 40 { // the time to read a number grows with the square of its length
		return bad("too many digits")
	}
	amount, ok := new(big.Rat).SetString(m[1])
	if !ok {
		return bad("not a number")
	}
	name := m[2]
	if name == "" {
		name = bare
	}
	if name == "" {
		if amount.Sign() == 0 {
			return 0, nil
		}
		return bad("no unit")
	}
	for _, u := range units {
		// "kb" and "MBIT" are clear; "Mb" could be bits or bytes.
		if !strings.EqualFold(u.name, name) || strings.HasSuffix(strings.TrimSuffix(name, "/s"), "b") && name != strings.ToLower(name) {
			continue
		}
		bytes := new(big.Rat).Mul(amount, u.bytes)
		switch {
		case !bytes.IsInt():
			return bad("not a whole number of bytes")
		case !bytes.Num().IsInt64():
			return bad("too large")
		}
		return bytes.Num().Int64(), nil
	}
	return bad(fmt.Sprintf("unknown unit %q", m[2]))
}

func format(n int64, units []unit) string {
	if n == 0 {
		return "0"
	}
	value := new(big.Rat).SetInt64(n)
	for _, u := range units {
		if q := new(big.Rat).Quo(value, u.bytes); q.IsInt() {
			return q.Num().String() + u.name
		}
	}
	return value.Num().String() // not reached: every list has the unit of one byte
}

// String is the shortest exact form, binary units first: "512MiB".
func (s Size) String() string { return format(int64(s), sizeUnits) }

// Rounded is a length for people, "65.2 MiB".
func (s Size) Rounded() string {
	for _, u := range []struct {
		name  string
		bytes Size
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if s >= u.bytes {
			return fmt.Sprintf("%.1f %s", float64(s)/float64(u.bytes), u.name)
		}
	}
	return fmt.Sprintf("%d B", s)
}

// Set reads text into s.
func (s *Size) Set(text string) (err error) { return set(s, text, ParseSize) }

// MarshalText is String.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is Set.
func (s *Size) UnmarshalText(text []byte) error { return s.Set(string(text)) }

// String is the rate in bytes a second: "25MB/s".
func (r Rate) String() string { return format(int64(r), rateUnits) }

// Set reads text into r.
func (r *Rate) Set(text string) error { return set(r, text, ParseRate) }

// MarshalText is String.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText is Set.
func (r *Rate) UnmarshalText(text []byte) error { return r.Set(string(text)) }

// String is as time.Duration prints it.
func (d Duration) String() string { return time.Duration(d).String() }

// Set reads text into d.
func (d *Duration) Set(text string) error { return set(d, text, ParseDuration) }

// MarshalText is String.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText is Set.
func (d *Duration) UnmarshalText(text []byte) error { return d.Set(string(text)) }

// set leaves the old value where text is wrong.
func set[T any](to *T, text string, parse func(string) (T, error)) error {
	v, err := parse(text)
	if err == nil {
		*to = v
	}
	return err
}
