package experiment

import (
	"math/rand"
	"reflect"
	"testing"
	"testing/quick"

	"heddle/harness/config"
	"heddle/harness/workload"
)

// TestSimulatedBehaviour has simulated trials behave in all that the experiment says.
func TestSimulatedBehaviour(t *testing.T) {
	v, _ := quick.Value(reflect.TypeFor[config.Behaviour](), rand.New(rand.NewSource(1)))
	e := &config.Experiment{Behaviour: v.Interface().(config.Behaviour)}
	x := simulatedTrial{
		trial: &trial{options: &Options{Experiment: e}, plan: config.Trial{Model: config.Model{Model: "fifo"}}}, twin: &workload.Twin{},
	}
	if got := x.config(t.Context()).Behaviour; !reflect.DeepEqual(got, e.Behaviour) {
		t.Errorf("%+v, want %+v", got, e.Behaviour)
	}
}
