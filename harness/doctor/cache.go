package doctor

import (
	"context"
	"errors"
	"io/fs"

	"heddle/harness/internal/units"
	"heddle/traces/printable"
)

// The method cache checks what the cluster needs so that job inputs can be
// cached in HDFS.
func (e *examiner) cache(ctx context.Context) []Check {
	return []Check{e.cacheCapacity(), e.cachePools(ctx)}
}

func (e *examiner) cacheCapacity() Check {
	c, rows := about("cacheCapacity")
	if e.root.err != nil {
		return c.unknown("the NameNode cannot be asked")
	}
	none := func(c Check) Check {
		return c.set(rows[0], rows[0].Value).set(rows[1], rows[1].Value).
			next("one of the two on each DataNode, then restart it: the first needs libhadoop and a memlock limit of as much, the second a " +
				"tmpfs of its own")
	}
	if errors.Is(e.disks.err, fs.ErrPermission) {
		// users who are not superusers may read only the sum of the cache
		// capacities of all DataNodes
		total, ok := e.nnBeans["CacheCapacity"].(float64)
		switch {
		case !ok:
			return c.unknown("%v", e.disks.err)
		case total == 0:
			return none(c.bad("no DataNode has a cache"))
		}
		return c.warn("%v in all; only superusers may see on which DataNodes", units.Size(total)).
			next("set user in the cluster file to a member of dfs.permissions.superusergroup")
	} else if e.disks.err != nil {
		return c.unknown("%v", e.disks.err)
	}
	var total units.Size
	live, without := 0, 0
	for _, n := range e.disks.value {
		if !n.Live {
			continue
		}
		live++
		total += units.Size(n.CacheCapacity)
		if n.CacheCapacity == 0 {
			without++
		}
	}
	switch {
	case live == 0:
		return c.bad("no DataNode is live").next("start DataNodes; their logs say why they are not running")
	case total == 0:
		return none(c.bad("none of %s has a cache", printable.Count(live, "DataNode")))
	case without > 0:
		return none(c.warn("%v in all, but only on %d of %s", total, live-without, printable.Count(live, "DataNode")))
	}
	return c.ok("%v on %s", total, printable.Count(live, "DataNode"))
}

func (e *examiner) cachePools(ctx context.Context) Check {
	c := check("cachePools", true, "asking for files to be cached: a pool of one's own, or one that others may write to")
	if e.root.err != nil {
		return c.unknown("the NameNode cannot be asked")
	}
	pools, err := e.hdfs.CachePools(ctx)
	if err != nil {
		return c.failed(err)
	}
	switch {
	case e.disks.err != nil && !errors.Is(e.disks.err, fs.ErrPermission):
		return c.unknown("%v", e.disks.err)
	case e.disks.err == nil:
		return c.ok("user %s may make cache pools; there %s now", e.Config.User, isAre(len(pools), "pool"))
	}
	for _, p := range pools {
		// only the owner's and others' write permissions of the cache pool
		// count, as the user's groups are unknown here
		if p.Owner == e.Config.User && p.Mode&0o200 != 0 || p.Mode&0o002 != 0 {
			return c.ok("pool %s", p.Name)
		}
	}
	return c.bad("user %s is no HDFS superuser, and may write to none of %s", e.Config.User, printable.Count(len(pools), "pool")).
		next("as a superuser: hdfs cacheadmin -addPool heddle -owner " + e.Config.User)
}

func isAre(n int, what string) string {
	if n == 1 {
		return "is 1 " + what
	}
	return "are " + printable.Count(n, what)
}
