package yarnclient_test

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"heddle/yarnclient"
)

// labRM returns a client of the real ResourceManager that HEDDLE_TEST_RM names.
func labRM(t *testing.T) (*yarnclient.RM, context.Context) {
	address := os.Getenv("HEDDLE_TEST_RM")
	if address == "" {
		t.Skip("no real ResourceManager: set HEDDLE_TEST_RM=http://host:8088")
	}
	rm, err := yarnclient.NewRM(yarnclient.Options{Addresses: []string{address}, User: "root"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(func() { cancel(); rm.Close() })
	return rm, ctx
}

func TestLabReads(t *testing.T) {
	rm, ctx := labRM(t)
	info, err := rm.WaitActive(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", info)
	nodes, err := rm.Nodes(ctx, "RUNNING")
	if err != nil || len(nodes) == 0 {
		t.Fatalf("nodes: %v, %v", nodes, err)
	}
	for _, n := range nodes {
		one, err := rm.Node(ctx, n.ID)
		if err != nil || one.ID != n.ID || one.Total.MemoryMB == 0 || one.Rack == "" {
			t.Errorf("node %s: %+v, %v", n.ID, one, err)
		}
	}
	m, err := rm.Metrics(ctx)
	if err != nil || m.ActiveNodes != len(nodes) || m.TotalCapacity.MemoryMB == 0 {
		t.Errorf("metrics: %+v, %v, want %d active nodes", m, err, len(nodes))
	}
	s, err := rm.Scheduler(ctx)
	if err != nil || s.Type != "capacityScheduler" || s.Queue("root") == nil || s.Queue("root.default") == nil {
		t.Errorf("scheduler: %+v, %v", s, err)
	}
	labels, err := rm.NodeLabels(ctx)
	if err != nil || len(labels) == 0 {
		t.Errorf("labels: %v, %v", labels, err)
	}
	if rmLabels, err := rm.RMNodeLabels(ctx); err != nil || len(rmLabels) != len(labels)+1 {
		t.Errorf("labels with the default partition: %v, %v; without: %v", rmLabels, err, labels)
	}
	of, err := rm.NodesToLabels(ctx)
	if err != nil {
		t.Error(err)
	}
	for _, n := range nodes {
		if got := strings.Join(of[n.ID], ","); got != n.Label() {
			t.Errorf("label of %s: %q by the label list, %q by the node", n.ID, got, n.Label())
		}
	}
	if _, err := rm.LabelsToNodes(ctx); err != nil {
		t.Error(err)
	}
	if conf, err := rm.SchedulerConf(ctx); err != nil || conf["yarn.scheduler.capacity.root.queues"] == "" {
		t.Errorf("scheduler-conf: %v, %v", conf, err)
	}
	if v, err := rm.Conf(ctx, "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms"); err != nil || v == "" {
		t.Errorf("conf: %q, %v", v, err)
	}
	if _, err := rm.Conf(ctx, "heddle.no.such.property"); !errors.Is(err, yarnclient.ErrNotFound) {
		t.Errorf("unset property: %v, want ErrNotFound", err)
	}
	beans, err := rm.JMX(ctx, "Hadoop:service=ResourceManager,name=ClusterMetrics")
	if err != nil || len(beans) != 1 || beans[0]["NumActiveNMs"] == nil {
		t.Errorf("jmx: %v, %v", beans, err)
	}
	nm, err := yarnclient.NewNM(yarnclient.Options{Addresses: []string{nodes[0].HTTPAddress}, DialContext: labDial})
	if err != nil {
		t.Fatal(err)
	}
	defer nm.Close()
	if ni, err := nm.Info(ctx); err != nil || ni.ID != nodes[0].ID {
		t.Errorf("NodeManager: %+v, %v, want %s", ni, err, nodes[0].ID)
	}
	if _, err := nm.Containers(ctx); err != nil {
		t.Error(err)
	}
}

// labDial reaches the lab's nodes, whose names this machine may not resolve:
// the master is the ResourceManager's host, a worker r1n2 has an address of the
// same network.
func labDial(ctx context.Context, network, addr string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	rm, err := url.Parse(os.Getenv("HEDDLE_TEST_RM"))
	if err != nil {
		return nil, err
	}
	ip := strings.Split(rm.Hostname(), ".")
	if rack, node, ok := strings.Cut(strings.TrimPrefix(host, "r"), "n"); ok && len(ip) == 4 {
		host = ip[0] + "." + ip[1] + "." + rack + "." + node
	} else if host == "master" {
		host = rm.Hostname()
	}
	return (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(host, port))
}
