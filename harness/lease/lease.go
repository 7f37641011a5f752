package lease

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/harness/internal/poll"
)

// Root is the HDFS folder with the leases on the cluster. Each hold (one
// process's right to change the cluster) has a folder in it, named after the
// hold's number, its epoch:
//
//	/heddle/steer/000007/owner         created exclusively: who holds the cluster
//	/heddle/steer/000007/beat-41       each renewal renames it: beat-42, beat-43
//	/heddle/steer/000007/note-000001   journal lines, written once
//	/heddle/steer/000007/released      the hold ended with Release
//
// The folder with the highest epoch and an owner file is the lease. A process
// takes the cluster over by creating the owner file of the next epoch, which
// only one process can do. Nothing has to be checked and then removed.
//
// A rename sets the folder's modification time by the NameNode's clock. To get
// the age of a lease, this time is compared with the modification time of a
// new file. So the clocks of our machines do not matter.
//
// Whoever can write there decides what a restore changes on the cluster.
// Therefore only the folder's owner and group have access.
const Root = "/heddle/steer"

const (
	renewEvery = 5 * time.Second
	// leaseLimit is how long a lease on the cluster lasts without a renewal.
	// Its holder stops changing things earlier, at stopLimit, so that a call
	// under way has ended when the lease does.
	leaseLimit = 30 * time.Second
	stopLimit  = 20 * time.Second
	// watchLimit is how long a process watches another's lease before it takes
	// the cluster over, even if the lease is void by the NameNode's clock.
	// That clock may have jumped, and a live holder renews its lease within
	// this time.
	watchLimit = 2 * renewEvery
	lookEvery  = time.Second
)

// Owner is the process that has, or last had, the right to change a cluster.
type Owner struct {
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	User    string `json:"user"`
	Purpose string `json:"purpose"`
	Folder  string `json:"folder,omitempty"` // path of the owner's run folder on the owner's host
}

func (o Owner) String() string {
	if o.PID == 0 {
		return "an unknown process, which died while it took the lease"
	}
	s := fmt.Sprintf("%s on %s, process %d", o.User, o.Host, o.PID)
	if o.Purpose != "" {
		s += " (" + o.Purpose + ")"
	}
	if o.Folder != "" {
		s += ", run folder " + o.Folder
	}
	return s
}

// Lease is the newest lease on a cluster, as HDFS records it. Its times are by
// the NameNode's clock.
type Lease struct {
	Epoch    int       `json:"epoch"`
	Owner    Owner     `json:"owner"`
	Since    time.Time `json:"since"`
	Renewed  time.Time `json:"renewed"`
	Until    time.Time `json:"until"` // time at which the lease becomes void (may be taken over) unless it is renewed
	Released bool      `json:"released"`

	beat int
}

// RenewedSince reports whether l is the lease that was seen before, but renewed
// since then. It compares the counts of renewals. The times would not do, since
// a folder's modification time stands still for a while after the NameNode's
// clock was set back.
func (l Lease) RenewedSince(seen Lease) bool { return l.Epoch == seen.Epoch && l.beat != seen.beat }

// HeldError means that another process has the right to change the cluster and
// is alive.
type HeldError struct{ Lease Lease }

func (e *HeldError) Error() string {
	l := e.Lease
	return fmt.Sprintf("the cluster is held by %v, since %s; its lease was renewed just now; wait for that process to end, or kill it: "+
		"the cluster is free %v after the last renewal (at %s unless renewed again)",
		l.Owner, l.Since.Format(time.DateTime), leaseLimit, l.Until.Format(time.TimeOnly))
}

// leaseDir gives access to the HDFS folder Root, which has a folder for each
// time that a process held the cluster.
type leaseDir struct{ files Files }

// Folder is the HDFS folder of the hold with the given number.
func Folder(epoch int) string { return fmt.Sprintf("%s/%06d", Root, epoch) }

// Epochs lists the numbers of all holds of the cluster that have a folder in
// HDFS, highest first.
func Epochs(ctx context.Context, files Files) ([]int, error) {
	names, err := files.Names(ctx, Root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, forbidden(err)
	}
	var epochs []int
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil && n > 0 {
			epochs = append(epochs, n)
		}
	}
	slices.SortFunc(epochs, func(a, b int) int { return b - a })
	return epochs, nil
}

// Newest returns the newest lease on the cluster. The lease's epoch is 0 if the
// cluster was never held.
func Newest(ctx context.Context, files Files) (Lease, error) {
	for {
		epochs, err := Epochs(ctx, files)
		if err != nil {
			return Lease{}, err
		}
		l, err := leaseDir{files}.newest(ctx, epochs)
		if !errors.Is(err, fs.ErrNotExist) {
			return l, forbidden(err)
		}
		// The folder of an earlier hold is gone: a later holder of the cluster
		// has taken over its journal entries and removed the folder. List the
		// folders again.
		if err := ctx.Err(); err != nil {
			return Lease{}, context.Cause(ctx)
		}
	}
}

// newest goes through epochs (numbers of holds of the cluster), highest first,
// and returns the lease of the first that has an owner file. It returns
// fs.ErrNotExist if a folder vanishes meanwhile.
func (b leaseDir) newest(ctx context.Context, epochs []int) (Lease, error) {
	for _, epoch := range epochs {
		folder := Folder(epoch)
		names, err := b.files.Names(ctx, folder)
		if err != nil {
			return Lease{}, err
		}
		if !slices.Contains(names, "owner") { // no owner file: it is not written yet, or its process died before writing it
			continue
		}
		l := Lease{Epoch: epoch, Released: slices.Contains(names, "released")}
		l.beat, _ = beatIn(names)
		if l.Since, err = b.files.Modified(ctx, path.Join(folder, "owner")); err != nil {
			return l, err
		}
		if l.Renewed, err = b.files.Modified(ctx, folder); err != nil {
			return l, err
		}
		l.Until = l.Renewed.Add(leaseLimit)
		data, err := b.files.Read(ctx, path.Join(folder, "owner"))
		_ = json.Unmarshal(data, &l.Owner) // ignore the error: the owner stays unknown if the owner died while it wrote the owner file
		return l, err
	}
	return Lease{}, nil
}

// ErrTakenMeanwhile means that the lease that Options.After names is not the
// newest any more.
var ErrTakenMeanwhile = errors.New("another process has taken and released the lease")

// claim waits until the lease on the cluster is free or void (not renewed in
// time), and takes it. It returns a HeldError as soon as it sees that the
// holder renews the lease. It also returns the time just before its successful
// attempt, from which the new lease counts.
func (b leaseDir) claim(ctx context.Context, o Options, log *slog.Logger) (int, time.Time, error) {
	own, owner := o.Own, ownerOf(o)
	var seen Lease
	var since time.Time
	for {
		asked := time.Now()
		l, err := Newest(ctx, b.files)
		if err != nil {
			return 0, asked, err
		}
		if o.After != 0 && l.Epoch != o.After {
			return 0, asked, ErrTakenMeanwhile
		}
		free := l.Epoch == 0 || l.Released || l.Epoch == own
		switch {
		case free:
		case l.Epoch != seen.Epoch:
			seen, since = l, time.Now()
			log.Info("the cluster is held; waiting to see whether the lease is renewed", "owner", l.Owner.String(), "renewed", l.Renewed)
		case l.RenewedSince(seen):
			return 0, asked, &HeldError{l}
		default:
			if free, err = b.void(ctx, l, time.Since(since)); err != nil {
				return 0, asked, err
			}
		}
		if free {
			err := b.create(ctx, l.Epoch+1, owner)
			if !errors.Is(err, fs.ErrExist) {
				return l.Epoch + 1, asked, err
			}
			own = 0 // another process took the lease with this number first, so from now on no lease counts as our own
			continue
		}
		if err := poll.Wait(ctx, lookEvery); err != nil {
			return 0, asked, err
		}
	}
}

// void reports whether a lease has ended because it was not renewed in time.
// The argument watched is how long this process has seen no renewal of the
// lease.
func (b leaseDir) void(ctx context.Context, l Lease, watched time.Duration) (bool, error) {
	if watched < watchLimit {
		return false, nil
	}
	if watched >= leaseLimit {
		return true, nil
	}
	now, err := b.now(ctx)
	return err == nil && !now.Before(l.Until), err
}

// now returns the present time by the NameNode's clock.
func (b leaseDir) now(ctx context.Context) (time.Time, error) {
	probe := fmt.Sprintf("%s/.now-%016x", Root, rand.Uint64())
	if err := b.files.Create(ctx, probe, nil); err != nil {
		return time.Time{}, err
	}
	t, err := b.files.Modified(ctx, probe)
	return t, errors.Join(err, b.files.RemoveAll(ctx, probe))
}

// create takes the lease on the cluster, with the given number (epoch). It
// fails with fs.ErrExist if another process has taken this number.
func (b leaseDir) create(ctx context.Context, epoch int, owner Owner) error {
	folder := Folder(epoch)
	if err := b.files.MkdirAll(ctx, folder); err != nil {
		return forbidden(err)
	}
	data, err := json.Marshal(owner)
	if err != nil {
		return err
	}
	if err := b.files.Create(ctx, path.Join(folder, "owner"), data); err != nil {
		return forbidden(err)
	}
	return b.files.Create(ctx, path.Join(folder, "beat-0"), nil)
}

func forbidden(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w; only the user who steered first may read and write there: set that user as 'user' in the cluster file, or "+
			"change the folder's owner: hdfs dfs -mkdir -p %s; hdfs dfs -chown -R USER %s", err, Root, Root)
	}
	return err
}

var errSuperseded = errors.New("another process has taken over")

// renew renews the lease with the given number (epoch). It fails with
// errSuperseded if another process has taken a lease with a higher number.
func (b leaseDir) renew(ctx context.Context, epoch int) error {
	// A renewal of the lease asks only the NameNode, since DataNodes under load
	// may be slow.
	epochs, err := Epochs(ctx, b.files)
	if err != nil {
		return err
	}
	if len(epochs) > 0 && epochs[0] > epoch { // look for an owner file, as a folder with a higher number but without one is no lease
		l, err := Newest(ctx, b.files)
		if err != nil {
			return err
		}
		if l.Epoch > epoch {
			return fmt.Errorf("%w: %v", errSuperseded, l.Owner)
		}
	}
	folder := Folder(epoch)
	names, err := b.files.Names(ctx, folder)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !slices.Contains(names, "owner") {
		return fmt.Errorf("%w, or has removed folder %s", errSuperseded, folder)
	}
	if err != nil {
		return err
	}
	if n, there := beatIn(names); there {
		return b.files.Rename(ctx, fmt.Sprintf("%s/beat-%d", folder, n), fmt.Sprintf("%s/beat-%d", folder, n+1))
	}
	return b.files.Create(ctx, path.Join(folder, "beat-0"), nil)
}

// beatIn finds the file "beat-N" among the names of files in a lease's folder.
// It returns N, which counts the renewals of the lease.
func beatIn(names []string) (n int, there bool) {
	for _, name := range names {
		if number, is := strings.CutPrefix(name, "beat-"); is {
			if n, err := strconv.Atoi(number); err == nil {
				return n, true
			}
		}
	}
	return -1, false
}

// release marks the lease with the given number (epoch) as released. The
// lease's journal entries stay, so that their changes can be put back.
func (b leaseDir) release(ctx context.Context, epoch int) error {
	err := b.files.Create(ctx, path.Join(Folder(epoch), "released"), nil)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// State returns the state of a lease on the cluster: "none", "released", "void"
// (not renewed in time) or "held".
func (l Lease) State(ctx context.Context, files Files) (string, error) {
	switch {
	case l.Epoch == 0:
		return "none", nil
	case l.Released:
		return "released", nil
	}
	now, err := leaseDir{files}.now(ctx)
	if err == nil && !now.Before(l.Until) {
		return "void", nil
	}
	return "held", err
}
