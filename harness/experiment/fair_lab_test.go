package experiment

import (
	"strings"
	"testing"

	"heddle/harness/clients"
	heddlelab "heddle/harness/lab"
	"heddle/harness/lab/labtest"
)

// TestFairScheduler runs jobs on a cluster whose own scheduler is the Fair scheduler.
// Without steering the trace has what Hadoop counted. A model is refused, since the Fair
// scheduler has no node labels, and the refusal leaves the cluster as it was.
func TestFairScheduler(t *testing.T) {
	cluster := labtest.Own(t, "fairtest", func(c *heddlelab.Config) { c.Nodes, c.Racks, c.Scheduler = 2, 1, heddlelab.Fair }).Cluster()
	clients := must(clients.To(&cluster, clients.Patience{}))
	t.Cleanup(func() { clients.Close() })
	scheduler, err := clients.RM.Scheduler(t.Context())
	if err != nil || scheduler.Type != "fairScheduler" {
		t.Fatalf("the scheduler is %q, error %v; want the Fair scheduler", scheduler.Type, err)
	}
	before := labelsOf(t, clients)

	t.Run("its own decisions", func(t *testing.T) {
		run := must(runText(t, &cluster, strings.NewReplacer("models: [fifo]", "models: [yarn]", "actuator: labels",
			"actuator: none").Replace(steered)))
		header := checkMeasured(t, clients, run)
		if class := header.Settings["yarn.resourcemanager.scheduler.class"]; !strings.HasSuffix(class, ".FairScheduler") {
			t.Errorf("the trace says that the scheduler is %q, so a replay would simulate another", class)
		}
	})
	t.Run("a model", func(t *testing.T) {
		_, err := runText(t, &cluster, steered)
		wantError(t, err, "fairScheduler", "Capacity scheduler")
	})
	noneRunning(t, clients, "after its end")
	awaitSame(t, clients, before)
}
