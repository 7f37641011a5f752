"""heddle's model delay, decision by decision the same.

A job waits a little for a node that has its input, then for one in its rack. See
harness/sched/delay.go for the rule and where it is from.
"""

import os
import sys
from typing import Dict, List, Mapping, Optional

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src"))  # where the package is not installed

from heddle_model import MAP, NODE, OFF, RACK, Job, Model, Node, Start, View, duration_ns, run  # noqa: E402


class Waited:
    """How long a job has waited since its last map, and how near that was."""

    def __init__(self, level: int = NODE) -> None:
        self.wait, self.level, self.skipped = 0, level, False


class Delay(Model):
    def __init__(self, params: Mapping[str, str], seed: int) -> None:
        super().__init__(params, seed)
        self.by_time = params.get("form", "skips") == "time"
        self.fair = params.get("order", "fifo") == "fair"
        self.skips = [int(params.get(name, -1)) for name in ("nodeSkips", "rackSkips")]
        self.waits = [duration_ns(params.get(name, "5s")) for name in ("nodeWait", "rackWait")]
        self.jobs: Dict[int, Waited] = {}
        self.skipped: List[int] = []  # jobs skipped at the last heartbeat
        self.last = 0

    def choose(self, view: View, node: Node) -> Optional[Start]:
        self.add_wait(view.now)
        d1, d2 = self.waits if self.by_time else [view.nodes_up if d < 0 else d for d in self.skips]
        jobs = view.fifo()
        if self.fair:
            jobs = sorted(jobs, key=lambda j: (sum(j.running), j.id))
        for job in jobs:
            start = job.rerun_or_reduce(node)
            if start:
                return start
            if not job.waiting[MAP] or not job.fits(node, MAP):
                continue
            waited = self.jobs.setdefault(job.id, Waited())
            start = job.nearest(node, NODE, self.farthest(job, waited, d1, d2))
            if start:
                self.jobs[job.id] = Waited(("cache", "node", "rack", "off").index(start.reason))
                return start
            self.skip(job, waited)
        return None

    @staticmethod
    def farthest(job: Job, waited: Waited, d1: int, d2: int) -> int:
        """The farthest level at which the job may start a map now."""
        if waited.level == OFF or waited.level == RACK and waited.wait >= d2 or waited.wait >= d1 + d2 or not job.has_hosts:
            return OFF
        return RACK if waited.level == RACK or waited.wait >= d1 else NODE

    def skip(self, job: Job, waited: Waited) -> None:
        if not self.by_time:
            waited.wait += 1
        elif not waited.skipped:
            waited.skipped = True
            self.skipped.append(job.id)

    def add_wait(self, now: int) -> None:
        """Adds the time since the last heartbeat to the wait of each job skipped then."""
        if now == self.last:
            return
        for id in self.skipped:
            waited = self.jobs[id]
            if waited.skipped:
                waited.wait += now - self.last
                waited.skipped = False
        self.skipped, self.last = [], now


if __name__ == "__main__":
    run(Delay)
