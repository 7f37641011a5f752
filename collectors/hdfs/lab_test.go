package hdfs

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"
)

// labClient returns a client of a real NameNode, and a folder of its own there.
func labClient(t testing.TB) (*Client, string) {
	t.Helper()
	address := os.Getenv("HEDDLE_TEST_NAMENODE")
	if address == "" {
		t.Skip("HEDDLE_TEST_NAMENODE is not set: needs the RPC address of a real NameNode, host:port")
	}
	c, err := New(Options{NameNodes: strings.Split(address, ","), User: "root"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	files, err := c.Files()
	if err != nil {
		t.Fatal(err)
	}
	dir := "/heddle-test/" + strings.ReplaceAll(t.Name(), "/", "-") + time.Now().Format("-150405.000000")
	if err := files.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.RemoveAll(dir) })
	return c, dir
}

func TestLabSmoke(t *testing.T) {
	c, dir := labClient(t)
	ctx := context.Background()
	if err := c.WriteFile(ctx, dir+"/a", bytes.NewReader(make([]byte, 300_000)), WriteOptions{BlockSize: 65536 * 2}); err != nil {
		t.Fatal(err)
	}
	for f, err := range c.Locations(ctx, dir) {
		t.Logf("%+v %v", f, err)
	}
	n, err := c.DataNodes(ctx)
	t.Logf("%+v %v", n, err)
	p, err := c.CachePools(ctx)
	t.Logf("%+v %v", p, err)
	d, err := c.CacheDirectives(ctx, "")
	t.Logf("%+v %v", d, err)
	_, err = c.Stat(ctx, dir+"/b")
	t.Log(err)
	err = c.SetReplication(ctx, dir, 2)
	t.Log(err)
}
