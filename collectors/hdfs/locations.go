package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"path"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"heddle/collectors/hdfs/internal/hdfspb"
	"heddle/collectors/hdfs/jobsplit"
)

// callsAtOnce is how many calls to the NameNode SplitLocations makes at the same
// time. A NameNode handles ten calls at the same time by default.
const callsAtOnce = 8

// Locations yields a file, or the files in a folder and below, each with all its
// blocks. Folders are visited in the order of their names and listed page by
// page, so memory does not grow with the number of files. A folder that is
// removed meanwhile is skipped. The first error ends the sequence.
func (c *Client) Locations(ctx context.Context, name string) iter.Seq2[File, error] {
	return func(yield func(File, error) bool) {
		root := BarePath(name)
		if !strings.HasPrefix(root, "/") {
			yield(File{}, fmt.Errorf("block locations of hdfs %s: path is not absolute: %w", name, fs.ErrInvalid))
			return
		}
		err := c.walk(ctx, path.Clean(root), func(f File) bool { return yield(f, nil) })
		if err != nil && !errors.Is(err, errStop) {
			yield(File{}, fmt.Errorf("block locations of hdfs %s: %w", name, err))
		}
	}
}

var errStop = errors.New("stopped by the caller")

// walk calls the function visit with the file root, or with each file in and
// below the folder root.
func (c *Client) walk(ctx context.Context, root string, visit func(File) bool) error {
	for page, err := range c.pages(ctx, root, true) {
		if err != nil {
			return err
		}
		for _, s := range page {
			p := joinName(root, s.Path)
			switch s.FileType {
			case hdfspb.FileStatus_FILE:
				if !visit(fileOf(p, s)) {
					return errStop
				}
			case hdfspb.FileStatus_DIR:
				if err := c.walk(ctx, p, visit); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
			}
		}
	}
	return nil
}

// pages lists the entries of a folder, or one file, page by page. The
// NameNode ends a page after 1000 entries or about 1000 replicas
// (dfs.ls.limit).
func (c *Client) pages(ctx context.Context, dir string, locations bool) iter.Seq2[[]*hdfspb.FileStatus, error] {
	return func(yield func([]*hdfspb.FileStatus, error) bool) {
		for after, more := []byte{}, true; more; {
			list, err := c.list(ctx, dir, after, locations)
			if err != nil {
				yield(nil, err)
				return
			}
			entries := list.PartialListing
			if more = len(entries) > 0 && list.RemainingEntries > 0; more {
				after = entries[len(entries)-1].Path
			}
			more = yield(entries, nil) && more
		}
	}
}

func (c *Client) list(ctx context.Context, dir string, after []byte, locations bool) (*hdfspb.DirectoryListing, error) {
	resp := &hdfspb.GetListingResponse{}
	err := c.call(ctx, "getListing", &hdfspb.GetListingRequest{
		Src: new(dir), StartAfter: after, NeedLocation: new(locations),
	}, resp)
	if err != nil {
		return nil, err
	}
	if resp.DirList == nil {
		return nil, fs.ErrNotExist
	}
	return resp.DirList, checkNames(resp.DirList.PartialListing)
}

// joinName returns the path of an entry in the NameNode's listing of dir. If
// dir is a file, the listing has one entry without a name, whose path is dir.
func joinName(dir string, name []byte) string {
	if len(name) == 0 {
		return dir
	}
	return path.Join(dir, string(name))
}

// SplitLocations returns for each input split the blocks that it overlaps,
// sorted by offset. A split's map reads these blocks. SplitLocations asks the
// NameNode for each file's blocks only once. In paths such as
// "hdfs://host:port/path" it ignores the part before "/path".
func (c *Client) SplitLocations(ctx context.Context, splits []jobsplit.Split) ([][]Block, error) {
	files := make(map[string][]int) // indexes of the input splits that are parts of a file, by the file's path
	for i, s := range splits {
		if s.Offset < 0 || s.Length < 0 || s.Offset > math.MaxInt64-s.Length {
			return nil, fmt.Errorf("block locations of hdfs %s: offset %d, length %d: want 0 or more, "+
				"and their sum in 64 bits", s.Path, s.Offset, s.Length)
		}
		p := BarePath(s.Path)
		files[p] = append(files[p], i)
	}
	located := make([][]Block, len(splits))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(callsAtOnce)
	for p, of := range files {
		group.Go(func() error {
			from, to := int64(math.MaxInt64), int64(0)
			for _, i := range of {
				from, to = min(from, splits[i].Offset), max(to, splits[i].Offset+splits[i].Length)
			}
			blocks, err := c.blocks(ctx, p, from, to-from)
			if err != nil {
				return fmt.Errorf("block locations of hdfs %s: %w", p, err)
			}
			for _, i := range of {
				located[i] = overlapping(blocks, splits[i].Offset, splits[i].Length)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return located, nil
}

// blocks asks the NameNode for those blocks of a file that have bytes in a
// range. The range starts at offset and has length bytes.
func (c *Client) blocks(ctx context.Context, path string, offset, length int64) ([]Block, error) {
	resp := &hdfspb.GetBlockLocationsResponse{}
	err := c.call(ctx, "getBlockLocations", &hdfspb.GetBlockLocationsRequest{
		Src: new(path), Offset: new(uint64(offset)), Length: new(uint64(length)),
	}, resp)
	if err == nil && resp.Locations == nil {
		err = fs.ErrNotExist
	}
	if err == nil {
		err = checkBlocks(resp.Locations)
	}
	if err != nil {
		return nil, err
	}
	return blocksOf(resp.Locations), nil
}

// overlapping returns those of the given blocks that have bytes in a range of
// the file. The range starts at offset and has length bytes. The blocks must
// be sorted by offset.
func overlapping(blocks []Block, offset, length int64) []Block {
	if length == 0 {
		return nil
	}
	first, _ := slices.BinarySearchFunc(blocks, offset, func(b Block, offset int64) int {
		if b.Offset+b.Length <= offset {
			return -1
		}
		return 1
	})
	last := first
	for last < len(blocks) && blocks[last].Offset < offset+length {
		last++
	}
	return slices.Clip(blocks[first:last])
}

// BarePath returns an HDFS path without scheme and host: "/a" for "hdfs://host:port/a".
// It does not parse the path as a URL, since Hadoop writes paths without percent encoding.
func BarePath(p string) string {
	_, rest, ok := strings.Cut(p, "://")
	if !ok {
		return strings.TrimPrefix(p, "hdfs:")
	}
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return rest[i:]
	}
	return "/"
}
