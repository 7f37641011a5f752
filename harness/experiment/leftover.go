package experiment

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"heddle/collectors/hdfs"
	"heddle/harness/clients"
	"heddle/harness/internal/poll"
	"heddle/harness/submit"
	"heddle/yarnclient"
)

// ownName returns a new name for something that heddle makes on a cluster, such
// as a cache pool: PREFIX-HOST-PLACE-PID-START-NUMBER. PLACE, PID and START
// identify the process that makes it, so that a later run can tell whether that
// process still lives; see pidPlace. HOST is for people. The name is short and in
// lower case, since it also serves as a YARN tag.
func ownName(prefix string) string {
	pid := os.Getpid()
	return fmt.Sprintf("%s%d-%s-%08x", ownPrefix(prefix), pid, processStart(pid), rand.Uint32())
}

func ownPrefix(prefix string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return prefixIn(prefix, host, pidPlace())
}

func prefixIn(prefix, host, place string) string {
	host = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return '.'
	}, strings.ToLower(host))
	return prefix + "-" + host[:min(len(host), 30)] + "-" + place + "-"
}

// pidPlace identifies where the process ids that this process sees mean
// something: this boot of this kernel, and one PID namespace. A host name does
// not: containers and cloned machines may share one. After a restart of the
// machine the place is another one, so what was left before is not recognized; a
// machine's id would tell, but cloned machines share that too.
var pidPlace = sync.OnceValue(func() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	namespace, nerr := os.Readlink("/proc/self/ns/pid")
	self, serr := os.Readlink("/proc/self")
	if err != nil || nerr != nil || serr != nil || self != strconv.Itoa(os.Getpid()) { // there is no /proc, or it is that of another PID namespace
		return fmt.Sprintf("%016x", rand.Uint64()) // a place of which nobody else is
	}
	return placeOf(string(boot), namespace)
})

func placeOf(boot, namespace string) string {
	sum := sha256.Sum256([]byte(strings.TrimSpace(boot) + " " + namespace))
	return hex.EncodeToString(sum[:8])
}

// makerDied reports whether the thing with this name was made by a process that
// has ended. Then the thing was left behind and can be removed. It reports false
// if the process cannot be seen from here, such as one in another container.
func makerDied(prefix, name string) bool {
	rest, ours := strings.CutPrefix(name, ownPrefix(prefix))
	parts := strings.Split(rest, "-")
	if !ours || len(parts) < 3 {
		return false
	}
	pid, err := strconv.Atoi(parts[0])
	if err != nil || pid <= 0 {
		return false
	}
	start := processStart(pid)
	return start != unknownStart && start != parts[1]
}

// unknownStart is what processStart returns for a process that runs and whose
// start is not told to this user.
const unknownStart = "unknown"

// processStart returns the time at which the process with the id pid started,
// in the kernel's clock ticks, or "gone" if it has ended. The id alone does not
// identify a process, since the kernel reuses ids; id and start time do.
func processStart(pid int) string {
	const state, start = 0, 19 // indexes of the fields state (3) and starttime (22) of proc(5), in the text after the process's name
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		if kerr := unix.Kill(pid, 0); kerr == nil || errors.Is(kerr, unix.EPERM) { // /proc may hide the processes of other users
			return unknownStart
		}
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

// ofKilledRun reports whether a YARN tag is of a run that has ended; see
// makerDied.
func ofKilledRun(tag string) bool { return makerDied(tagPrefix, tag) }

// unfinished contains the YARN states of applications that have not ended yet.
var unfinished = []string{"NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING"}

// endLeftovers ends the YARN applications that killed runs left,
// because they would disturb every measurement. It tells the user about other
// running applications, which also disturb measurements.
func endLeftovers(ctx context.Context, cluster *clients.Clients, tell func(string)) error {
	apps, err := cluster.RM.Apps(ctx, yarnclient.AppFilter{States: unfinished})
	if err != nil {
		return fmt.Errorf("look for other running applications: %w", err)
	}
	var left []yarnclient.App
	for _, app := range apps {
		if !slices.ContainsFunc(strings.Split(app.Tags, ","), ofKilledRun) {
			text := fmt.Sprintf("%s (%s, of user %s) also runs on the cluster and will disturb the measurement", app.ID, app.Name, app.User)
			if strings.HasPrefix(app.Tags, tagPrefix+"-") {
				text += "; it is of a heddle on another machine, in another container, or from before this machine's restart; if that has ended: yarn application -kill " + app.ID
			}
			tell(text)
			continue
		}
		tell(fmt.Sprintf("ending %s (%s), which a killed run left", app.ID, app.Name))
		left = append(left, app)
	}
	return endApps(ctx, cluster.RM, left)
}

// removeLeftFiles removes what jobs of killed runs left in HDFS:
// their output, and what their clients staged for their ApplicationMasters. It
// is called after endLeftovers. It fails for nothing, since what is left takes
// space only: the user is told.
func removeLeftFiles(ctx context.Context, cluster *clients.Clients, tell func(string)) {
	folders, err := submit.RemoveStaged(ctx, cluster, ofKilledRun)
	files, ferr := cluster.HDFS.Files()
	var outputs []string
	if ferr == nil {
		outputs, ferr = leftOutputs(files.ReadDir, dataRoot, outputDepth)
	}
	for _, folder := range outputs {
		if rerr := cluster.HDFS.RemoveAll(ctx, folder); rerr != nil {
			ferr = errors.Join(ferr, rerr)
			continue
		}
		folders = append(folders, folder)
	}
	for _, folder := range folders {
		tell("removed hdfs " + folder + ", which a killed run left")
	}
	if err := errors.Join(err, ferr); err != nil {
		tell(fmt.Sprintf("what killed runs left in HDFS may still take space there: %v", err))
	}
}

// outputDepth is how many folders below dataRoot the folders are that contain
// the jobs' outputs: at most three, as in hibench/SIZE/WORKLOAD.
const outputDepth = 3

// leftOutputs returns the folders below an HDFS folder whose names end with the
// tag of a killed run. Each workload puts the tag of a job into
// the names of all folders that the job writes. It looks into folders down to
// the given depth.
func leftOutputs(readDir func(string) ([]os.FileInfo, error), folder string, depth int) (list []string, err error) {
	entries, err := readDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for output of killed runs: %w", hdfs.Explained(err))
	}
	for _, e := range entries {
		name := path.Join(folder, e.Name())
		_, tag, tagged := strings.Cut(e.Name(), tagPrefix+"-")
		switch {
		case !e.IsDir():
		case tagged && ofKilledRun(tagPrefix+"-"+tag):
			list = append(list, name)
		case depth > 0:
			below, err := leftOutputs(readDir, name, depth-1)
			if err != nil {
				return list, err
			}
			list = append(list, below...)
		}
	}
	return list, nil
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
	for _, app := range apps {
		var now yarnclient.App
		err := poll.Until(ctx, 100*time.Millisecond, func() (ended bool, err error) {
			now, err = rm.App(ctx, app.ID)
			return now.Ended(), err
		})
		if err != nil && ctx.Err() != nil {
			return errors.Join(append(errs, fmt.Errorf("%s is still in state %s; by hand: yarn application -kill %s", app.ID, now.State, app.ID))...)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
