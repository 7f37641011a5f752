package change

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"heddle/harness/internal/poll"
	"heddle/yarnclient"
)

// do makes a change, unless the hold is being released.
func (h *Hold) do(what string, change func() error) error {
	h.busy.RLock()
	defer h.busy.RUnlock()
	if err := change(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// ensure makes sure that the journal has the old values of some things, given
// by their names, before these are changed. For things that the journal lacks,
// it calls the function read to get the old values, and writes them to the
// journal. It fails if this process has lost the right to change the cluster.
func ensure(ctx context.Context, h *Hold, kind Kind, names func(func(string) bool), read func(context.Context, []string) ([]Change, error)) error {
	if err := h.Alive(); err != nil {
		return err
	}
	missing := func() (list []string) {
		h.mu.RLock()
		defer h.mu.RUnlock()
		for name := range names {
			if _, there := h.notes[key{kind: kind, name: name}]; !there {
				list = append(list, name)
			}
		}
		return list
	}
	if missing() == nil {
		return nil
	}
	h.noting.Lock()
	defer h.noting.Unlock()
	list := missing() // look again which entries are missing, as another goroutine may have written some meanwhile
	if list == nil {
		return nil
	}
	slices.SortFunc(list, strings.Compare)
	changes, err := read(ctx, list)
	if err != nil {
		return err
	}
	return h.note(ctx, changes)
}

func (h *Hold) noted(k key) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	_, there := h.notes[k]
	return there
}

// nodesToLabels and labelNames ask only an active ResourceManager. A
// ResourceManager that is just starting answers, with status 200, that there
// are no labels.
func nodesToLabels(ctx context.Context, rm *yarnclient.RM) (map[string]string, error) {
	all, err := active(ctx, rm, rm.NodesToLabels)
	labelOf := map[string]string{}
	for node, labels := range all {
		labelOf[node] = strings.Join(labels, ",") // a node has at most one label; Join turns this list of none or one into text
	}
	return labelOf, err
}

func labelNames(ctx context.Context, rm *yarnclient.RM) (map[string]bool, error) {
	labels, err := active(ctx, rm, rm.NodeLabels)
	names := map[string]bool{}
	for _, l := range labels {
		names[l.Name] = true
	}
	return names, err
}

// nodes returns the nodes in some states, or all nodes if no state is given.
func nodes(ctx context.Context, rm *yarnclient.RM, states ...string) ([]yarnclient.Node, error) {
	return active(ctx, rm, func(ctx context.Context) ([]yarnclient.Node, error) { return rm.Nodes(ctx, states...) })
}

// active returns what the active ResourceManager answers to read; see whileActive.
func active[T any](ctx context.Context, rm *yarnclient.RM, read func(context.Context) (T, error)) (answer T, err error) {
	err = whileActive(ctx, rm, func() (err error) {
		answer, err = read(ctx)
		return err
	})
	return answer, err
}

// whileActive calls read, which asks the ResourceManager. It calls read again
// if, when read ended, this ResourceManager was not active or another one had
// become active, since the answer may then be wrong.
func whileActive(ctx context.Context, rm *yarnclient.RM, read func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, activeLimit, fmt.Errorf("no active ResourceManager within %v", activeLimit))
	defer cancel()
	for {
		before, err := rm.WaitActive(ctx, 0)
		if err != nil {
			return err
		}
		if err = read(); err == nil {
			after, err := rm.Info(ctx)
			if err == nil && after.HAState == yarnclient.HAActive && after.ID == before.ID {
				return nil
			}
		} else if !errors.Is(err, yarnclient.ErrUnreachable) && !errors.Is(err, yarnclient.ErrUnavailable) {
			return err
		}
		if err := poll.Wait(ctx, lookEvery); err != nil {
			return err
		}
	}
}

var unfinished = []string{"NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING"}

func unfinishedApps(ctx context.Context, rm *yarnclient.RM) ([]yarnclient.App, error) {
	return active(ctx, rm, func(ctx context.Context) ([]yarnclient.App, error) {
		return rm.Apps(ctx, yarnclient.AppFilter{States: unfinished})
	})
}

// labelsOf returns the node labels that an application asks for in its
// container requests.
func labelsOf(a *yarnclient.App) []string {
	labels := []string{a.Label, a.AMLabel}
	for _, r := range a.Requests {
		labels = append(labels, r.Label)
	}
	return slices.DeleteFunc(labels, func(l string) bool { return l == "" })
}
