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

// NoLimit is the CachePool.Limit of a pool without a limit.
const NoLimit = math.MaxInt64

// neverMs is the relative expiry time that means never in Hadoop, and its
// maximum.
const neverMs = math.MaxInt64 / 4

// CachePool groups cache directives under one owner and one limit.
type CachePool struct {
	Name string
	// Owner, Group and Mode say who may use the pool. When a pool is added, the
	// NameNode sets empty ones (user, group, 0755). When it is modified, empty
	// ones stay as they are.
	Owner, Group string
	Mode         fs.FileMode
	// Limit is the most bytes to cache, each replica counted; [NoLimit] means
	// none. Zero means the NameNode's default when the pool is added, and no
	// change when it is modified. A limit of zero bytes cannot be set.
	Limit int64
	// Stats come from the NameNode. They are ignored when a pool is added or
	// modified.
	Stats CacheStats
}

// CacheStats say how much of what was requested is cached. Those of a directive
// are a few seconds old, those of a pool less.
type CacheStats struct {
	BytesNeeded, BytesCached int64
	// BytesOverLimit is set for pools only.
	BytesOverLimit           int64
	FilesNeeded, FilesCached int64
}

// CacheDirective requests that a file be cached, or all files directly in a
// folder.
type CacheDirective struct {
	// ID is given by the NameNode. It is zero when a directive is added.
	ID   int64
	Path string
	Pool string
	// Replicas is how many DataNodes must cache each block; the NameNode
	// chooses which. Zero means one when a directive is added, and no change
	// when it is modified.
	Replicas int
	// Expires is when the directive ends, in milliseconds. Zero means never
	// when a directive is added, and no change when it is modified.
	Expires time.Time
	// Expired and Stats come from the NameNode. They are ignored when a
	// directive is added.
	Expired bool
	Stats   CacheStats
}

// CachePools lists the cache pools sorted by name. A pool that the user may not
// read has only its name.
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

// AddCachePool makes a pool. Only superusers may do so.
func (c *Client) AddCachePool(ctx context.Context, p CachePool) error {
	return c.putPool(ctx, "add", p)
}

// ModifyCachePool changes the pool of p's name; fields of p that are zero stay
// as they are. Only superusers may do so.
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

// RemoveCachePool removes a pool and its directives. Only superusers may do so.
func (c *Client) RemoveCachePool(ctx context.Context, name string) error {
	err := c.call(ctx, "removeCachePool", &hdfspb.RemoveCachePoolRequest{PoolName: proto.String(name)}, &hdfspb.Empty{})
	if err != nil {
		return fmt.Errorf("remove cache pool %s: %w", name, err)
	}
	return nil
}

// CacheDirectives lists the directives of a pool, or of all pools if pool is
// empty, sorted by id. It leaves out those that the user may not read.
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

// AddCacheDirective adds d and returns its id. It returns fs.ErrInvalid if the
// pool does not exist or has too little of its limit left.
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

// ModifyCacheDirective changes the directive of d's id; fields of d that are
// zero stay as they are.
func (c *Client) ModifyCacheDirective(ctx context.Context, d CacheDirective) error {
	info := directiveInfo(d)
	info.Id = proto.Int64(d.ID)
	err := c.call(ctx, "modifyCacheDirective", &hdfspb.PutCacheDirectiveRequest{Info: info}, &hdfspb.Empty{})
	if err != nil {
		return fmt.Errorf("modify cache directive %d: %w", d.ID, err)
	}
	return nil
}

// RemoveCacheDirective removes a directive. It returns fs.ErrInvalid if there
// is none of that id.
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
	// The NameNode reports a directive that never expires with an expiry time
	// neverMs after it was added.
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
