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

// do makes a change in steps: the journal is written, then the cluster is changed.
// Release waits for all steps of a change.
func (h *Hold) do(what string, steps ...func() error) error {
	h.busy.RLock()
	defer h.busy.RUnlock()
	for _, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

// noteFirst writes to the journal those changes that it lacks, before they are made. It
// calls the function read to get them, with the old values; no other goroutine writes
// to the journal meanwhile. It fails if this process has lost the right to change the
// cluster.
func (h *Hold) noteFirst(ctx context.Context, read func() ([]Change, error)) error {
	h.noting.Lock()
	defer h.noting.Unlock()
	if err := h.Alive(); err != nil {
		return err
	}
	changes, err := read()
	if err != nil {
		return err
	}
	return h.note(ctx, slices.DeleteFunc(changes, func(c Change) bool { return h.noted(c.key()) }))
}

// noteAll is noteFirst for changes whose old values need not be read.
func (h *Hold) noteAll(ctx context.Context, changes ...Change) error {
	return h.noteFirst(ctx, func() ([]Change, error) { return changes, nil })
}

// ensure makes sure that the journal has the old values of some things, given
// by their names, before these are changed. It calls the function read only for
// things that the journal lacks.
func (h *Hold) ensure(ctx context.Context, kind Kind, names []string, read func([]string) ([]Change, error)) error {
	missing := func() []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return h.noted(key{kind: kind, name: name}) })
	}
	if len(missing()) == 0 {
		return h.Alive()
	}
	return h.noteFirst(ctx, func() ([]Change, error) {
		list := missing() // look again which entries are missing, as another goroutine may have written some meanwhile
		if len(list) == 0 {
			return nil, nil
		}
		return read(list)
	})
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

func unfinishedApps(ctx context.Context, rm *yarnclient.RM) ([]yarnclient.App, error) {
	return active(ctx, rm, func(ctx context.Context) ([]yarnclient.App, error) {
		return rm.Apps(ctx, yarnclient.AppFilter{States: yarnclient.Unfinished})
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
