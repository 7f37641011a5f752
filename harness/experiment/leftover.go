package experiment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	"heddle/harness/clients"
	"heddle/yarnclient"
)

// ownName returns a new name for something that heddle makes on a cluster, such
// as a cache pool: PREFIX-HOST-PID-START-NUMBER. PID and START identify the
// process that makes it, so that a later run can tell whether that process
// still lives. The name is short and in lower case, since it also serves as a
// YARN tag.
func ownName(prefix string) string {
	pid := os.Getpid()
	return fmt.Sprintf("%s%d-%s-%08x", ownPrefix(prefix), pid, processStart(pid), rand.Uint32())
}

func ownPrefix(prefix string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	host = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return '.'
	}, strings.ToLower(host))
	return prefix + "-" + host[:min(len(host), 40)] + "-"
}

// makerDied reports whether the thing with this name was made by a process of
// this host that has ended. Then the thing was left behind and can be removed.
func makerDied(prefix, name string) bool {
	rest, ours := strings.CutPrefix(name, ownPrefix(prefix))
	parts := strings.Split(rest, "-")
	if !ours || len(parts) < 3 {
		return false
	}
	pid, err := strconv.Atoi(parts[0])
	return err == nil && pid > 0 && processStart(pid) != parts[1]
}

// processStart returns the time at which the process with the id pid started,
// in the kernel's clock ticks, or "gone" if it has ended. The id alone does not
// identify a process, since the kernel reuses ids; id and start time do.
func processStart(pid int) string {
	const state, start = 0, 19 // indexes of the fields state (3) and starttime (22) of proc(5), in the text after the process's name
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "gone"
	}
	// In the file /proc/PID/stat the process's name stands in brackets. The
	// name may contain any character, also a closing bracket.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) <= start || fields[state] == "Z" || fields[state] == "X" {
		return "gone"
	}
	return fields[start]
}

// unfinished contains the YARN states of applications that have not ended yet.
var unfinished = []string{"NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING"}

// endLeftovers ends the YARN applications that killed runs on this host left,
// because they would disturb every measurement. It tells the user about other
// running applications, which also disturb measurements.
func endLeftovers(ctx context.Context, cluster *clients.Clients, tell func(string)) error {
	apps, err := cluster.RM.Apps(ctx, yarnclient.AppFilter{States: unfinished})
	if err != nil {
		return fmt.Errorf("look for other running applications: %w", err)
	}
	var left []yarnclient.App
	for _, app := range apps {
		leftover := false
		for _, tag := range strings.Split(app.Tags, ",") {
			leftover = leftover || makerDied(tagPrefix, tag)
		}
		if !leftover {
			tell(fmt.Sprintf("%s (%s, of user %s) also runs on the cluster and will disturb the measurement", app.ID, app.Name, app.User))
			continue
		}
		tell(fmt.Sprintf("ending %s (%s), which a killed run left", app.ID, app.Name))
		left = append(left, app)
	}
	return endApps(ctx, cluster.RM, left)
}

// endApps kills the given YARN applications and returns when all have ended.
func endApps(ctx context.Context, rm *yarnclient.RM, apps []yarnclient.App) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	var errs []error
	for _, app := range apps {
		if err := rm.KillApp(ctx, app.ID); err != nil {
			errs = append(errs, fmt.Errorf("end %s: %w", app.ID, err))
		}
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for _, app := range apps {
		for {
			now, err := rm.App(ctx, app.ID)
			if err != nil {
				errs = append(errs, err)
			}
			if err != nil || now.Ended() {
				break
			}
			select {
			case <-ctx.Done():
				return errors.Join(append(errs, fmt.Errorf("%s is still in state %s; by hand: yarn application -kill %s", app.ID, now.State, app.ID))...)
			case <-tick.C:
			}
		}
	}
	return errors.Join(errs...)
}
