package change

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"heddle/yarnclient"
)

// setting is the kind of changes of the Capacity scheduler's settings.
type setting struct{}

// SetSchedulerConf changes scheduler settings, as
// yarnclient.RM.SetSchedulerConf does. It accepts only changes that can be
// undone: settings of existing queues, and global settings that already have a
// value.
func (h *Hold) SetSchedulerConf(ctx context.Context, change yarnclient.SchedulerChange) error {
	return h.do("set scheduler configuration", func() error { return h.setConf(ctx, false, change) })
}

func (h *Hold) setConf(ctx context.Context, prepared bool, change yarnclient.SchedulerChange) error {
	err := h.noteFirst(ctx, func() (changes []Change, err error) {
		before, err := active(ctx, h.cluster.RM, h.cluster.RM.SchedulerConf)
		if err != nil {
			return nil, err
		}
		for _, q := range slices.Concat(change.Update, []yarnclient.QueueSettings{{Settings: change.Global}}) {
			for _, name := range slices.Sorted(maps.Keys(q.Settings)) {
				c := Change{Kind: Setting, Queue: q.Queue, Name: name, Prepared: prepared}
				c.Value = before[c.settingName()]
				if q.Queue == "" && c.Value == "" {
					return nil, fmt.Errorf("global setting %s is not set, and Hadoop cannot unset it again; set it in capacity-scheduler.xml", name)
				}
				changes = append(changes, c)
			}
		}
		return changes, nil
	})
	if err != nil {
		return err
	}
	return h.cluster.RM.SetSchedulerConf(ctx, change)
}

// settingName returns the full property name of a changed scheduler setting.
func (c Change) settingName() string {
	if c.Queue == "" {
		return c.Name
	}
	return "yarn.scheduler.capacity." + c.Queue + "." + c.Name
}

func (setting) Left(ctx context.Context, u *undoing, _ []Change) (finder, error) {
	now, err := active(ctx, u.RM, u.RM.SchedulerConf)
	return func(c Change) finding {
		if now[c.settingName()] == c.Value { // for instance because a restart lost a change kept in memory
			return finding{}
		}
		return finding{left, "it is " + now[c.settingName()]}
	}, err
}

// Undo puts all settings back in one call. One by one would fail, since the
// capacities of the queues below one parent must always add up to 100 %.
func (setting) Undo(ctx context.Context, u *undoing, list []Change) []error {
	var change yarnclient.SchedulerChange
	for _, c := range list {
		change.Set(c.Queue, c.Name, c.Value)
	}
	return all(list, u.RM.SetSchedulerConf(ctx, change))
}
