package fidelity

import (
	"math/rand"
	"reflect"
	"testing"
	"testing/quick"

	"heddle/harness/config"
	"heddle/harness/replay/recorded"
)

// TestBehaviourOf has replays behave as the run's experiment says, but for what the trace has.
func TestBehaviourOf(t *testing.T) {
	v, _ := quick.Value(reflect.TypeFor[config.Behaviour](), rand.New(rand.NewSource(1)))
	e := &config.Experiment{Behaviour: v.Interface().(config.Behaviour)}
	e.Faults = config.Faults{{What: config.FaultDown}, {What: config.FaultFailAttempts, Share: 0.5}}
	trace := &recorded.Trace{}
	trace.Header.Actuator, trace.Header.Splits = "a", "s"
	want := e.Behaviour
	want.Actuator, want.Splits, want.Faults, want.Capacity = "a", "s", e.Faults[1:], config.Capacity{}
	if got := behaviourOf(e, trace); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
