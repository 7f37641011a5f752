package change

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"heddle/harness/config"
	"heddle/harness/internal/poll"
	"heddle/yarnclient"
)

// kind is one kind of change: how it is seen on the cluster, and undone. It is made by
// a method of Hold, which first notes what was there before; see the method do.
type kind interface {
	// Left asks the cluster about changes. It returns a function that says of each
	// whether it is still there.
	Left(ctx context.Context, u *undoing, list []Change) (find finder, err error)
	// Undo undoes those changes of which Left says that they are there. It may be
	// repeated. It returns for each change why the cluster refused that, nil if it
	// did not.
	Undo(ctx context.Context, u *undoing, list []Change) []error
}

// finding is what a kind finds out about one change. A zero finding means that
// nothing is left of it.
type finding struct {
	there there
	why   string // why it is there
}

// finder says what became of a change.
type finder func(Change) finding

type there int

const (
	gone    there = iota // the thing is as it was before
	left                 // the thing is still changed
	stuck                // it is still changed, and cannot be undone now
	kept                 // it stays changed on purpose
	coming               // it was undone, and the cluster does not show that yet
	unknown              // the cluster does not know the thing, but may do so soon; if it does not, nothing is left
)

// keep is an error of Undo that says why a change stays on purpose.
type keep struct{ error }

// known is a kind of change that this version of heddle knows.
type known struct {
	Kind
	text     string // what was changed; the name of the thing follows it
	before   string // what it was before, unless the Change has the old value
	kind     kind
	patience time.Duration // how long an undone change may take until it is seen
}

// kinds has all kinds of change in the order in which they build on each other.
// They are undone from the last to the first.
var kinds = []known{
	{AddedLabel, "label", "not there", addedLabel{}, nodeLimit},
	{Setting, "setting", "not set", setting{}, nodeLimit}, // settings refer to labels
	{NodeLabel, "label of", "no label", nodeLabel{}, nodeLimit},
	{NodeResource, "size of", "not set", nodeSize{}, nodeLimit}, // sizes go back before labels, so that jobs get the room they need to end
	{CachePool, "cache pool", "not there", cachePool{}, nodeLimit},
	{JobFolder, "folders of jobs", "not there", jobFolder{}, nodeLimit},
	{Application, "applications tagged", "not there", application{}, activeLimit},
	{NodeSlow, "speed of node", "its normal speed", fault(config.FaultSlow), backLimit},
	{NodeDown, "daemons of node", "running", fault(config.FaultUp), backLimit}, // first, since all else needs nodes
}

// Steering are the kinds of change that steering makes.
var Steering = []Kind{AddedLabel, Setting, NodeLabel, NodeResource}

// index returns the place of a kind among kinds, -1 if this version of heddle does
// not know it.
func (k Kind) index() int {
	return slices.IndexFunc(kinds, func(x known) bool { return x.Kind == k })
}

// undoing is the state of one call of the method putBack, which undoes changes.
type undoing struct {
	h *Hold
	*Target
	report Report
	asked  map[key]error // what Undo returned for a change
	hurry  bool          // whether the user waits for the end: what was asked for is not waited for
}

// done reports whether the change was undone, though the cluster may not show it yet.
func (u *undoing) done(c Change) bool {
	err, tried := u.asked[c.key()]
	return tried && err == nil
}

func (u *undoing) left(c Change, why string) {
	u.report.Left = append(u.report.Left, Item{c, why})
	u.report.open = append(u.report.open, c)
}

func (u *undoing) kept(c Change, why string) {
	if c.Kind == AddedLabel && slices.ContainsFunc(u.report.Left, func(i Item) bool { return i.Kind == NodeLabel }) {
		u.left(c, why) // it may be in use by a node that gets its own label back later
		return
	}
	u.report.Kept = append(u.report.Kept, Item{c, why})
}

// undo undoes the changes of one kind and looks whether they are gone, again and
// again until they are or the kind's patience ends.
func (u *undoing) undo(ctx context.Context, k known, list []Change) {
	start := time.Now()
	for try := 0; len(list) > 0; try++ {
		find, err := k.kind.Left(ctx, u, list)
		if err == nil && try > 1 {
			err = poll.Wait(ctx, lookEvery/5)
		}
		if err == nil {
			err = u.h.Held()
		}
		if err != nil {
			u.allLeft(list, err)
			return
		}
		late := time.Since(start) >= k.patience
		var again, todo []Change
		for _, c := range list {
			refused, tried := u.asked[c.key()]
			switch f := find(c); {
			case f.there == gone && tried:
				u.report.Back = append(u.report.Back, Item{Change: c})
			case f.there == gone, f.there == unknown && late:
				u.report.Same = append(u.report.Same, Item{Change: c}) // for instance after a restart
			case f.there == kept:
				u.kept(c, f.why)
			case errors.As(refused, new(keep)):
				u.kept(c, refused.Error())
			case f.there == stuck:
				u.left(c, f.why)
			case final(refused), late && refused != nil:
				u.left(c, refused.Error())
			case late:
				u.left(c, f.why)
			default:
				again = append(again, c)
				if f.there == left {
					todo = append(todo, c)
				}
			}
		}
		if len(todo) > 0 {
			for j, err := range k.kind.Undo(ctx, u, todo) {
				u.asked[todo[j].key()] = err
			}
		}
		list = again
	}
}

func (u *undoing) allLeft(list []Change, err error) {
	for _, c := range list {
		u.left(c, err.Error())
	}
}

// final reports whether the ResourceManager refuses a request whenever it is made.
func final(err error) bool {
	var remote *yarnclient.RemoteError
	return errors.Is(err, yarnclient.ErrUnauthorized) || errors.As(err, &remote) && remote.Status/100 == 4
}

// each calls undo for each change.
func each(list []Change, undo func(Change) error) []error {
	errs := make([]error, len(list))
	for i, c := range list {
		errs[i] = undo(c)
	}
	return errs
}

// all returns the same error for each change.
func all(list []Change, err error) []error {
	return each(list, func(Change) error { return err })
}

func (c Change) String() string {
	name := c.Name
	if c.Queue != "" {
		name = c.Queue + "." + name
	}
	i := c.Kind.index()
	if i < 0 {
		return fmt.Sprintf("%s %s", c.Kind, name)
	}
	return fmt.Sprintf("%s %s (before: %s)", kinds[i].text, name, c.Before())
}
