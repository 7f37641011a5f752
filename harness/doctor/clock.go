package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"heddle/collectors/hdfs"
	"heddle/yarnclient"
)

// The method clock compares the daemons' clocks with this machine's clock by
// the Date header of their HTTP answers, which is in whole seconds. nodeClocks
// compares the clocks of nodes with agents more exactly.
func (e *examiner) clock(ctx context.Context) Check {
	c := check("clock", false, "putting events of different hosts in order")
	var parts []string
	apart := false
	for _, daemon := range []struct {
		who, address string
		gone         bool // it did not answer an earlier check
	}{
		{"ResourceManager", cmp.Or(e.RM.Address(), e.Config.ResourceManagers[0]), errors.Is(e.info.err, yarnclient.ErrUnreachable)},
		{"NameNode", e.nameNodeWeb(ctx), errors.Is(e.root.err, hdfs.ErrUnreachable)},
		{"history server", e.Config.HistoryServer, errors.Is(e.jhs.err, yarnclient.ErrUnreachable)},
	} {
		if daemon.gone || daemon.address == "" {
			continue
		}
		by, bound, err := e.dateOffset(ctx, daemon.address)
		if err != nil {
			continue // another check reports that the daemon does not answer
		}
		parts = append(parts, fmt.Sprintf("%s within %v of this machine", daemon.who, (by.Abs()+bound).Round(100*time.Millisecond)))
		apart = apart || by.Abs() > bound
	}
	switch {
	case len(parts) == 0:
		return c.unknown("no daemon reports its time")
	case apart:
		return c.warn("clocks differ: %s", strings.Join(parts, ", ")).next("run a time daemon (chrony, ntpd) on all hosts")
	}
	return c.ok("%s", strings.Join(parts, ", "))
}

// dateOffset derives how far a daemon's clock is ahead of this machine's, from
// the time in the daemon's answer, which is up to 2 s old. The true offset differs
// from the result by at most bound.
func (e *examiner) dateOffset(ctx context.Context, address string) (by, bound time.Duration, err error) {
	daemon, err := e.Daemon(address)
	if err != nil {
		return 0, 0, err
	}
	defer daemon.Close()
	asked := time.Now()
	date, err := daemon.Date(ctx)
	low, high := time.Until(date), date.Add(2*time.Second).Sub(asked)
	return (low + high) / 2, (high - low) / 2, err
}
