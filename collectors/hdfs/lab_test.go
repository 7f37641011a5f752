package hdfs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"heddle/harness/lab/labtest"
	"heddle/traces/errtest"
)

// labClient returns a client of the shared lab's NameNode, or of the one that
// HEDDLE_TEST_NAMENODE names (host:port).
func labClient(t testing.TB) *Client {
	t.Helper()
	if address := os.Getenv("HEDDLE_TEST_NAMENODE"); address != "" {
		return clientOf(t, strings.Split(address, ",")...)
	}
	return clientOf(t, labtest.Shared(t).Cluster().NameNodes...)
}

func clientOf(t testing.TB, addresses ...string) *Client {
	t.Helper()
	c := must(New(Options{NameNodes: addresses, User: "root"}))
	t.Cleanup(func() { c.Close() })
	return c
}

// labFolder returns a folder of the test's own in HDFS.
func labFolder(t testing.TB, c *Client) string {
	t.Helper()
	files := must(c.Files(t.Context()))
	dir := "/heddle-test/" + strings.ReplaceAll(t.Name(), "/", "-") + time.Now().Format("-150405.000000")
	mustDo(t, files.MkdirAll(dir, 0o755))
	t.Cleanup(func() { files.RemoveAll(dir) })
	return dir
}

func TestLabFiles(t *testing.T) {
	c := labClient(t)
	name := labFolder(t, c) + "/sub/f"
	for _, size := range []int{300_000, 10, 0} { // each replaces the one before
		content := make([]byte, size)
		rand.NewChaCha8([32]byte{byte(size)}).Read(content)
		mustDo(t, c.WriteFile(t.Context(), name, bytes.NewReader(content), WriteOptions{BlockSize: 65536, Mode: 0o600}))
		files := must(c.Files(t.Context()))
		got, err := files.ReadFile(name)
		if err != nil || !bytes.Equal(got, content) {
			t.Fatalf("read %d bytes, %v; want the %d written", len(got), err, size)
		}
		f, err := c.Stat(t.Context(), name)
		if err != nil || f.Length != int64(size) || f.BlockSize != 65536 || f.Mode != 0o600 || f.Owner != "root" {
			t.Errorf("stat: %+v, %v", f, err)
		}
		entries, err := files.ReadDir(path.Dir(name))
		if err != nil || len(entries) != 1 {
			t.Errorf("folder holds %v, %v; want only the file", entries, err)
		}
	}

	cut := io.MultiReader(bytes.NewReader(make([]byte, 100_000)), iotest.ErrReader(io.ErrUnexpectedEOF))
	errtest.Is(t, c.WriteFile(t.Context(), name, cut, WriteOptions{BlockSize: 65536}), io.ErrUnexpectedEOF)
	files := must(c.Files(t.Context()))
	if entries, err := files.ReadDir(path.Dir(name)); err != nil || len(entries) != 1 || entries[0].Size() != 0 {
		t.Errorf("it left %v, %v; want the file as it was", entries, err)
	}

	modified := time.UnixMilli(1_600_000_000_123)
	mustDo(t, c.SetModified(t.Context(), name, modified))
	if f, err := c.Stat(t.Context(), name); err != nil || !f.Modified.Equal(modified) {
		t.Errorf("modified at %v, %v; want %v", f.Modified, err, modified)
	}
	if err := c.SetReplication(t.Context(), name, 1); err != nil {
		t.Error(err)
	}
	if f, err := c.Stat(t.Context(), name); err != nil || f.Replication != 1 {
		t.Errorf("replication %d, %v; want 1", f.Replication, err)
	}
	errtest.Is(t, errOf(c.Stat(t.Context(), name+"x")), fs.ErrNotExist)
	errtest.Is(t, c.SetModified(t.Context(), name+"x", modified), fs.ErrNotExist)
	errtest.Is(t, c.SetReplication(t.Context(), name+"x", 1), fs.ErrNotExist)

	folder := path.Dir(name)
	if err := c.Rename(t.Context(), name, folder+"/g"); err != nil {
		t.Error(err)
	}
	errtest.Is(t, c.Rename(t.Context(), name, folder+"/h"), fs.ErrNotExist)
	mustDo(t, c.WriteFile(t.Context(), name, strings.NewReader(""), WriteOptions{}))
	errtest.Is(t, c.Rename(t.Context(), name, folder+"/g"), fs.ErrExist)
	if names, err := c.Names(t.Context(), folder); err != nil || !slices.Equal(names, []string{"f", "g"}) {
		t.Errorf("names %v, %v; want f and g", names, err)
	}
	errtest.Is(t, errOf(c.Names(t.Context(), folder+"/no")), fs.ErrNotExist)
}

// What is cached where, through a directive's life, agrees with what the
// NameNode says over WebHDFS.
func TestLabCache(t *testing.T) {
	c := labClient(t)
	dir := labFolder(t, c)
	pool := CachePool{Name: "heddle-test-" + strconv.FormatInt(time.Now().UnixNano(), 36), Mode: 0o750, Limit: 8 << 20}
	mustDo(t, c.AddCachePool(t.Context(), pool))
	t.Cleanup(func() { c.RemoveCachePool(context.Background(), pool.Name) })
	errtest.Is(t, c.AddCachePool(t.Context(), pool), fs.ErrInvalid)
	name := dir + "/f"
	mustDo(t, c.WriteFile(t.Context(), name, bytes.NewReader(make([]byte, 600_000)), WriteOptions{BlockSize: 262144, Replication: 2}))

	errtest.Is(t, errOf(c.AddCacheDirective(t.Context(), CacheDirective{Path: name, Pool: "no-such-pool"})), fs.ErrInvalid)
	until := time.Now().Add(time.Hour)
	must(c.AddCacheDirective(t.Context(), CacheDirective{Path: name, Pool: pool.Name, Replicas: 2, Expires: until}))
	untilCached(t, c, name, 2)
	compareWithWebHDFS(t, c, name)
	pools, err := c.CachePools(t.Context())
	i := slices.IndexFunc(pools, func(p CachePool) bool { return p.Name == pool.Name })
	if err != nil || i < 0 {
		t.Fatalf("pools %v, %v lack %s", pools, err, pool.Name)
	}
	if p := pools[i]; p.Mode != pool.Mode || p.Limit != pool.Limit || p.Owner != "root" {
		t.Errorf("pool %+v", p)
	}
	mustDo(t, c.RemoveCachePool(t.Context(), pool.Name))
	untilCached(t, c, name, 0)
}

// untilCached waits until each block of the file has so many cached replicas.
func untilCached(t *testing.T, c *Client, name string, replicas int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for start := time.Now(); ; {
		cached := []int(nil)
		for f, err := range c.Locations(ctx, name) {
			if err != nil {
				t.Fatalf("waiting for %d cached replicas, had %v: %v", replicas, cached, err)
			}
			for _, b := range f.Blocks {
				n := 0
				for _, r := range b.Replicas {
					if r.Cached {
						n++
					}
				}
				cached = append(cached, n)
			}
		}
		if !slices.ContainsFunc(cached, func(n int) bool { return n != replicas }) {
			t.Logf("cached replicas a block %v after %v", cached, time.Since(start))
			return
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			t.Fatalf("%v cached replicas after %v, want %d each", cached, time.Since(start), replicas)
		}
	}
}

func compareWithWebHDFS(t *testing.T, c *Client, name string) {
	t.Helper()
	host, _, _ := net.SplitHostPort(c.options.NameNodes[0])
	u := "http://" + host + ":9870/webhdfs/v1" + (&url.URL{Path: name}).EscapedPath() + "?op=GETFILEBLOCKLOCATIONS&user.name=root"
	resp := must(http.Get(u))
	defer resp.Body.Close()
	type location struct {
		Offset, Length                           int64
		Hosts, CachedHosts, Names, TopologyPaths []string
	}
	var answer struct {
		BlockLocations struct{ BlockLocation []location }
	}
	mustDo(t, json.NewDecoder(resp.Body).Decode(&answer))
	want := answer.BlockLocations.BlockLocation
	var got []location
	for f, err := range c.Locations(t.Context(), name) {
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range f.Blocks {
			l := location{Offset: b.Offset, Length: b.Length}
			for _, r := range b.Replicas {
				l.Hosts = append(l.Hosts, r.Host)
				l.Names = append(l.Names, r.IP+":9866")
				l.TopologyPaths = append(l.TopologyPaths, r.Rack+"/"+r.IP+":9866")
				if r.Cached {
					l.CachedHosts = append(l.CachedHosts, r.Host)
				}
			}
			got = append(got, l)
		}
	}
	anyOrder := cmpopts.SortSlices(func(a, b string) bool { return a < b })
	if d := cmp.Diff(want, got, anyOrder, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("locations of %s (-WebHDFS +RPC)\n%s", name, d)
	}
}

func TestLabDataNodes(t *testing.T) {
	c := labClient(t)
	nodes, err := c.DataNodes(t.Context())
	if err != nil || len(nodes) == 0 {
		t.Fatalf("%v, %v", nodes, err)
	}
	for _, n := range nodes {
		if n.UUID == "" || n.Host == "" || n.Port == 0 || n.Capacity <= n.Remaining || n.CacheCapacity == 0 {
			t.Errorf("%+v", n)
		}
	}
	nobody := must(New(Options{NameNodes: c.options.NameNodes, User: "nobody"}))
	defer nobody.Close()
	if _, err := nobody.DataNodes(t.Context()); err != nil && !errors.Is(err, fs.ErrPermission) {
		t.Errorf("as nobody: %v", err) // allowed where permissions are off
	}
}

// Real listeners that are no NameNode.
func TestLabWrongPorts(t *testing.T) {
	c := labClient(t)
	host, _, _ := net.SplitHostPort(c.options.NameNodes[0])
	nodes := must(c.DataNodes(t.Context()))
	for name, address := range map[string]string{
		"NameNode web":        net.JoinHostPort(host, "9870"),
		"ResourceManager RPC": net.JoinHostPort(host, "8032"),
		"DataNode transfer":   net.JoinHostPort(nodes[0].IP, strconv.Itoa(nodes[0].Port)),
		"nothing":             net.JoinHostPort(host, "1"),
	} {
		_, err := clientOf(t, address).Stat(t.Context(), "/")
		if !errors.Is(err, ErrUnreachable) {
			t.Errorf("%s: error %v, want ErrUnreachable", name, err)
		}
		t.Logf("%s: %v", name, err)
	}
}
