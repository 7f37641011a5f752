// Package units reads and prints the sizes, rates and durations that flags and
// files contain. So "512MiB", "80MB/s" and "200Mbit" mean the same in every
// command. The package knows no defaults and no limits; its callers check the
// values.
package units

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"time"
)

// Size is a number of bytes. It is read from text such as "512MiB", "64KB",
// "1.5GiB", "4096B" and "4096". It implements flag.Value and the interfaces
// for marshaling text.
type Size int64

// Decimal and binary multiples of a byte: kB, MB, KiB, MiB and so on.
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

// Rate is a number of bytes per second. It is read from byte rates ("80MB/s",
// "10MiB/s") and bit rates ("200Mbit", "200Mbit/s", "1Gbit"). "0" is read too,
// and means no rate. It implements flag.Value and the interfaces for
// marshaling text.
type Rate int64

// Duration is a time.Duration that is written as text ("200ms") in files.
type Duration time.Duration

// unit is a unit, such as KB or MiB, in which a number of bytes can be written.
// A number is printed in the first unit of the list of which it is a whole
// multiple.
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

// parseSize reads a size in bytes. A number without a unit means bytes.
func parseSize(text string) (Size, error) {
	n, err := parse("size", text, sizeUnits, "B", "512MiB, 64KB or 4096")
	return Size(n), err
}

// parseRate reads a rate. A rate other than 0 needs a unit, since byte and bit
// rates differ by a factor of eight.
func parseRate(text string) (Rate, error) {
	n, err := parse("rate", text, rateUnits, "", "80MB/s, 200Mbit or 0")
	return Rate(n), err
}

// ParseDuration reads a duration as time.ParseDuration does, but refuses a
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
	if len(m[1]) > 40 { // refuse very long numbers: the time to read a number grows with the square of its length
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
		// Unit names such as "kb" and "MBIT" are clear in any case of letters,
		// but "Mb" could mean bits or bytes and is refused.
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
	return value.Num().String() // not reached: every list of units has the unit of one byte, of which every amount is a whole multiple
}

// String returns the shortest text that gives the size exactly, binary units
// first: "512MiB".
func (s Size) String() string { return format(int64(s), sizeUnits) }

// Rounded returns the size with few digits, for people: "65.2 MiB".
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

// Set reads a size from text, such as "512MiB", into s.
func (s *Size) Set(text string) (err error) { return set(s, text, parseSize) }

// MarshalText returns the size as text, as String does.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a size from text, as Set does.
func (s *Size) UnmarshalText(text []byte) error { return s.Set(string(text)) }

// String returns the rate as text in bytes per second: "25MB/s".
func (r Rate) String() string { return format(int64(r), rateUnits) }

// Set reads a rate from text, such as "80MB/s", into r.
func (r *Rate) Set(text string) error { return set(r, text, parseRate) }

// MarshalText returns the rate as text, as String does.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads a rate from text, as Set does.
func (r *Rate) UnmarshalText(text []byte) error { return r.Set(string(text)) }

// String returns the duration as time.Duration prints it.
func (d Duration) String() string { return time.Duration(d).String() }

// Set reads a duration from text, such as "200ms", into d.
func (d *Duration) Set(text string) error { return set(d, text, ParseDuration) }

// MarshalText returns the duration as text, as String does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a duration from text, as Set does.
func (d *Duration) UnmarshalText(text []byte) error { return d.Set(string(text)) }

// set parses text and stores the resulting value in the variable that the
// argument to points to. If the text is wrong, the variable keeps its old
// value.
func set[T any](to *T, text string, parse func(string) (T, error)) error {
	v, err := parse(text)
	if err == nil {
		*to = v
	}
	return err
}
