package stats

// Decided counts decisions that were judged afterwards, such as those of a classifier:
// [accepted][turned out bad]. A decision is right if it accepted what turned out good, or
// refused what turned out bad.
type Decided [2][2]float64

// Add counts one decision.
func (x *Decided) Add(accepted, bad bool) {
	i, k := 0, 0
	if accepted {
		i = 1
	}
	if bad {
		k = 1
	}
	x[i][k]++
}

// Count returns how many decisions there were.
func (x *Decided) Count() float64 { return x[0][0] + x[0][1] + x[1][0] + x[1][1] }

// All returns the percentage of decisions that were right. Like the other figures it is
// not a number if there are none of what it is a part of.
func (x *Decided) All() float64 { return 100 * (x[1][0] + x[0][1]) / x.Count() }
