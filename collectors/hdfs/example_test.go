package hdfs_test

import (
	"context"
	"fmt"

	"heddle/collectors/hdfs"
	"heddle/collectors/hdfs/hdfstest"
)

// Where the blocks of the files in a folder are, and who has them cached. Against
// a real cluster, Options has the NameNodes' RPC addresses.
func ExampleClient_Locations() {
	text := hdfs.File{Path: "/in/text", Length: 192 << 20, BlockSize: 128 << 20, Blocks: []hdfs.Block{
		{ID: 1, Length: 128 << 20, Replicas: []hdfs.Replica{{Host: "n1", Rack: "/rack1"}, {Host: "n3", Rack: "/rack2", Cached: true}}},
		{ID: 2, Offset: 128 << 20, Length: 64 << 20, Replicas: []hdfs.Replica{{Host: "n2", Rack: "/rack1"}}},
	}}
	nameNode, err := hdfstest.New(text)
	if err != nil {
		panic(err)
	}
	defer nameNode.Close()

	client, err := hdfs.New(hdfs.Options{NameNodes: []string{nameNode.Address}, User: "me"})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	for file, err := range client.Locations(context.Background(), "/in") {
		if err != nil {
			panic(err)
		}
		fmt.Println(file.Path, file.Length>>20, "MiB")
		for _, b := range file.Blocks {
			fmt.Print("from ", b.Offset>>20, " MiB:")
			for _, r := range b.Replicas {
				fmt.Printf(" %s (cached: %t)", r.Host, r.Cached)
			}
			fmt.Println()
		}
	}
	// Output:
	// /in/text 192 MiB
	// from 0 MiB: n1 (cached: false) n3 (cached: true)
	// from 128 MiB: n2 (cached: false)
}
