package yarnclient_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"heddle/yarnclient"
	"heddle/yarnclient/yarntest"
)

// The nodes of a cluster and its running applications. Against a real one,
// Options has the ResourceManagers' addresses and no Transport.
func Example() {
	clock := yarntest.NewClock()
	cluster := yarntest.New(yarntest.Config{
		Now: clock.Now,
		Nodes: []yarntest.Node{
			{Host: "n1", Rack: "/rack1", MemoryMB: 2048, VCores: 4},
			{Host: "n2", Rack: "/rack2", MemoryMB: 2048, VCores: 4},
		},
	})
	if _, err := cluster.Submit(yarntest.Job{Name: "wordcount", Maps: [][]string{{"n1"}, {"n2"}}}); err != nil {
		panic(err)
	}
	clock.Advance(1500 * time.Millisecond)

	ctx := context.Background()
	rm, err := yarnclient.NewRM(yarnclient.Options{Addresses: []string{"rm:8088"}, Transport: cluster.Transport()})
	if err != nil {
		panic(err)
	}
	nodes, err := rm.Nodes(ctx, "RUNNING")
	if err != nil {
		panic(err)
	}
	for _, n := range nodes {
		fmt.Println(n.Host, n.Rack, n.State)
	}
	apps, err := rm.Apps(ctx, yarnclient.AppFilter{States: []string{"RUNNING"}})
	if err != nil {
		panic(err)
	}
	for _, a := range apps {
		fmt.Println(a.ID, a.Name, a.State)
	}
	// Output:
	// n1 /rack1 RUNNING
	// n2 /rack2 RUNNING
	// application_1700000000000_0001 wordcount RUNNING
}

// A node is moved into the partition of a node label. A call that is refused says
// why, and what to do next.
func ExampleRM_ReplaceLabels() {
	cluster := yarntest.New(yarntest.Config{
		Labels: []string{"fast"},
		Nodes:  []yarntest.Node{{Host: "n1", Rack: "/rack1", MemoryMB: 2048, VCores: 4}},
	})
	ctx := context.Background()
	rm, err := yarnclient.NewRM(yarnclient.Options{Addresses: []string{"rm:8088"}, Transport: cluster.Transport()})
	if err != nil {
		panic(err)
	}
	nodes, err := rm.Nodes(ctx)
	if err != nil {
		panic(err)
	}
	if err := rm.ReplaceLabels(ctx, map[string]string{nodes[0].ID: "fast"}); err != nil {
		panic(err)
	}
	labels, err := rm.NodesToLabels(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println(labels)

	err = rm.ReplaceLabels(ctx, map[string]string{nodes[0].ID: "nosuch"})
	var refused *yarnclient.RemoteError // what Hadoop said
	fmt.Println("refused:", errors.As(err, &refused))
	// Output:
	// map[n1:45454:[fast]]
	// refused: true
}
