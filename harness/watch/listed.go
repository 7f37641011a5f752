package watch

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"heddle/yarnclient"
)

const (
	fewEnded = 20
	// lateMs is how much later than others the ResourceManager may tell of an end.
	lateMs = int64(time.Minute / time.Millisecond)
)

// list returns the applications that f selects: those that have not ended, and all that have. before is what it
// returned last. A ResourceManager makes a report of each application that it lists, with figures by node label, which
// takes it milliseconds where there are many labels. So applications that are known to have ended are not asked for
// again, once there are many of them.
func list(ctx context.Context, rm *yarnclient.RM, f yarnclient.AppFilter, before []yarnclient.App) ([]yarnclient.App, error) {
	known, lastEndMs := map[string]yarnclient.App{}, int64(0)
	for _, a := range before {
		if a.Ended() {
			known[a.ID], lastEndMs = a, max(lastEndMs, a.FinishedMs)
		}
	}
	var apps []yarnclient.App
	whole := len(known) < fewEnded
	if !whole {
		running, ended := f, f
		running.States, ended.EndedFromMs = yarnclient.Unfinished, max(1, lastEndMs-lateMs)
		for _, part := range []yarnclient.AppFilter{running, ended} {
			some, err := rm.Apps(ctx, part)
			if err != nil {
				return nil, err
			}
			apps = append(apps, some...)
		}
		whole = slices.ContainsFunc(before, func(a yarnclient.App) bool { // one that ended earlier, as where the clock was set back
			return !a.Ended() && !slices.ContainsFunc(apps, func(b yarnclient.App) bool { return a.ID == b.ID })
		})
	}
	if whole {
		var err error
		if apps, err = rm.Apps(ctx, f); err != nil {
			return nil, err
		}
	}
	for _, a := range apps {
		if _, ended := known[a.ID]; !ended || a.Ended() {
			known[a.ID] = a
		}
	}
	return slices.SortedFunc(maps.Values(known), func(a, b yarnclient.App) int {
		return cmp.Or(cmp.Compare(a.StartedMs, b.StartedMs), cmp.Compare(a.ID, b.ID))
	}), nil
}
