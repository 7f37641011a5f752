package hdfs

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"time"
	"unique"

	"google.golang.org/protobuf/proto"

	"heddle/collectors/hdfs/internal/hdfspb"
)

// File is a file or folder in HDFS, as the NameNode describes it.
type File struct {
	// Path is the absolute path of the file or folder.
	Path string
	// Dir is true for a folder, which has no blocks.
	Dir bool
	// ID is the number of the file's inode. Renaming the file does not change
	// it.
	ID uint64
	// Length and BlockSize are in bytes. Length does not count a block that is
	// being written.
	Length, BlockSize int64
	// Replication is the number of replicas that each block of the file should
	// have.
	Replication int
	// Modified is the time of the file's last change, exact to 1 ms.
	Modified time.Time
	// Owner and Mode (the permission bits) say who may use the file.
	Owner string
	Mode  fs.FileMode
	// Blocks are the file's blocks, sorted by offset, without one that is being
	// written. [Client.Stat] leaves them out.
	Blocks []Block
}

// Block is one block of an HDFS file, with the DataNodes that have its
// replicas.
type Block struct {
	// ID is the block's number.
	ID uint64
	// Offset is where the block starts in its file and Length is its size, both
	// in bytes.
	Offset, Length int64
	// Replicas are the block's replicas, sorted by host; the corrupt ones if there
	// is no good one.
	Replicas []Replica
}

// Replica is one DataNode's copy of a block.
type Replica struct {
	// Host is the DataNode's name as Hadoop prints it, IP its address, and Rack
	// its network location, such as "/rack1".
	Host, IP, Rack string
	// Cached is true if the DataNode has the block in its HDFS cache as well as
	// on disk.
	Cached bool
}

// Stat returns a file or folder without its blocks. It returns fs.ErrNotExist
// if there is no file or folder at the path.
func (c *Client) Stat(ctx context.Context, path string) (File, error) {
	resp := &hdfspb.GetFileInfoResponse{}
	err := c.call(ctx, "getFileInfo", &hdfspb.GetFileInfoRequest{Src: new(path)}, resp)
	switch {
	case err == nil && resp.Fs == nil && path == "/":
		err = fmt.Errorf("%w: NameNode %s has no root folder", ErrUnreachable, strings.Join(c.options.NameNodes, ", "))
	case err == nil && resp.Fs == nil:
		err = fs.ErrNotExist
	}
	if err != nil {
		return File{}, fmt.Errorf("stat hdfs %s: %w", path, err)
	}
	return fileOf(path, resp.Fs), nil
}

// SetReplication sets the number of replicas that a file should have. It
// returns before HDFS has made or removed replicas.
func (c *Client) SetReplication(ctx context.Context, path string, replicas int) error {
	if replicas < 1 || replicas > math.MaxInt16 {
		return fmt.Errorf("set replication of hdfs %s: %d replicas: want 1 to 32767", path, replicas)
	}
	resp := &hdfspb.SetReplicationResponse{}
	err := c.call(ctx, "setReplication", &hdfspb.SetReplicationRequest{
		Src: new(path), Replication: new(uint32(replicas)),
	}, resp)
	if err == nil && !resp.Result {
		err = fmt.Errorf("no such file (folders have no replicas): %w", fs.ErrNotExist)
	}
	if err != nil {
		return fmt.Errorf("set replication of hdfs %s: %w", path, err)
	}
	return nil
}

// SetModified sets the modification time of a file, exact to 1 ms. The largest number
// leaves its other time unchanged.
func (c *Client) SetModified(ctx context.Context, path string, modified time.Time) error {
	return c.do(ctx, "setTimes", &hdfspb.SetTimesRequest{
		Src: new(path), Mtime: new(uint64(modified.UnixMilli())), Atime: proto.Uint64(math.MaxUint64),
	}, "set times of hdfs "+path)
}

// Rename renames a file or folder. It returns fs.ErrExist if the new path
// exists, and fs.ErrNotExist if the old path does not exist.
func (c *Client) Rename(ctx context.Context, from, to string) error {
	return c.do(ctx, "rename2", &hdfspb.Rename2Request{
		Src: new(from), Dst: new(to), OverwriteDest: new(false),
	}, "rename hdfs "+from+" to "+to)
}

// Names returns the sorted names of the files and folders in a folder.
func (c *Client) Names(ctx context.Context, folder string) ([]string, error) {
	var names []string
	for entries, err := range c.pages(ctx, folder, false) {
		if err != nil {
			return nil, fmt.Errorf("list hdfs %s: %w", folder, err)
		}
		for _, e := range entries {
			names = append(names, string(e.Path))
		}
	}
	return names, nil
}

// List returns the files and folders in a folder, without their blocks, sorted by
// name.
func (c *Client) List(ctx context.Context, folder string) ([]File, error) {
	var list []File
	for entries, err := range c.pages(ctx, folder, false) {
		if err != nil {
			return nil, fmt.Errorf("list hdfs %s: %w", folder, err)
		}
		for _, e := range entries {
			list = append(list, fileOf(joinName(folder, e.Path), e))
		}
	}
	return list, nil
}

func fileOf(path string, s *hdfspb.FileStatus) File {
	return File{
		Path:        path,
		Dir:         s.FileType == hdfspb.FileStatus_DIR,
		ID:          s.FileId,
		Length:      int64(s.Length),
		BlockSize:   int64(s.BlockSize),
		Replication: int(s.BlockReplication),
		Modified:    time.UnixMilli(int64(s.ModificationTime)),
		Owner:       shared(s.Owner),
		Mode:        fs.FileMode(s.GetPermission().GetPerm() & 0o777),
		Blocks:      blocksOf(s.GetLocations()),
	}
}

func blocksOf(located *hdfspb.LocatedBlocks) []Block {
	if len(located.GetBlocks()) == 0 {
		return nil
	}
	blocks := make([]Block, len(located.Blocks))
	for i, l := range located.Blocks {
		blocks[i] = Block{
			ID:       l.GetB().GetBlockId(),
			Offset:   int64(l.Offset),
			Length:   int64(l.GetB().GetNumBytes()),
			Replicas: replicasOf(l),
		}
	}
	return blocks
}

func replicasOf(l *hdfspb.LocatedBlock) []Replica {
	replicas := make([]Replica, len(l.Locs))
	for i, n := range l.Locs {
		replicas[i] = Replica{
			Host: shared(n.GetId().GetHostName()),
			IP:   shared(n.GetId().GetIpAddr()),
			Rack: shared(n.GetLocation()),
			// A NameNode's answer may have fewer values in its list IsCached than
			// it has replicas, so the length is checked.
			Cached: i < len(l.IsCached) && l.IsCached[i],
		}
	}
	// The NameNode sorts replicas by their distance to this client, and those at
	// the same distance at random. Here they are sorted by host, so that the
	// order is always the same.
	slices.SortFunc(replicas, func(a, b Replica) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.IP, b.IP))
	})
	return replicas
}

// shared returns the same copy of a string for all equal strings. This saves
// memory, since many replicas have the same few host names.
func shared(s string) string { return unique.Make(s).Value() }
