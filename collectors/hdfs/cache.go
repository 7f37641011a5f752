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

// NoLimit is the Limit of a cache pool without one.
const NoLimit = math.MaxInt64

// neverMs is Hadoop's relative expiry that never comes, and the most it takes.
const neverMs = math.MaxInt64 / 4

// CachePool groups cache directives under one owner and limit.
type CachePool struct {
	Name string
	// Owner, Group and Mode say who may use it. Empty and zero: the NameNode's
	// choice when adding (user, group, 0755), as before when modifying.
	Owner, Group string
	Mode         fs.FileMode
	// Limit is in bytes, replicas counted each. [NoLimit]: none. Zero when
	// adding or modifying: as for Mode; a pool for nothing cannot be asked for.
	Limit int64
	// Stats are the NameNode's; not looked at when adding or modifying.
	Stats CacheStats
}

// CacheStats says how much of what was asked for is cached. A directive's lag
// behind by a few seconds; its pool's less.
type CacheStats struct {
	BytesNeeded, BytesCached int64
	// BytesOverLimit is of pools only.
	BytesOverLimit           int64
	FilesNeeded, FilesCached int64
}

// CacheDirective asks for a file, or the files right in a folder, to be cached.
type CacheDirective struct {
	// ID is the NameNode's; zero when adding.
	ID   int64
	Path string
	Pool string
	// Replicas is how many DataNodes shall cache each block; which ones is the
	// NameNode's choice. Zero: one when adding, as before when modifying.
	Replicas int
	// Expires ends it, to the millisecond. Zero: never when adding, as before
	// when modifying.
	Expires time.Time
	// Expired and Stats are the NameNode's; not looked at when adding.
	Expired bool
	Stats   CacheStats
}

// CachePools lists the cache pools in order of name. Of those that the user
// may not read, only the name is known.
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

// AddCachePool makes a pool. Superusers only.
func (c *Client) AddCachePool(ctx context.Context, p CachePool) error {
	return c.putPool(ctx, "add", p)
}

// ModifyCachePool changes what p sets of the pool of its name. Superusers only.
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

// RemoveCachePool removes a pool and its directives. Superusers only.
func (c *Client) RemoveCachePool(ctx context.Context, name string) error {
	err := c.call(ctx, "removeCachePool", &hdfspb.RemoveCachePoolRequest{PoolName: proto.String(name)}, &hdfspb.Empty{})
	if err != nil {
		return fmt.Errorf("remove cache pool %s: %w", name, err)
	}
	return nil
}

// CacheDirectives lists the directives of pool, or of all pools if it is empty,
// in order of id, without those that the user may not read.
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

// AddCacheDirective adds d and returns its id. errors.Is(err, fs.ErrInvalid) if
// the pool does not exist or its limit would be passed.
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

// ModifyCacheDirective changes what d sets of the directive of its id.
func (c *Client) ModifyCacheDirective(ctx context.Context, d CacheDirective) error {
	info := directiveInfo(d)
	info.Id = proto.Int64(d.ID)
	err := c.call(ctx, "modifyCacheDirective", &hdfspb.PutCacheDirectiveRequest{Info: info}, &hdfspb.Empty{})
	if err != nil {
		return fmt.Errorf("modify cache directive %d: %w", d.ID, err)
	}
	return nil
}

// RemoveCacheDirective removes a directive; errors.Is(err, fs.ErrInvalid) if
// there is none of that id.
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
	// "Never" comes back as the time of adding plus a quarter of all time.
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
