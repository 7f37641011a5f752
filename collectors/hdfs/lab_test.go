package hdfs

import (
	"os"
	"strings"
	"testing"
	"time"
)

// labClient returns a client of a real NameNode.
func labClient(t testing.TB) *Client {
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
	return c
}

// labFolder returns a folder of the test's own in HDFS.
func labFolder(t testing.TB, c *Client) string {
	t.Helper()
	files, err := c.Files()
	if err != nil {
		t.Fatal(err)
	}
	dir := "/heddle-test/" + strings.ReplaceAll(t.Name(), "/", "-") + time.Now().Format("-150405.000000")
	if err := files.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.RemoveAll(dir) })
	return dir
}
