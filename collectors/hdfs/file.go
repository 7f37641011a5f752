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

// File is what the NameNode knows of a file or folder.
type File struct {
	// Path is absolute.
	Path string
	// Dir is set for a folder, which has no blocks.
	Dir bool
	// ID is the inode's number, which stays through renames.
	ID uint64
	// Length and BlockSize are in bytes; Length leaves out what is being written.
	Length, BlockSize int64
	// Replication is the number of replicas asked for.
	Replication int
	// Modified and Accessed are exact to the millisecond.
	Modified, Accessed time.Time
	// Owner, Group and Mode (permission bits) say who may use it.
	Owner, Group string
	Mode         fs.FileMode
	// UnderConstruction is set while the file is being written; the block being
	// written is not in Blocks.
	UnderConstruction bool
	// Blocks are in order of offset. [Client.Stat] leaves them out.
	Blocks []Block
}

// Block is one block of a file and where its replicas are.
type Block struct {
	// Pool, ID and GenerationStamp name the block.
	Pool            string
	ID              uint64
	GenerationStamp uint64
	// Offset is where the block starts in its file; both are in bytes.
	Offset, Length int64
	// Corrupt says that no replica is good; Replicas are then the bad ones.
	Corrupt bool
	// Replicas are in order of host.
	Replicas []Replica
}

// Replica is one copy of a block on one DataNode.
type Replica struct {
	// Host is the DataNode's name as Hadoop prints it, IP its address, Rack its
	// place in the topology ("/rack1").
	Host, IP, Rack string
	// Storage is DISK, SSD, ARCHIVE, RAM_DISK, PROVIDED or NVDIMM; empty if the
	// NameNode named none that we know.
	Storage string
	// Cached says that the DataNode holds the block in its cache too.
	Cached bool
}

// Stat returns a file or folder without its blocks. errors.Is(err,
// fs.ErrNotExist) if there is none.
func (c *Client) Stat(ctx context.Context, path string) (File, error) {
	resp := &hdfspb.GetFileInfoResponse{}
	err := c.call(ctx, "getFileInfo", &hdfspb.GetFileInfoRequest{Src: proto.String(path)}, resp)
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

// SetReplication sets how many replicas a file shall have. It returns before
// they are made or removed.
func (c *Client) SetReplication(ctx context.Context, path string, replicas int) error {
	if replicas < 1 || replicas > math.MaxInt16 {
		return fmt.Errorf("set replication of hdfs %s: %d is not a number of replicas", path, replicas)
	}
	resp := &hdfspb.SetReplicationResponse{}
	err := c.call(ctx, "setReplication", &hdfspb.SetReplicationRequest{
		Src: proto.String(path), Replication: proto.Uint32(uint32(replicas)),
	}, resp)
	if err == nil && !resp.Result {
		err = fmt.Errorf("no such file (folders have no replicas): %w", fs.ErrNotExist)
	}
	if err != nil {
		return fmt.Errorf("set replication of hdfs %s: %w", path, err)
	}
	return nil
}

// SetTimes sets modification and access time, exact to the millisecond; a zero
// time stays as it is.
func (c *Client) SetTimes(ctx context.Context, path string, modified, accessed time.Time) error {
	err := c.call(ctx, "setTimes", &hdfspb.SetTimesRequest{
		Src: proto.String(path), Mtime: millis(modified), Atime: millis(accessed),
	}, &hdfspb.Empty{})
	if err != nil {
		return fmt.Errorf("set times of hdfs %s: %w", path, err)
	}
	return nil
}

// Rename renames a file or folder. It fails with fs.ErrExist if to is there, and
// with fs.ErrNotExist if from is not.
func (c *Client) Rename(ctx context.Context, from, to string) error {
	err := c.call(ctx, "rename2", &hdfspb.Rename2Request{
		Src: proto.String(from), Dst: proto.String(to), OverwriteDest: proto.Bool(false),
	}, &hdfspb.Empty{})
	if err != nil {
		return fmt.Errorf("rename hdfs %s to %s: %w", from, to, err)
	}
	return nil
}

// Names returns the names in a folder, in order.
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

// millis is t for setTimes, where all ones means "leave".
func millis(t time.Time) *uint64 {
	if t.IsZero() {
		return proto.Uint64(math.MaxUint64)
	}
	return proto.Uint64(uint64(t.UnixMilli()))
}

func fileOf(path string, s *hdfspb.FileStatus) File {
	return File{
		Path:              path,
		Dir:               s.FileType == hdfspb.FileStatus_DIR,
		ID:                s.FileId,
		Length:            int64(s.Length),
		BlockSize:         int64(s.BlockSize),
		Replication:       int(s.BlockReplication),
		Modified:          time.UnixMilli(int64(s.ModificationTime)),
		Accessed:          time.UnixMilli(int64(s.AccessTime)),
		Owner:             shared(s.Owner),
		Group:             shared(s.Group),
		Mode:              fs.FileMode(s.GetPermission().GetPerm() & 0o777),
		UnderConstruction: s.GetLocations().GetUnderConstruction(),
		Blocks:            blocksOf(s.GetLocations()),
	}
}

func blocksOf(located *hdfspb.LocatedBlocks) []Block {
	if len(located.GetBlocks()) == 0 {
		return nil
	}
	blocks := make([]Block, len(located.Blocks))
	for i, l := range located.Blocks {
		blocks[i] = Block{
			Pool:            shared(l.GetB().GetPoolId()),
			ID:              l.GetB().GetBlockId(),
			GenerationStamp: l.GetB().GetGenerationStamp(),
			Offset:          int64(l.Offset),
			Length:          int64(l.GetB().GetNumBytes()),
			Corrupt:         l.Corrupt,
			Replicas:        replicasOf(l),
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
			// Both lists run along with the locations, and may be cut short.
			Cached: i < len(l.IsCached) && l.IsCached[i],
		}
		if i < len(l.StorageTypes) {
			replicas[i].Storage = storageName(l.StorageTypes[i])
		}
	}
	// The NameNode puts them by distance to us, equal ones in random order.
	slices.SortFunc(replicas, func(a, b Replica) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.IP, b.IP))
	})
	return replicas
}

func storageName(t hdfspb.StorageType) string {
	if name, ok := hdfspb.StorageType_name[int32(t)]; ok && t != hdfspb.StorageType_STORAGE_UNKNOWN {
		return name
	}
	return ""
}

// shared returns s as one string for all that are equal: a cluster has few
// hosts and many replicas.
func shared(s string) string { return unique.Make(s).Value() }
