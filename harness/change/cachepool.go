package change

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"heddle/collectors/hdfs"
)

// cachePool is the kind of HDFS cache pools with their directives. A directive is
// removed with its pool, so whoever adds one to the pool has nothing to note.
type cachePool struct{}

const poolPrefix = "heddle-cache"

// AddCachePool adds an HDFS cache pool of a new name, without a limit.
func (h *Hold) AddCachePool(ctx context.Context) (name string, err error) {
	name = newName(poolPrefix)
	return name, h.do("add cache pool",
		func() error { return h.noteAll(ctx, Change{Kind: CachePool, Name: name}) },
		func() error {
			return h.cluster.HDFS.AddCachePool(ctx, hdfs.CachePool{Name: name, Limit: hdfs.NoLimit})
		})
}

func (cachePool) Left(ctx context.Context, u *undoing, _ []Change) (finder, error) {
	pools, err := u.HDFS.CachePools(ctx)
	return func(c Change) finding {
		switch {
		case !strings.HasPrefix(c.Name, poolPrefix+"-") || !madeBy.MatchString(c.Name):
			return finding{kept, "heddle gives no pool such a name"}
		case !slices.ContainsFunc(pools, func(p hdfs.CachePool) bool { return p.Name == c.Name }):
			return finding{}
		}
		return finding{left, "the NameNode has it; by hand: hdfs cacheadmin -removePool " + c.Name}
	}, err
}

func (cachePool) Undo(ctx context.Context, u *undoing, list []Change) []error {
	return each(list, func(c Change) error {
		err := u.HDFS.RemoveCachePool(ctx, c.Name)
		if err == nil || errors.Is(err, fs.ErrInvalid) { // HDFS answers so if the pool does not exist
			return nil
		}
		return fmt.Errorf("%w; by hand: hdfs cacheadmin -removePool %s", err, c.Name)
	})
}
