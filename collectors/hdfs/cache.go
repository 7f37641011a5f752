package hdfs

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"time"

	"heddle/collectors/hdfs/internal/hdfspb"
)

// NoLimit is the value of CachePool.Limit for a pool that may cache any number
// of bytes.
const NoLimit = math.MaxInt64

// CachePool groups HDFS cache directives under one owner and one limit.
type CachePool struct {
	Name string
	// Owner and Mode say who may use the pool. A new pool gets the user as its owner
	// and, if Mode is zero, the NameNode's default of 0755.
	Owner string
	Mode  fs.FileMode
	// Limit is the maximum number of bytes that the pool may cache, each
	// replica counted; [NoLimit] means no limit. Zero means the NameNode's
	// default for a new pool. A limit of zero bytes cannot be set.
	Limit int64
}

// CacheDirective requests that HDFS cache a file, or all files directly in a
// folder.
type CacheDirective struct {
	Path string
	Pool string
	// Replicas is the number of DataNodes that must cache each block; the
	// NameNode chooses which. Zero means one DataNode.
	Replicas int
	// Expires is the time at which the cache directive ends, exact to 1 ms. Zero
	// means never.
	Expires time.Time
}

// CachePools lists the HDFS cache pools, sorted by name. A pool that the user
// may not read has only its name.
func (c *Client) CachePools(ctx context.Context) ([]CachePool, error) {
	var pools []CachePool
	for prev := ""; ; {
		resp := &hdfspb.ListCachePoolsResponse{}
		err := c.call(ctx, "listCachePools", &hdfspb.ListCachePoolsRequest{PrevPoolName: new(prev)}, resp)
		if err != nil {
			return nil, fmt.Errorf("list cache pools: %w", err)
		}
		for _, e := range resp.Entries {
			info := e.GetInfo()
			pools = append(pools, CachePool{
				Name: info.GetPoolName(), Owner: info.GetOwnerName(),
				Mode: fs.FileMode(info.GetMode()).Perm(), Limit: info.GetLimit(),
			})
		}
		if !resp.HasMore || len(resp.Entries) == 0 {
			return pools, nil
		}
		prev = pools[len(pools)-1].Name
	}
}

// AddCachePool makes an HDFS cache pool. Only superusers may do so.
func (c *Client) AddCachePool(ctx context.Context, p CachePool) error {
	info := &hdfspb.CachePoolInfo{PoolName: new(p.Name)}
	if p.Mode != 0 {
		info.Mode = new(int32(p.Mode.Perm()))
	}
	if p.Limit != 0 {
		info.Limit = new(p.Limit)
	}
	return c.do(ctx, "addCachePool", &hdfspb.PutCachePoolRequest{Info: info}, "add cache pool "+p.Name)
}

// RemoveCachePool removes an HDFS cache pool and its directives. Only
// superusers may do so.
func (c *Client) RemoveCachePool(ctx context.Context, name string) error {
	return c.do(ctx, "removeCachePool", &hdfspb.RemoveCachePoolRequest{PoolName: new(name)}, "remove cache pool "+name)
}

// AddCacheDirective adds the cache directive d and returns the id that the
// NameNode has given it. It returns fs.ErrInvalid if the pool does not exist,
// or if the directive's files exceed what is left of the pool's limit.
func (c *Client) AddCacheDirective(ctx context.Context, d CacheDirective) (id int64, err error) {
	info := &hdfspb.CacheDirectiveInfo{
		Path: new(d.Path), Pool: new(d.Pool), Replication: new(uint32(max(d.Replicas, 1))),
	}
	if !d.Expires.IsZero() {
		info.Expiration = &hdfspb.CacheDirectiveInfo_Expiration{
			Millis: new(d.Expires.UnixMilli()), IsRelative: new(false),
		}
	}
	resp := &hdfspb.AddCacheDirectiveResponse{}
	if err := c.call(ctx, "addCacheDirective", &hdfspb.PutCacheDirectiveRequest{Info: info}, resp); err != nil {
		return 0, fmt.Errorf("add cache directive for %s to pool %s: %w", d.Path, d.Pool, err)
	}
	return resp.Id, nil
}
