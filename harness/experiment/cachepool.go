package experiment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// cachePoolPrefix is how the names of heddle's HDFS cache pools start.
const cachePoolPrefix = "heddle-cache"

// removeStalePools removes the HDFS cache pools that killed runs
// left behind. The blocks cached by them would distort later measurements.
func removeStalePools(ctx context.Context, h cacheHDFS) error {
	pools, err := h.CachePools(ctx)
	if err != nil {
		return err
	}
	for _, p := range pools {
		if !makerDied(cachePoolPrefix, p.Name) {
			continue
		}
		if err := h.RemoveCachePool(ctx, p.Name); err != nil && !errors.Is(err, fs.ErrInvalid) {
			return fmt.Errorf("remove cache pool of a killed run: %w; by hand: hdfs cacheadmin -removePool %s", err, p.Name)
		}
	}
	return nil
}
