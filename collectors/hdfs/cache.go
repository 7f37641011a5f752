package hdfs

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"time"

	"google.golang.org/protobuf/proto"

	"heddle/collectors/hdfs/internal/hdfspb"
)

// NoLimit is the value of CachePool.Limit for a pool that may cache any number
// of bytes.
const NoLimit = math.MaxInt64

// neverMs is the relative expiry time of a cache directive that never expires,
// in Hadoop's protocol. It is also the largest expiry time that Hadoop
// accepts.
const neverMs = math.MaxInt64 / 4

// CachePool groups HDFS cache directives under one owner and one limit.
type CachePool struct {
	Name string
	// Owner, Group and Mode say who may use the pool. If they are empty, a new
	// pool gets the NameNode's defaults (user, group, 0755), and a modified
	// pool keeps its own.
	Owner, Group string
	Mode         fs.FileMode
	// Limit is the maximum number of bytes that the pool may cache, each
	// replica counted; [NoLimit] means no limit. Zero means the NameNode's
	// default for a new pool, and no change for a modified one. A limit of zero
	// bytes cannot be set.
	Limit int64
	// Stats are filled in from the NameNode's answer. They are ignored when a
	// pool is added or modified.
	Stats CacheStats
}

// CacheStats say how many of the bytes and files that cache directives request
// are cached. For one directive the numbers are a few seconds old, for a pool
// they are newer.
type CacheStats struct {
	BytesNeeded, BytesCached int64
	// BytesOverLimit is by how many bytes the directives of a pool exceed the
	// pool's limit. It is set for pools only.
	BytesOverLimit           int64
	FilesNeeded, FilesCached int64
}

// CacheDirective requests that HDFS cache a file, or all files directly in a
// folder.
type CacheDirective struct {
	// ID is the number that the NameNode gives a new directive. It is zero in a
	// request to add one.
	ID   int64
	Path string
	Pool string
	// Replicas is the number of DataNodes that must cache each block; the
	// NameNode chooses which. Zero means one DataNode for a new directive, and
	// no change for a modified one.
	Replicas int
	// Expires is the time at which the cache directive ends, exact to 1 ms. Zero
	// means never for a new directive, and no change for a modified one.
	Expires time.Time
	// Expired and Stats are filled in from the NameNode's answer. They are
	// ignored when a directive is added.
	Expired bool
	Stats   CacheStats
}

// CachePools lists the HDFS cache pools, sorted by name. A pool that the user
// may not read has only its name.
func (c *Client) CachePools(ctx context.Context) ([]CachePool, error) {
	var pools []CachePool
	for prev := ""; ; {
		resp := &hdfspb.ListCachePoolsResponse{}
		err := c.call(ctx, "listCachePools", &hdfspb.ListCachePoolsRequest{PrevPoolName: proto.String(prev)}, resp)
		if err != nil {
			return nil, fmt.Errorf("list cache pools: %w", err)
		}
		for _, e := range resp.Entries {
			pools = append(pools, poolOf(e))
		}
		if !resp.HasMore || len(resp.Entries) == 0 {
			return pools, nil
		}
		prev = pools[len(pools)-1].Name
	}
}

// AddCachePool makes an HDFS cache pool. Only superusers may do so.
func (c *Client) AddCachePool(ctx context.Context, p CachePool) error {
	return c.putPool(ctx, "add", p)
}

// ModifyCachePool changes the cache pool that has the name p.Name. Settings
// whose field in p is zero stay unchanged. Only superusers may do so.
func (c *Client) ModifyCachePool(ctx context.Context, p CachePool) error {
	return c.putPool(ctx, "modify", p)
}

func (c *Client) putPool(ctx context.Context, verb string, p CachePool) error {
	info := &hdfspb.CachePoolInfo{PoolName: proto.String(p.Name)}
	if p.Owner != "" {
		info.OwnerName = proto.String(p.Owner)
	}
	if p.Group != "" {
		info.GroupName = proto.String(p.Group)
	}
	if p.Mode != 0 {
		info.Mode = proto.Int32(int32(p.Mode.Perm()))
	}
	if p.Limit != 0 {
		info.Limit = proto.Int64(p.Limit)
	}
	err := c.call(ctx, verb+"CachePool", &hdfspb.PutCachePoolRequest{Info: info}, &hdfspb.Empty{})
	if err != nil {
		return fmt.Errorf("%s cache pool %s: %w", verb, p.Name, err)
	}
	return nil
}

// RemoveCachePool removes an HDFS cache pool and its directives. Only
// superusers may do so.
func (c *Client) RemoveCachePool(ctx context.Context, name string) error {
	err := c.call(ctx, "removeCachePool", &hdfspb.RemoveCachePoolRequest{PoolName: proto.String(name)}, &hdfspb.Empty{})
	if err != nil {
		return fmt.Errorf("remove cache pool %s: %w", name, err)
	}
	return nil
}

// CacheDirectives lists the directives of a cache pool, or of all pools if pool
// is empty, sorted by id. It leaves out directives that the user may not read.
func (c *Client) CacheDirectives(ctx context.Context, pool string) ([]CacheDirective, error) {
	filter := &hdfspb.CacheDirectiveInfo{}
	if pool != "" {
		filter.Pool = proto.String(pool)
	}
	var directives []CacheDirective
	for prev := int64(0); ; {
		resp := &hdfspb.ListCacheDirectivesResponse{}
		err := c.call(ctx, "listCacheDirectives", &hdfspb.ListCacheDirectivesRequest{
			PrevId: proto.Int64(prev), Filter: filter,
		}, resp)
		if err != nil {
			return nil, fmt.Errorf("list cache directives: %w", err)
		}
		for _, e := range resp.Elements {
			directives = append(directives, directiveOf(e))
		}
		if !resp.HasMore || len(resp.Elements) == 0 {
			return directives, nil
		}
		prev = directives[len(directives)-1].ID
	}
}

// AddCacheDirective adds the cache directive d and returns the id that the
// NameNode has given it. It returns fs.ErrInvalid if the pool does not exist,
// or if the directive's files exceed what is left of the pool's limit.
func (c *Client) AddCacheDirective(ctx context.Context, d CacheDirective) (id int64, err error) {
	info := directiveInfo(d)
	if info.Replication == nil {
		info.Replication = proto.Uint32(1)
	}
	resp := &hdfspb.AddCacheDirectiveResponse{}
	if err := c.call(ctx, "addCacheDirective", &hdfspb.PutCacheDirectiveRequest{Info: info}, resp); err != nil {
		return 0, fmt.Errorf("add cache directive for %s to pool %s: %w", d.Path, d.Pool, err)
	}
	return resp.Id, nil
}

// ModifyCacheDirective changes the cache directive that has the id d.ID.
// Settings whose field in d is zero stay unchanged.
func (c *Client) ModifyCacheDirective(ctx context.Context, d CacheDirective) error {
	info := directiveInfo(d)
	info.Id = proto.Int64(d.ID)
	err := c.call(ctx, "modifyCacheDirective", &hdfspb.PutCacheDirectiveRequest{Info: info}, &hdfspb.Empty{})
	if err != nil {
		return fmt.Errorf("modify cache directive %d: %w", d.ID, err)
	}
	return nil
}

// RemoveCacheDirective removes a cache directive. It returns fs.ErrInvalid if
// no directive has that id.
func (c *Client) RemoveCacheDirective(ctx context.Context, id int64) error {
	err := c.call(ctx, "removeCacheDirective", &hdfspb.RemoveCacheDirectiveRequest{Id: proto.Int64(id)}, &hdfspb.Empty{})
	if err != nil {
		return fmt.Errorf("remove cache directive %d: %w", id, err)
	}
	return nil
}

func directiveInfo(d CacheDirective) *hdfspb.CacheDirectiveInfo {
	info := &hdfspb.CacheDirectiveInfo{}
	if d.Path != "" {
		info.Path = proto.String(d.Path)
	}
	if d.Pool != "" {
		info.Pool = proto.String(d.Pool)
	}
	if d.Replicas != 0 {
		info.Replication = proto.Uint32(uint32(d.Replicas))
	}
	if !d.Expires.IsZero() {
		info.Expiration = &hdfspb.CacheDirectiveInfo_Expiration{
			Millis: proto.Int64(d.Expires.UnixMilli()), IsRelative: proto.Bool(false),
		}
	}
	return info
}

func directiveOf(e *hdfspb.CacheDirectiveEntry) CacheDirective {
	info, stats := e.GetInfo(), e.GetStats()
	d := CacheDirective{
		ID:       info.GetId(),
		Path:     info.GetPath(),
		Pool:     info.GetPool(),
		Replicas: int(info.GetReplication()),
		Expired:  stats.GetHasExpired(),
		Stats: CacheStats{
			BytesNeeded: stats.GetBytesNeeded(), BytesCached: stats.GetBytesCached(),
			FilesNeeded: stats.GetFilesNeeded(), FilesCached: stats.GetFilesCached(),
		},
	}
	// For a directive that never expires, the NameNode answers with an expiry
	// time about neverMs after the time when the directive was added.
	if x := info.GetExpiration(); x != nil && x.GetMillis() < neverMs {
		d.Expires = time.UnixMilli(x.GetMillis())
	}
	return d
}

func poolOf(e *hdfspb.CachePoolEntry) CachePool {
	info, stats := e.GetInfo(), e.GetStats()
	return CachePool{
		Name:  info.GetPoolName(),
		Owner: info.GetOwnerName(),
		Group: info.GetGroupName(),
		Mode:  fs.FileMode(info.GetMode()).Perm(),
		Limit: info.GetLimit(),
		Stats: CacheStats{
			BytesNeeded: stats.GetBytesNeeded(), BytesCached: stats.GetBytesCached(),
			BytesOverLimit: stats.GetBytesOverlimit(),
			FilesNeeded:    stats.GetFilesNeeded(), FilesCached: stats.GetFilesCached(),
		},
	}
}
