package doctor

import (
	"context"
	"fmt"
	"time"

	"heddle/harness/change"
	"heddle/traces/printable"
)

// leftOver names what a heddle has changed on the cluster and not put back.
func (e *examiner) leftOver(ctx context.Context) Check {
	c := check("leftOver", false, "trials that nothing of an earlier one disturbs")
	if e.root.err != nil {
		return c.unknown("HDFS, where heddle notes its changes, cannot be asked")
	}
	noted, err := change.ReadJournal(ctx, e.files)
	if err != nil {
		return c.unknown("%v", err)
	}
	var first string
	n := 0
	for _, x := range noted.Changes {
		if x.Prepared { // it stays
			continue
		}
		if n++; n == 1 {
			first = x.String()
		}
	}
	what := fmt.Sprintf("%s, the first: %s", printable.Count(n, "change"), first)
	restore := "heddle restore --cluster " + e.Config.Name
	switch l := noted.Lease; {
	case n == 0:
		return c.ok("nothing")
	case l.Released:
		return c.warn("%s", what).next(restore)
	default:
		return c.warn("%s; by %v, which renewed its lease at %s", what, l.Owner,
			l.Renewed.Format(time.DateTime)).next("if it has ended: " + restore)
	}
}
