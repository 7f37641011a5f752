package why

import (
	"slices"

	"heddle/traces"
)

// Since returns the explanation with all times counted from the time begin on, for a reader
// who sees no times of the trace, but those since the first submission.
func (x *Explanation) Since(begin traces.Time) *Explanation {
	y := *x
	y.Start -= Ms(begin)
	y.Facts -= Ms(begin)
	earlier := func(t *Ms) *Ms {
		if t == nil {
			return nil
		}
		s := *t - Ms(begin)
		return &s
	}
	y.Asked, y.Killed = earlier(x.Asked), earlier(x.Killed)
	y.Nearer = slices.Clone(x.Nearer)
	for i := range y.Nearer {
		y.Nearer[i].Since = earlier(x.Nearer[i].Since)
	}
	if x.Before != nil {
		b := *x.Before
		b.End = earlier(b.End)
		y.Before = &b
	}
	if x.Decision != nil {
		d := *x.Decision
		d.At -= Ms(begin)
		y.Decision = &d
	}
	return &y
}
