package change

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"heddle/harness/lease"
	"heddle/harness/runs"
)

// Report says for each change in the journal whether it was put back.
type Report struct {
	// Epoch is the number of the lease under which the changes were put back;
	// 0 if the journal was empty.
	Epoch int `json:"epoch"`
	// Back lists the things that were put back to their old values now. Same
	// lists those that already had their old values. Kept lists those that stay
	// changed on purpose, and why. Left lists those that could not be put back.
	Back []Item `json:"back"`
	Same []Item `json:"same"`
	Kept []Item `json:"kept"`
	Left []Item `json:"left"`
	// Stranded lists unfinished applications that ask for a node label which
	// heddle uses for steered jobs and which no running node has. They would
	// wait for ever.
	Stranded []string `json:"stranded"`
	// Warnings say which parts of the journal's copy could not be read.
	Warnings []string `json:"warnings,omitempty"`

	open []Change // changes on the cluster that could not be put back now, and so stay in the journal
}

// Item is one change from the journal, and why it was not put back.
type Item struct {
	Change
	Why string `json:"why,omitempty"`
}

// Err returns an error if some changes could not be put back.
func (r *Report) Err() error {
	if len(r.Left) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d changes could not be put back, the first: %v: %s; try again with heddle restore",
		len(r.Left), len(r.Left)+len(r.Back)+len(r.Same), r.Left[0].Change, r.Left[0].Why)
}

// RestoreOptions are the options of Restore. Options.Folder is a run folder
// here. The journal's copy in that folder is put back too, in case HDFS has
// lost the journal.
type RestoreOptions struct {
	Options
	// Prepared makes Restore also undo what Prepare has set up.
	Prepared bool `flag:"prepared" text:"also undo what 'heddle labels prepare' has set up"`
	// Drain is how long steered jobs get to end before nodes lose the labels
	// that these jobs ask for. Until then, nodes get these labels in turn.
	// Jobs that have not ended by then wait for ever, and are in
	// Report.Stranded.
	Drain time.Duration `flag:"drain" text:"TIME that steered jobs get to end" of:"TIME"`
	// Unverified makes Restore read a damaged copy of the journal up to the
	// damage. Without it, Restore fails on such a copy.
	Unverified bool `flag:"unverified" text:"with --run, put back the changes before the damage in a damaged journal"`
}

// Restore takes over the cluster from a process that did not release it, and
// puts back all changes in the journal. If that process is alive, Restore
// returns a [*lease.HeldError]. If the journal is empty, Restore changes and writes
// nothing.
func Restore(ctx context.Context, c *Target, o RestoreOptions) (Report, error) {
	var copied notes
	var warnings []string
	if o.Folder != "" {
		var err error
		if copied, warnings, err = readLocal(o.Folder, o.Unverified); err != nil {
			return Report{}, fmt.Errorf("restore cluster %s: %w", c.Name, err)
		}
	}
	r, err := restore(ctx, c, o, copied)
	r.Warnings = append(r.Warnings, warnings...)
	r.Back, r.Same, r.Kept, r.Left, r.Stranded = list(r.Back), list(r.Same), list(r.Kept), list(r.Left), list(r.Stranded)
	if err != nil {
		return r, fmt.Errorf("restore cluster %s: %w", c.Name, err)
	}
	return r, nil
}

// The function list returns a copy of slice s that is never nil, so that JSON
// shows [] instead of null.
func list[T any](s []T) []T { return append([]T{}, s...) }

func restore(ctx context.Context, c *Target, o RestoreOptions, copied notes) (Report, error) {
	l, err := lease.Newest(ctx, c.Files)
	if err != nil {
		return Report{}, err
	}
	_, noted, err := notesBefore(ctx, c.Files, l.Epoch+1)
	if err != nil {
		return Report{}, err
	}
	which := func(c Change) bool { // is it to be put back?
		return o.Prepared || !c.Prepared
	}
	maps.DeleteFunc(noted, func(_ key, c Change) bool { return !which(c) })
	if (l.Epoch == 0 || l.Released) && len(noted) == 0 && len(copied) == 0 {
		return Report{}, nil
	}
	folder := o.Folder
	o.Folder = "" // the journal's copy in this folder is only read now; nothing is written to it while the changes are put back
	h, err := begin(ctx, c, o.Options)
	if err != nil {
		return Report{}, err
	}
	defer h.abandon()
	h.notes.add(copied.sorted(""))
	h.drain = o.Drain
	h.busy.Lock()
	r, err := h.undo(ctx, which)
	h.busy.Unlock()
	if err == nil {
		err = h.Hold.Release(context.WithoutCancel(ctx))
	}
	if err == nil && folder != "" && len(r.Left) == 0 {
		err = settleIn(folder)
	}
	return r, err
}

// settleIn settles the journal's copy in a run's folder: all its changes are put back.
func settleIn(folder string) error {
	local, err := openLocal(folder)
	if err != nil {
		return err
	}
	defer local.close()
	return local.settle()
}

// readLocal reads the journal's copy in a run folder. It ignores an incomplete
// last line, since the change of that line was not made. Damage before the
// last line gives runs.ErrDamaged; with unverified, readLocal returns the
// lines before the damage.
func readLocal(folder string, unverified bool) (n notes, warnings []string, err error) {
	data, err := runs.ReadJournal(folder, journalFile)
	if err != nil {
		return nil, nil, fmt.Errorf("read journal: %w", err)
	}
	changes, _ := parse(data)
	if lines := bytes.Count(data, []byte("\n")); lines > len(changes) {
		damage := fmt.Sprintf("%s: line %d of %d: the checksum is wrong", filepath.Join(folder, journalFile), len(changes)+1, lines)
		if !unverified {
			return nil, nil, fmt.Errorf("read journal: %w: %s; --unverified puts back the changes of the lines before it", runs.ErrDamaged, damage)
		}
		warnings = []string{fmt.Sprintf("%s: %s: the changes of the lines before it are put back", runs.NotVerified, damage)}
	}
	n = notes{}
	for _, c := range changes {
		if c.Kind == settled {
			clear(n)
			continue
		}
		n.add([]Change{c})
	}
	return n, warnings, nil
}

func unprepared(c Change) bool { return !c.Prepared }

const (
	// activeLimit is how long Restore waits until a ResourceManager is active.
	activeLimit = time.Minute
	// nodeLimit is how long to wait for nodes to register after a restart of
	// the ResourceManager, and for the ResourceManager to show a changed node
	// size.
	nodeLimit = 15 * time.Second
	lookEvery = time.Second
)

// putBack undoes changes of the journal, even if ctx has ended. Things that are
// as before already are left alone, so putBack may be repeated. It returns an error
// only if this process has lost its lease on the cluster; other failures are in the
// report.
func (h *Hold) putBack(ctx context.Context, which func(Change) bool) (Report, error) {
	u := &undoing{
		h: h, Target: h.cluster, report: Report{Epoch: h.Epoch()},
		asked: map[key]error{}, hurry: errors.Is(ctx.Err(), context.Canceled),
	}
	ctx = context.WithoutCancel(ctx)
	h.mu.RLock()
	todo := notes{}
	for k, c := range h.notes {
		if which(c) {
			todo[k] = c
		} else {
			u.report.open = append(u.report.open, c)
		}
	}
	h.mu.RUnlock()
	if len(todo) == 0 {
		return u.report, h.Held()
	}
	why, err := active(ctx, u.RM, func(ctx context.Context) (func(Change) string, error) { return foreign(ctx, u.RM) })
	if err != nil {
		u.allLeft(todo.sorted(""), err)
		return u.report, h.Held()
	}
	for _, c := range todo.sorted("") {
		if why := why(c); why != "" {
			u.report.Kept = append(u.report.Kept, Item{c, why})
			delete(todo, c.key())
		}
	}
	labels := todo.sorted(NodeLabel)
	for _, k := range slices.Backward(kinds) {
		if k.Kind == NodeLabel && h.drain > 0 && len(labels) > 0 {
			u.letJobsEnd(ctx, labels)
		}
		u.undo(ctx, k, todo.sorted(k.Kind))
	}
	for _, c := range todo.sorted("") {
		if c.line != nil {
			u.left(c, "a newer version of heddle noted it; use that version to put it back")
		}
	}
	if len(labels) > 0 {
		u.report.Stranded = u.stranded(ctx)
	}
	return u.report, h.Held()
}
