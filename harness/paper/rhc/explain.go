package rhc

import (
	"fmt"

	"heddle/harness/paper"
)

// became says what became of the published saving over Greedy.
func became(d *paper.Data) string {
	published, text := d.Stated("fig9", claimant, "largest saving over Greedy"), "not reproduced"
	switch {
	case d.Estimate("saved(cost[loads: Greedy; 0.6], cost[loads: RHC; 0.6])").Lo >= published:
		text = "reached in this reading"
	case d.Estimate("oneMore(savings(cost[loads: Greedy; 0.6], cost[loads: bound; 0.6]))").Hi < published:
		text = "not reproduced, and is out of reach of any rule in this reading"
	}
	return fmt.Sprintf("of up to %g %% is %s", published, text)
}
