package watch

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"heddle/yarnclient"
)

// listed remembers what was listed of the applications with some tags. A ResourceManager makes a report of each
// application that it lists, with figures by node label, which takes it milliseconds where there are many labels. So
// applications that are known to have ended are not asked for again, once there are many of them.
type listed struct {
	mu        sync.Mutex
	ended     map[string]yarnclient.App // by id
	alive     []string
	lastEndMs int64 // latest end that was listed
}

const (
	fewEnded = 20
	// lateMs is how much later than others the ResourceManager may tell of an end.
	lateMs = int64(time.Minute / time.Millisecond)
)

// unended are the states of applications that have not ended.
var unended = []string{"NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING"}

// The method list returns the applications that f selects: those that have not ended, and all that have.
func (l *listed) list(ctx context.Context, rm *yarnclient.RM, f yarnclient.AppFilter) ([]yarnclient.App, error) {
	l.mu.Lock()
	whole, from, alive := len(l.ended) < fewEnded, max(1, l.lastEndMs-lateMs), l.alive
	l.mu.Unlock()
	var apps []yarnclient.App
	var err error
	if !whole {
		running, ended := f, f
		running.States, ended.EndedFromMs = unended, from
		if apps, err = rm.Apps(ctx, running); err != nil {
			return nil, err
		}
		more, err := rm.Apps(ctx, ended)
		if err != nil {
			return nil, err
		}
		apps = append(apps, more...)
		whole = slices.ContainsFunc(alive, func(id string) bool { // one that ended earlier, as where the clock was set back
			return !slices.ContainsFunc(apps, func(a yarnclient.App) bool { return a.ID == id })
		})
	}
	if whole {
		if apps, err = rm.Apps(ctx, f); err != nil {
			return nil, err
		}
	}
	return l.take(apps), nil
}

// take notes what was listed, and returns it together with what ended before.
func (l *listed) take(apps []yarnclient.App) (all []yarnclient.App) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range apps {
		if a.Ended() {
			l.ended[a.ID] = a
			l.lastEndMs = max(l.lastEndMs, a.FinishedMs)
		}
	}
	l.alive = nil
	for _, a := range apps {
		if _, ended := l.ended[a.ID]; !ended {
			all = append(all, a)
			l.alive = append(l.alive, a.ID)
		}
	}
	for _, a := range l.ended {
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b yarnclient.App) int {
		return cmp.Or(cmp.Compare(a.StartedMs, b.StartedMs), cmp.Compare(a.ID, b.ID))
	})
	return all
}
