package lease

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"heddle/harness/runs"
)

// Report says what became of each thing that was noted.
type Report struct {
	// Epoch of the hold that put things back; 0 if there was nothing to do.
	Epoch int `json:"epoch"`
	// Back was put back now; Same was so already; Kept stays changed, for the
	// reason given; Left should have been put back and was not.
	Back []Item `json:"back"`
	Same []Item `json:"same"`
	Kept []Item `json:"kept"`
	Left []Item `json:"left"`
	// Stranded are unfinished applications that ask for a label of the pool
	// that no running node has.
	Stranded []string `json:"stranded"`
	// Warnings say what of the run folder's copy was not read.
	Warnings []string `json:"warnings,omitempty"`

	open []Change // to stay in the journal
}

// Item is one noted change and what became of it.
type Item struct {
	Change
	Why string `json:"why,omitempty"`
}

// Err is an error if something is left.
func (r *Report) Err() error {
	if len(r.Left) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d changes could not be put back, the first: %v: %s; try again with heddle labels restore",
		len(r.Left), len(r.Left)+len(r.Back)+len(r.Same), r.Left[0].Change, r.Left[0].Why)
}

// RestoreOptions of Restore. Folder of Options is here a run folder whose copy
// of the journal is put back too, in case HDFS has lost its own.
type RestoreOptions struct {
	Options
	// Prepared undoes also what Prepare has set up.
	Prepared bool
	// Drain is how long jobs that ask for labels of the pool may take to end
	// before the nodes leave those labels. Until then they get nodes in turn;
	// after it they wait for ever, and are in Report.Stranded.
	Drain time.Duration
	// Unverified takes what stands before the damage in a damaged copy.
	Unverified bool

	after int // only if the last hold is this one; 0: whichever
}

// Restore takes the hold that another has left behind and puts back everything
// it noted. A hold that is alive is a [*HeldError]. It does nothing, and writes
// nothing, when there is nothing to put back.
func Restore(ctx context.Context, c *Target, o RestoreOptions) (Report, error) {
	var copied notes
	var warning string
	if o.Folder != "" {
		var err error
		if copied, warning, err = readLocal(o.Folder, o.Unverified); err != nil {
			return Report{}, fmt.Errorf("restore cluster %s: %w", c.Name, err)
		}
	}
	r, err := restore(ctx, c, o, copied, 0)
	if warning != "" {
		r.Warnings = append(r.Warnings, warning)
	}
	r.Back, r.Same, r.Kept, r.Left, r.Stranded = list(r.Back), list(r.Same), list(r.Kept), list(r.Left), list(r.Stranded)
	if err != nil {
		return r, fmt.Errorf("restore cluster %s: %w", c.Name, err)
	}
	return r, nil
}

// list is s, in JSON [] where it is empty.
func list[T any](s []T) []T { return append([]T{}, s...) }

func restore(ctx context.Context, c *Target, o RestoreOptions, copied notes, own int) (Report, error) {
	b := book{c.Files}
	l, err := b.lease(ctx)
	if err != nil {
		return Report{}, err
	}
	_, noted, err := b.notesBefore(ctx, l.Epoch+1)
	if err != nil {
		return Report{}, err
	}
	if !o.Prepared {
		maps.DeleteFunc(noted, func(k key, _ Change) bool { return k.prepared })
	}
	if (l.Epoch == 0 || l.Released) && len(noted) == 0 && len(copied) == 0 {
		return Report{}, nil
	}
	folder := o.Folder
	o.Folder = "" // read, not written
	h, err := begin(ctx, c, o.Options, claimant{own: own, after: o.after})
	if err != nil {
		return Report{}, err
	}
	defer h.abandon()
	for _, n := range copied {
		h.notes.add([]Change{n})
	}
	h.drain = o.Drain
	which := undoSteering
	if o.Prepared {
		which = undoAll
	}
	r, err := h.release(ctx, which)
	if err == nil && folder != "" && len(r.Left) == 0 {
		var local *localJournal
		if local, err = openLocal(folder); err == nil {
			err = local.settle()
			local.close()
		}
	}
	return r, err
}

// readLocal reads a run folder's copy. A last line that is cut was not acted
// on. Damage before it is an error of runs.ErrDamaged; unverified, what stands
// before the damage is read.
func readLocal(folder string, unverified bool) (n notes, warning string, err error) {
	data, err := runs.ReadJournal(folder, FileName)
	if err != nil {
		return nil, "", fmt.Errorf("read journal: %w", err)
	}
	changes, _ := parse(data)
	if lines := bytes.Count(data, []byte("\n")); lines > len(changes) {
		damage := fmt.Sprintf("%s: line %d of %d has another checksum than it was written with", filepath.Join(folder, FileName), len(changes)+1, lines)
		if !unverified {
			return nil, "", fmt.Errorf("read journal: %w: %s; --unverified puts back what the lines before it say", runs.ErrDamaged, damage)
		}
		warning = fmt.Sprintf("%s: %s: what the lines before it say is put back", runs.NotVerified, damage)
	}
	n = notes{}
	for _, c := range changes {
		if c.Kind == settled {
			clear(n)
			continue
		}
		n.add([]Change{c})
	}
	return n, warning, nil
}

// dropCutLine removes from a run folder's copy a last line that a crash has
// cut. It was not acted on, and what is written behind it would not be read.
func dropCutLine(f *os.File, folder string) error {
	data, err := runs.ReadJournal(folder, FileName)
	if err != nil {
		return err
	}
	return f.Truncate(int64(bytes.LastIndexByte(data, '\n') + 1))
}

// undo says which notes are acted on.
type undo bool

const (
	undoSteering undo = false
	undoAll      undo = true // what Prepare did too
)

const (
	// activeLimit bounds the waiting for an active ResourceManager.
	activeLimit = time.Minute
	// nodeLimit bounds the waiting for nodes to register after its restart, and
	// for a changed size to show.
	nodeLimit = 15 * time.Second
)

// putBack makes everything that is noted as it was before, by its value: what
// is so already is left alone, so it may be done again and again. It fails only
// when the hold is lost; all other trouble is in the report.
func (h *Hold) putBack(ctx context.Context, which undo) (Report, error) {
	u := &undoing{h: h, rm: h.cluster.RM, report: Report{Epoch: h.epoch}}
	h.mu.RLock()
	todo := notes{}
	for k, c := range h.notes {
		if k.prepared && which == undoSteering {
			u.report.open = append(u.report.open, c)
			continue
		}
		todo[k] = c
	}
	h.mu.RUnlock()
	if len(todo) == 0 {
		return u.report, h.held()
	}
	if err := whileActive(ctx, u.rm, func() error { return nil }); err != nil {
		u.allLeft(todo.sorted(""), err)
		return u.report, h.held()
	}
	labels := todo.sorted(NodeLabel)
	u.resources(ctx, todo.sorted(NodeResource)) // first, so that jobs have room to end
	if h.drain > 0 && len(labels) > 0 {
		u.letJobsEnd(ctx, labels)
	}
	u.labels(ctx, labels)
	u.priorities(ctx, todo.sorted(Priority))
	u.settings(ctx, todo.sorted(Setting)) // before the labels that they name
	u.addedLabels(ctx, todo.sorted(AddedLabel))
	for _, c := range todo.sorted("") {
		if c.line != nil {
			u.left(c, errors.New("written by a newer heddle, which has to put it back"))
		}
	}
	if len(labels) > 0 {
		u.report.Stranded = u.stranded(ctx)
	}
	return u.report, h.held()
}
