package change

import (
	"cmp"
	"context"
	"errors"
	"regexp"

	"heddle/harness/require"
	"heddle/yarnclient"
)

// The settings that steering changes, by their full names without the queue, and the
// values that they can have had.
var (
	labelList     = regexp.MustCompile(`^[A-Za-z0-9_, *-]*$`)
	labelCapacity = regexp.MustCompile(`^accessible-node-labels\.([A-Za-z0-9_-]+)\.capacity$`)
	capacityValue = regexp.MustCompile(`^([0-9.]+ ?[w%]?|\[[A-Za-z0-9=,.-]*\])?$`)
	wholeNumber   = regexp.MustCompile(`^-?[0-9]+$`)
)

// foreign returns a function that says why a change cannot be one of heddle's, or "".
// A journal that somebody else wrote may name any setting, label or node of the cluster:
// what heddle never changes is shown, and not put back.
func foreign(ctx context.Context, rm *yarnclient.RM) (func(Change) string, error) {
	masters, err := mastersLabel(ctx, rm)
	if err != nil {
		return nil, err
	}
	now, err := nodesToLabels(ctx, rm)
	ours := func(label string) bool { return label == masters || require.InPool(label) }
	return func(c Change) string {
		switch c.Kind {
		case AddedLabel:
			if !ours(c.Name) {
				return "heddle adds no such label"
			}
		case NodeLabel:
			if label := now[c.Name]; label != "" && !ours(label) {
				return "heddle gives no node the label " + label + ", which it has"
			}
			if c.Label != "" && !ours(c.Label) {
				return "heddle takes no node with such a label"
			}
		case NodeResource:
			if label := now[c.Name]; label != "" && !ours(label) {
				return "heddle changes no node with the label " + label + ", which it has"
			}
		case Setting:
			if !c.ownSetting(ours) {
				return "heddle never sets it so"
			}
		}
		return ""
	}, err
}

// mastersLabel returns the label of the nodes that ApplicationMasters start on.
func mastersLabel(ctx context.Context, rm *yarnclient.RM) (string, error) {
	row := require.Of("amLabel")[0]
	name, err := rm.Conf(ctx, row.Property)
	if errors.Is(err, yarnclient.ErrNotFound) {
		err = nil
	}
	return cmp.Or(name, row.Value), err
}

func (c Change) ownSetting(ours func(label string) bool) bool {
	if c.Queue == "" {
		return c.Name == require.Queues+"node-locality-delay" && wholeNumber.MatchString(c.Value)
	}
	if c.Name == "accessible-node-labels" {
		return labelList.MatchString(c.Value)
	}
	label := labelCapacity.FindStringSubmatch(c.Name)
	return label != nil && ours(label[1]) && capacityValue.MatchString(c.Value)
}
