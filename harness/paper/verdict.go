package paper

import (
	"slices"

	"heddle/harness/stats"
)

// Verdict says what became of a claim.
type Verdict string

// Verdicts on a claim.
const (
	Holds       Verdict = "holds"        // an effect as claimed is shown, of the size asked for
	Direction   Verdict = "direction"    // the sign is as claimed; the size, or all of an order, is not
	Fails       Verdict = "fails"        // no effect is shown; of a check, it is wrong
	Reversed    Verdict = "reversed"     // the opposite is shown
	Ceiling     Verdict = "ceiling"      // there is no room for an effect of the size asked for
	NotTestable Verdict = "not testable" // the seeds do not tell no effect from one of the size asked for, or equal from not
)

// Verdicts are all verdicts, in the order in which tables count them.
var Verdicts = []Verdict{Holds, Direction, Fails, Reversed, Ceiling, NotTestable}

// Effect is a difference that a claim asks for. It is such that a larger value
// is more of what is claimed.
type Effect struct {
	What string // such as "time that A saves against B"
	Unit string
	stats.Estimate
	// None is the value if there is no effect: 0, or 1 for a ratio. Least is the
	// smallest value asked for; it is not below None. Most, if above 0, is the
	// largest. With None at another value and Least equal to it, such as -0.02, an effect
	// asks for non-inferiority: to be worse by less than that.
	None, Least, Most float64
	// Band, if it is not empty, asks for equivalence instead of an effect: that
	// the whole interval lies between these two values. None, Least and Most then
	// do not count.
	Band [2]float64
	// Room is the largest value that any scheduler can reach, if RoomWhy says why.
	// It must be a bound: proven, or computed from each seed for a scheduler that
	// none can beat. An effect without RoomWhy may have any room.
	Room    stats.Estimate
	RoomWhy string
	// Published is the effect that the paper states, in this unit; 0 if it states none.
	Published float64
}

// Sign says whether an effect is there, whatever its size.
type Sign string

// Signs of an effect. NoSign is that of an effect whose interval has no bounds.
const (
	Shown    Sign = "shown"
	NotShown Sign = "not shown"
	Opposite Sign = "opposite"
	NoSign   Sign = "not testable"
)

// Sign returns whether the interval shows the effect, or its opposite. For
// equivalence, the opposite is a difference that is beyond the band.
func (e *Effect) Sign() Sign {
	switch {
	case !e.Bounded():
		return NoSign
	case e.equivalence() && e.Lo >= e.Band[0] && e.Hi <= e.Band[1]:
		return Shown
	case e.equivalence() && (e.Lo > e.Band[1] || e.Hi < e.Band[0]):
		return Opposite
	case e.equivalence():
		return NotShown
	case e.Lo > e.None:
		return Shown
	case e.Hi < e.None:
		return Opposite
	}
	return NotShown
}

func (e *Effect) equivalence() bool { return e.Band != [2]float64{} }

func (e *Effect) nonInferiority() bool { return e.Least == e.None && e.None != 0 && e.None != 1 }

// Has says whether there is room for an effect of the size asked for.
type Has string

// There is room if the largest possible effect is surely above what is asked for,
// and there is none if it is surely not. It is not known if no bound is known, or
// its interval has what is asked for in it.
const (
	HasRoom      Has = "yes"
	HasNoRoom    Has = "no"
	RoomNotKnown Has = "not known"
)

// HasRoom returns whether there is room for the effect.
func (e *Effect) HasRoom() Has {
	switch {
	case e.RoomWhy == "" || !e.Room.Bounded() || e.equivalence():
		return RoomNotKnown
	case e.Room.Hi <= e.Least:
		return HasNoRoom
	case e.Room.Lo > e.Least:
		return HasRoom
	}
	return RoomNotKnown
}

// rules are tried in this order; the first that applies gives the verdict on an
// effect. If none does, the effect fails. An effect holds by its value and by an interval that excludes "no
// effect"; how wide the interval is does not matter otherwise. Equivalence and
// non-inferiority have no third way: it is shown, its opposite is, or the interval is too
// wide to tell.
var rules = []struct {
	verdict Verdict
	applies func(*Effect) bool
}{
	{NotTestable, func(e *Effect) bool { return e.Sign() == NoSign }},
	{Reversed, func(e *Effect) bool { return e.Sign() == Opposite }},
	{Holds, func(e *Effect) bool {
		return e.Sign() == Shown && (e.equivalence() || e.Value >= e.Least && (e.Most == 0 || e.Value <= e.Most))
	}},
	{Ceiling, func(e *Effect) bool { return e.HasRoom() == HasNoRoom }},
	{Direction, func(e *Effect) bool { return e.Sign() == Shown }},
	{NotTestable, func(e *Effect) bool {
		return e.equivalence() || e.nonInferiority() || e.Least > e.None && e.Hi >= e.Least
	}},
}

// Verdict judges one effect.
func (e *Effect) Verdict() Verdict {
	for _, r := range rules {
		if r.applies(e) {
			return r.verdict
		}
	}
	return Fails
}

// Judge judges a claim by its effects, and returns which effect the verdict rests
// on. Effects without room (their verdict is Ceiling) are left out, unless all
// effects are. Of the verdicts on the others, the first line that applies counts:
//
//	verdicts on the effects that are left     the claim is     it rests on
//	none is left                              ceiling          the first effect
//	one is reversed                           reversed         the first that is
//	some are not testable, and the claim      not testable     the first that is
//	  hangs on what they would be
//	all hold, and no effect was left out      holds            the first
//	the first holds or has the direction      direction        the first that is left
//	the first fails                           fails            the first that is left
//
// So effects after the first can take "holds" from a claim, but neither give it
// nor excuse the first. A claim hangs on its untestable effects if it would come
// out differently with all of them holding than with all of them failing.
func Judge(effects []Effect) (v Verdict, rests int) {
	if len(effects) == 0 {
		return NotTestable, 0
	}
	return verdictOf(together(effects))
}

// verdictOf is the table of Judge.
func verdictOf(verdicts []Verdict) (v Verdict, rests int) {
	first := slices.IndexFunc(verdicts, func(v Verdict) bool { return v != Ceiling })
	if first < 0 {
		return Ceiling, 0
	}
	if i := slices.Index(verdicts, Reversed); i >= 0 {
		return Reversed, i
	}
	if i := slices.Index(verdicts, NotTestable); i >= 0 {
		best, _ := verdictOf(replaced(verdicts, NotTestable, Holds))
		worst, at := verdictOf(replaced(verdicts, NotTestable, Fails))
		if best != worst {
			return NotTestable, i
		}
		return best, at
	}
	switch {
	case !slices.ContainsFunc(verdicts, func(v Verdict) bool { return v != Holds }):
		return Holds, 0
	case verdicts[first] == Fails:
		return Fails, first
	}
	return Direction, first
}

func replaced(verdicts []Verdict, old, by Verdict) []Verdict {
	list := slices.Clone(verdicts)
	for i := range list {
		if list[i] == old {
			list[i] = by
		}
	}
	return list
}

// together returns the verdicts on the effects of one claim. Of several effects,
// one may seem reversed by chance. So an effect is reversed only if that is
// shown with an interval widened for their number (Bonferroni's rule).
func together(effects []Effect) []Verdict {
	list := make([]Verdict, len(effects))
	for i := range effects {
		if list[i] = effects[i].Verdict(); list[i] == Reversed {
			e := effects[i].among(len(effects))
			list[i] = e.Verdict()
		}
	}
	return list
}

// among returns the effect with its interval as one of n, by Student's distribution with
// the seeds' degrees of freedom.
func (e Effect) among(n int) Effect {
	widen := stats.Widening(n, float64(e.N-1))
	e.Lo, e.Hi = e.Value-(e.Value-e.Lo)*widen, e.Value+(e.Hi-e.Value)*widen
	return e
}

// Gaining returns the effects of a claim that a gain is larger here than there: without a
// gain there is nothing to be larger, so the verdict rests on it if it is not shown.
func Gaining(gain Effect, effects ...Effect) []Effect {
	if gain.Sign() == Shown {
		return append(effects, gain)
	}
	return append([]Effect{gain}, effects...)
}
