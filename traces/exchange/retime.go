package exchange

import "heddle/traces"

// retime is a traces.Visitor that changes an event's times and nothing else.
type retime struct {
	when  func(traces.Time) traces.Time // of T
	other func(traces.Time) traces.Time // of times inside, where they are reported
}

func (r *retime) When(t *traces.Time) { *t = r.when(*t) }

func (r *retime) Time(t *traces.Time) {
	if *t != 0 {
		*t = r.other(*t)
	}
}

func (*retime) Int64(*int64)           {}
func (*retime) Int32(*int32)           {}
func (*retime) Uint8(*uint8)           {}
func (*retime) Uint64(*uint64)         {}
func (*retime) Float64(*float64)       {}
func (*retime) Bool(*bool)             {}
func (*retime) Name(*string)           {}
func (*retime) Text(*string)           {}
func (*retime) Nodes(*[]traces.Node)   {}
func (*retime) Blocks(*[]traces.Block) {}
