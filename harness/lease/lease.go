package lease

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Root is the folder in HDFS that has all holds, one folder each, named after
// the epoch:
//
//	/heddle/steer/000007/owner         created exclusively: who holds the cluster
//	/heddle/steer/000007/beat-41       renamed to beat-42 with every renewal
//	/heddle/steer/000007/note-000001   journal lines, written once
//	/heddle/steer/000007/released      the hold ended in order
//
// The highest epoch with an owner is the lease. Taking over is creating the
// next one, so that nothing is ever checked and then removed. A rename sets
// the folder's modification time by the NameNode's clock, and the age of that
// time is told by a fresh file's: no clock of ours takes part.
//
// Who may write there can have labels changed by whoever restores. The folder
// is its maker's and its group's.
const Root = "/heddle/steer"

const (
	renewEvery = 5 * time.Second
	// leaseLimit is how long a lease lasts without renewal. Its holder stops at
	// stopLimit, so that a call that it has under way has ended by then.
	leaseLimit = 30 * time.Second
	stopLimit  = 20 * time.Second
	// watchLimit is how long a lease that is void by the NameNode's clock is
	// watched all the same: that clock may have jumped, and a live holder is
	// seen renewing in that time.
	watchLimit = 2 * renewEvery
	lookEvery  = time.Second
)

// Owner says who holds a cluster.
type Owner struct {
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	User    string `json:"user"`
	Purpose string `json:"purpose"`
	Folder  string `json:"folder,omitempty"` // run folder on Host
}

func (o Owner) String() string {
	if o.PID == 0 {
		return "a process that died while taking it"
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

// Lease is the last hold of a cluster. Times are the NameNode's.
type Lease struct {
	Epoch    int       `json:"epoch"`
	Owner    Owner     `json:"owner"`
	Since    time.Time `json:"since"`
	Renewed  time.Time `json:"renewed"`
	Until    time.Time `json:"until"` // when it is void unless renewed
	Released bool      `json:"released"`

	beat int
}

// renewedSince says that l is the lease seen, renewed. It goes by the beat: the
// time of a folder stands still for a while when the NameNode's clock was set
// back.
func (l Lease) renewedSince(seen Lease) bool { return l.Epoch == seen.Epoch && l.beat != seen.beat }

// HeldError says that another holds the cluster and is alive.
type HeldError struct{ Lease Lease }

func (e *HeldError) Error() string {
	l := e.Lease
	return fmt.Sprintf("the cluster is held by %v, since %s, and was renewed just now; it is free when that ends, or %v after it was killed (%s unless renewed)",
		l.Owner, l.Since.Format(time.DateTime), leaseLimit, l.Until.Format(time.TimeOnly))
}

// book is the folder of holds.
type book struct{ files Files }

func folderOf(epoch int) string { return fmt.Sprintf("%s/%06d", Root, epoch) }

// epochs lists the folders, highest first.
func (b book) epochs(ctx context.Context) ([]int, error) {
	names, err := b.files.List(ctx, Root)
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
	slices.Sort(epochs)
	slices.Reverse(epochs)
	return epochs, nil
}

// lease returns the last hold; epoch 0 if there was none.
func (b book) lease(ctx context.Context) (Lease, error) {
	for {
		epochs, err := b.epochs(ctx)
		if err != nil {
			return Lease{}, err
		}
		l, err := b.newest(ctx, epochs)
		if !errors.Is(err, fs.ErrNotExist) {
			return l, forbidden(err)
		}
		// A folder that was listed is gone: a later hold has settled it.
		if err := ctx.Err(); err != nil {
			return Lease{}, context.Cause(ctx)
		}
	}
}

// newest returns the first of epochs that has an owner; fs.ErrNotExist if one
// of them is there no more.
func (b book) newest(ctx context.Context, epochs []int) (Lease, error) {
	for _, epoch := range epochs {
		folder := folderOf(epoch)
		names, err := b.files.List(ctx, folder)
		if err != nil {
			return Lease{}, err
		}
		if !slices.Contains(names, "owner") { // being taken, or its taker died
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
		_ = json.Unmarshal(data, &l.Owner) // what died while writing it stays unknown
		return l, err
	}
	return Lease{}, nil
}

// claimant says which leases may be taken over; zero fields do not matter.
type claimant struct {
	own   int // the epoch of a lease of our own, void or not
	after int // no other lease than that of this epoch
}

var errPassed = errors.New("another has taken the lease and let go of it")

// claim takes the lease when it is free, and waits for one that is not renewed
// to become void. It returns a HeldError as soon as a renewal is seen. The
// lease counts from the time returned, which is before it was asked for.
func (b book) claim(ctx context.Context, owner Owner, as claimant, log *slog.Logger) (int, time.Time, error) {
	var seen Lease
	var since time.Time
	for {
		asked := time.Now()
		l, err := b.lease(ctx)
		if err != nil {
			return 0, asked, err
		}
		if as.after != 0 && l.Epoch != as.after {
			return 0, asked, errPassed
		}
		free := l.Epoch == 0 || l.Released || l.Epoch == as.own
		switch {
		case free:
		case l.Epoch != seen.Epoch:
			seen, since = l, time.Now()
			log.Info("the cluster is held; waiting whether the lease is renewed", "owner", l.Owner.String(), "renewed", l.Renewed)
		case l.renewedSince(seen):
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
			as.own = 0 // another was faster
			continue
		}
		if err := wait(ctx, lookEvery); err != nil {
			return 0, asked, err
		}
	}
}

// void says whether a lease that was watched for so long without a renewal has
// ended.
func (b book) void(ctx context.Context, l Lease, watched time.Duration) (bool, error) {
	if watched < watchLimit {
		return false, nil
	}
	if watched >= leaseLimit {
		return true, nil
	}
	now, err := b.now(ctx)
	return err == nil && !now.Before(l.Until), err
}

// now is the NameNode's time.
func (b book) now(ctx context.Context) (time.Time, error) {
	probe := fmt.Sprintf("%s/.now-%x", Root, randomID())
	if err := b.files.Create(ctx, probe, nil); err != nil {
		return time.Time{}, err
	}
	t, err := b.files.Modified(ctx, probe)
	return t, errors.Join(err, b.files.RemoveAll(ctx, probe))
}

// create makes an epoch ours, or fails with fs.ErrExist.
func (b book) create(ctx context.Context, epoch int, owner Owner) error {
	folder := folderOf(epoch)
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
		return fmt.Errorf("%w; only the user who steered first reads and writes there: name that one as user in the cluster file, or hand the folder over: hdfs dfs -mkdir -p %s; hdfs dfs -chown -R USER %s", err, Root, Root)
	}
	return err
}

var errSuperseded = errors.New("another has taken over")

// renew sets the modification time of the epoch's folder, unless a later epoch
// has an owner.
func (b book) renew(ctx context.Context, epoch int) error {
	// The NameNode alone is asked: DataNodes of a cluster at work may be slow.
	epochs, err := b.epochs(ctx)
	if err != nil {
		return err
	}
	if len(epochs) > 0 && epochs[0] > epoch { // perhaps its taker died before it was one
		l, err := b.lease(ctx)
		if err != nil {
			return err
		}
		if l.Epoch > epoch {
			return fmt.Errorf("%w: %v", errSuperseded, l.Owner)
		}
	}
	folder := folderOf(epoch)
	names, err := b.files.List(ctx, folder)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !slices.Contains(names, "owner") {
		return fmt.Errorf("%w, or has removed %s", errSuperseded, folder)
	}
	if err != nil {
		return err
	}
	if n, there := beatIn(names); there {
		return b.files.Rename(ctx, fmt.Sprintf("%s/beat-%d", folder, n), fmt.Sprintf("%s/beat-%d", folder, n+1))
	}
	return b.files.Create(ctx, path.Join(folder, "beat-0"), nil)
}

// beatIn finds the beat among the names of a folder.
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

// release marks the epoch as ended; what is noted there is still to be put back.
func (b book) release(ctx context.Context, epoch int) error {
	err := b.files.Create(ctx, path.Join(folderOf(epoch), "released"), nil)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
