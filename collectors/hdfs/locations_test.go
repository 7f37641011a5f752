package hdfs

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/collectors/hdfs/internal/hdfspb"
	"heddle/collectors/hdfs/jobsplit"
)

// fakeTree is a NameNode with files of the given numbers of blocks of 100
// bytes; folders are implied. It lists pageSize entries at a time.
type fakeTree struct {
	files    map[string]int
	pageSize int
	gone     string // a folder that is listed in its parent but not there
}

func (f fakeTree) answer(c fakeCall) fakeReply {
	switch c.method {
	case "getListing":
		req := &hdfspb.GetListingRequest{}
		c.decode(req)
		return fakeReply{message: &hdfspb.GetListingResponse{DirList: f.list(req)}}
	case "getFileInfo":
		req := &hdfspb.GetFileInfoRequest{}
		c.decode(req)
		if f.kind(req.GetSrc()) == hdfspb.FileStatus_TYPE_UNKNOWN {
			return fakeReply{message: &hdfspb.GetFileInfoResponse{}}
		}
		return fakeReply{message: &hdfspb.GetFileInfoResponse{Fs: f.status(req.GetSrc(), false)}}
	case "getBlockLocations":
		req := &hdfspb.GetBlockLocationsRequest{}
		c.decode(req)
		n, ok := f.files[req.GetSrc()]
		if !ok {
			return exception("java.io.FileNotFoundException")
		}
		all := located(n)
		all.Blocks = slices.DeleteFunc(all.Blocks, func(b *hdfspb.LocatedBlock) bool {
			return b.Offset+100 <= req.GetOffset() || b.Offset >= req.GetOffset()+req.GetLength()
		})
		return fakeReply{message: &hdfspb.GetBlockLocationsResponse{Locations: all}}
	}
	return exception("java.lang.UnsupportedOperationException")
}

func (f fakeTree) kind(p string) hdfspb.FileStatus_FileType {
	if _, ok := f.files[p]; ok {
		return hdfspb.FileStatus_FILE
	}
	for file := range f.files {
		if strings.HasPrefix(file, strings.TrimSuffix(p, "/")+"/") {
			return hdfspb.FileStatus_DIR
		}
	}
	return hdfspb.FileStatus_TYPE_UNKNOWN
}

func (f fakeTree) status(p string, locations bool) *hdfspb.FileStatus {
	s := &hdfspb.FileStatus{FileType: f.kind(p), Length: uint64(100 * f.files[p])}
	if locations && s.FileType == hdfspb.FileStatus_FILE {
		s.Locations = located(f.files[p])
	}
	return s
}

func (f fakeTree) list(req *hdfspb.GetListingRequest) *hdfspb.DirectoryListing {
	dir := req.GetSrc()
	switch f.kind(dir) {
	case hdfspb.FileStatus_FILE:
		return &hdfspb.DirectoryListing{PartialListing: []*hdfspb.FileStatus{f.status(dir, req.GetNeedLocation())}}
	case hdfspb.FileStatus_TYPE_UNKNOWN:
		return nil
	}
	if dir == f.gone {
		return nil
	}
	names := map[string]bool{}
	for file := range f.files {
		if rest, ok := strings.CutPrefix(file, strings.TrimSuffix(dir, "/")+"/"); ok {
			name, _, _ := strings.Cut(rest, "/")
			names[name] = true
		}
	}
	left := slices.DeleteFunc(slices.Sorted(maps.Keys(names)), func(n string) bool { return n <= string(req.GetStartAfter()) })
	list := &hdfspb.DirectoryListing{}
	for _, n := range left[:min(f.pageSize, len(left))] {
		s := f.status(path.Join(dir, n), req.GetNeedLocation())
		s.Path = []byte(n)
		list.PartialListing = append(list.PartialListing, s)
	}
	list.RemainingEntries = uint32(len(left) - len(list.PartialListing))
	return list
}

func located(n int) *hdfspb.LocatedBlocks {
	l := &hdfspb.LocatedBlocks{FileLength: uint64(100 * n)}
	for i := range n {
		l.Blocks = append(l.Blocks, &hdfspb.LocatedBlock{
			B:      &hdfspb.ExtendedBlock{BlockId: uint64(1000 + i), NumBytes: 100},
			Offset: uint64(100 * i),
			Locs: []*hdfspb.DatanodeInfo{
				{Id: &hdfspb.DatanodeID{HostName: "n2", IpAddr: "10.0.0.2"}, Location: "/r2"},
				{Id: &hdfspb.DatanodeID{HostName: "n1", IpAddr: "10.0.0.1"}, Location: "/r1"},
				{Id: &hdfspb.DatanodeID{HostName: "n3", IpAddr: "10.0.0.3"}, Location: "/r2"},
			},
			IsCached: []bool{true, false},
		})
	}
	return l
}

// inTree runs check with a client of the tree.
func inTree(t *testing.T, f fakeTree, check func(*testing.T, *Client, *fakeNameNode)) {
	synctest.Test(t, func(t *testing.T) {
		nn := active(f.answer)
		check(t, fakeCluster{"a:1": nn}.client(t, "a:1"), nn)
	})
}

func TestBlock(t *testing.T) {
	inTree(t, fakeTree{files: map[string]int{"/f": 1}}, func(t *testing.T, c *Client, _ *fakeNameNode) {
		for f, err := range c.Locations(t.Context(), "/f") {
			if err != nil {
				t.Fatal(err)
			}
			want := []Block{{
				ID: 1000, Offset: 0, Length: 100,
				Replicas: []Replica{
					{Host: "n1", IP: "10.0.0.1", Rack: "/r1"},
					{Host: "n2", IP: "10.0.0.2", Rack: "/r2", Cached: true},
					{Host: "n3", IP: "10.0.0.3", Rack: "/r2"},
				},
			}}
			if d := cmp.Diff(want, f.Blocks); d != "" || f.Path != "/f" || f.Length != 100 {
				t.Errorf("%s, %d bytes: (-want +got)\n%s", f.Path, f.Length, d)
			}
		}
	})
}

func TestLocations(t *testing.T) {
	files := map[string]int{
		"/in/a": 1, "/in/b": 0, "/in/c/x": 2, "/in/c/y/z": 3, "/in/d": 1, "/in/w*": 1, "/out/a": 1, "/out/gone/a": 1,
	}
	for name, want := range map[string]string{
		"/in/a":               "/in/a",
		"/in":                 "/in/a /in/b /in/c/x /in/c/y/z /in/d /in/w*",
		"/in/c/":              "/in/c/x /in/c/y/z",
		"hdfs://nn:8020/in/c": "/in/c/x /in/c/y/z",
		"/in/w*":              "/in/w*",
		"/out":                "/out/a", // /out/gone is gone
		"/nothing":            "error: block locations of hdfs /nothing: file does not exist",
		"in/a":                "error: block locations of hdfs in/a: path is not absolute: invalid argument",
	} {
		for _, pageSize := range []int{1, 2, 1000} {
			inTree(t, fakeTree{files, pageSize, "/out/gone"}, func(t *testing.T, c *Client, _ *fakeNameNode) {
				var got []string
				for f, err := range c.Locations(t.Context(), name) {
					if err != nil {
						got = append(got, "error:", err.Error())
						continue
					}
					if len(f.Blocks) != files[f.Path] {
						t.Errorf("%s has %d blocks, want %d", f.Path, len(f.Blocks), files[f.Path])
					}
					got = append(got, f.Path)
				}
				if s := strings.Join(got, " "); s != want && (!strings.HasPrefix(s, "error") || !strings.Contains(s, want)) {
					t.Errorf("%s, %d a page: got\n%s\nwant\n%s", name, pageSize, s, want)
				}
			})
		}
	}
}

// A caller that stops early is asked no more, and what it holds does not grow:
// at most the page it is in and the next one have been fetched.
func TestLocationsStops(t *testing.T) {
	files := map[string]int{}
	for i := range 100 {
		files[fmt.Sprintf("/in/f%03d", i)] = 1
	}
	inTree(t, fakeTree{files: files, pageSize: 10}, func(t *testing.T, c *Client, nn *fakeNameNode) {
		n := 0
		for range c.Locations(t.Context(), "/in") {
			if n++; n == 15 {
				break
			}
		}
		synctest.Wait()
		if calls := len(nn.seen()); calls > 3 {
			t.Errorf("%d pages of 10 fetched for 15 files", calls)
		}
	})
}

func TestSplitLocations(t *testing.T) {
	files := map[string]int{"/a": 10, "/b": 1}
	inTree(t, fakeTree{files: files}, func(t *testing.T, c *Client, nn *fakeNameNode) {
		got := must(c.SplitLocations(t.Context(), []jobsplit.Split{
			{Path: "hdfs://nn:8020/a", Offset: 250, Length: 100}, // in two blocks
			{Path: "/b", Offset: 0, Length: 100},
			{Path: "/a", Offset: 900, Length: 500}, // past the end
			{Path: "/a", Offset: 300, Length: 100},
			{Path: "/a", Offset: 300, Length: 0},
			{Path: "/a", Offset: 2000, Length: 10},
		}))
		var offsets [][]int64
		for _, blocks := range got {
			var o []int64
			for _, b := range blocks {
				o = append(o, b.Offset)
			}
			offsets = append(offsets, o)
		}
		if d := cmp.Diff([][]int64{{200, 300}, {0}, {900}, {300}, nil, nil}, offsets); d != "" {
			t.Errorf("offsets of blocks (-want +got)\n%s", d)
		}
		if calls := len(nn.seen()); calls != 2 {
			t.Errorf("%d calls for 2 files", calls)
		}
	})
	inTree(t, fakeTree{files: files}, func(t *testing.T, c *Client, _ *fakeNameNode) {
		_, err := c.SplitLocations(t.Context(), []jobsplit.Split{{Path: "/a", Length: 1}, {Path: "/gone", Length: 1}})
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "/gone") {
			t.Errorf("error %v, want fs.ErrNotExist that names /gone", err)
		}
		_, err = c.SplitLocations(t.Context(), []jobsplit.Split{{Path: "/a", Offset: 1 << 62, Length: 1 << 62}})
		if err == nil {
			t.Error("a split past all numbers is taken")
		}
	})
}

// overlapping agrees with looking at every block.
func TestOverlapping(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var blocks []Block
		at := rapid.Int64Range(0, 50).Draw(t, "first")
		for _, n := range rapid.SliceOf(rapid.Int64Range(1, 20)).Draw(t, "lengths") {
			blocks = append(blocks, Block{Offset: at, Length: n})
			at += n
		}
		offset, length := rapid.Int64Range(0, 300).Draw(t, "offset"), rapid.Int64Range(0, 300).Draw(t, "length")
		var want []Block
		for _, b := range blocks {
			if length > 0 && b.Offset < offset+length && b.Offset+b.Length > offset {
				want = append(want, b)
			}
		}
		got := overlapping(blocks, offset, length)
		if len(got) != len(want) || len(got) > 0 && !cmp.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}
