package experiment

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"heddle/harness/change"
	"heddle/harness/clients"
	"heddle/harness/config"
	"heddle/harness/lease/leasetest"
	"heddle/yarnclient"
	"heddle/yarnclient/yarntest"
)

// deafFiles are files that no call reaches while deaf is true.
type deafFiles struct {
	*leasetest.Files
	deaf atomic.Bool
}

func (f *deafFiles) Names(ctx context.Context, name string) ([]string, error) {
	if f.deaf.Load() {
		return nil, errors.New("no NameNode answers")
	}
	return f.Files.Names(ctx, name)
}

// TestHoldTakenAnew loses the hold in the first trial. The second takes the cluster
// anew, and the third goes on with that hold, though the second has ended.
func TestHoldTakenAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rm := must(yarnclient.NewRM(yarnclient.Options{
			Addresses: []string{"http://rm:8088"}, Transport: yarntest.New(yarntest.Config{}).Transport(),
		}))
		files := &deafFiles{Files: leasetest.New()}
		const name = "cluster"
		w := &clusterWorld{
			options: &Options{Experiment: &config.Experiment{Cluster: name}, Progress: func(Step) {}},
			clusters: map[string]*usedCluster{name: {
				Clients: &clients.Clients{RM: rm}, target: &change.Target{Name: name, RM: rm, Files: files},
			}},
		}
		run, end := context.WithCancel(t.Context())
		defer end()
		mustDo(t, w.cleanUp(run, t.TempDir()))
		trial := func() *change.Hold {
			t.Helper()
			x := &trialRun{trial: &trial{options: w.options, plan: config.Trial{Model: config.Model{Cluster: name}}}, world: w}
			hold := must(x.held())
			return hold
		}
		first := trial()
		files.deaf.Store(true)
		<-time.After(time.Minute)
		if first.Lost() == nil {
			t.Fatal("no hold is lost for want of a NameNode")
		}
		files.deaf.Store(false)
		second := trial()
		if second == first || second.Alive() != nil {
			t.Fatalf("the second trial works under a hold that ended: %v", second.Alive())
		}
		if third := trial(); third != second || third.Alive() != nil {
			t.Errorf("the third trial has another hold, or one that ended: %v", third.Alive())
		}
		end()
		if !errors.Is(second.Alive(), context.Canceled) {
			t.Errorf("the run has ended, and its hold is alive: %v", second.Alive())
		}
		second.Abandon()
	})
}
