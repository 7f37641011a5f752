"""A model that learns how much longer maps take away from their input.

For each node and each distance from the input it fits how long maps took, by ridge
regression with numpy, or by plain means where numpy is not installed. A job waits for a
node with its input as long as a map here is expected to lose more time than the job has
waited so far.
"""

import os
import sys
from typing import Dict, Mapping, Optional, Tuple

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src"))  # where the package is not installed

from heddle_model import MAP, NODE, OFF, Event, Job, Model, Node, Start, View, run  # noqa: E402

try:
    import numpy
except ImportError:
    numpy = None


class Means:
    """Expected seconds by distance alone."""

    def __init__(self) -> None:
        self.of: Dict[int, Tuple[float, int]] = {}

    def learn(self, level: int, node: int, seconds: float) -> None:
        total, count = self.of.get(level, (0.0, 0))
        self.of[level] = total + seconds, count + 1

    def expected(self, level: int, node: int) -> float:
        total, count = self.of.get(level, (0.0, 0))
        return total / count if count else 0.0


class Ridge:
    """Expected seconds as a sum of what the distance and the node add."""

    def __init__(self, nodes: int) -> None:
        size = OFF + 1 + nodes
        self.a, self.b, self.weights = numpy.eye(size) * 0.1, numpy.zeros(size), None

    def learn(self, level: int, node: int, seconds: float) -> None:
        at = [level, OFF + 1 + node]
        self.a[numpy.ix_(at, at)] += 1
        self.b[at] += seconds
        self.weights = None

    def expected(self, level: int, node: int) -> float:
        if self.weights is None:
            self.weights = numpy.linalg.solve(self.a, self.b)
        return float(self.weights[level] + self.weights[OFF + 1 + node])


class Learner(Model):
    events = True

    def __init__(self, params: Mapping[str, str], seed: int) -> None:
        super().__init__(params, seed)
        self.times = None
        self.began: Dict[Tuple[int, int], Tuple[int, int, int]] = {}  # start, level and node of each map that runs
        self.since: Dict[int, int] = {}  # when a job began to wait

    def observe(self, view: View, event: Event) -> None:
        if self.times is None:
            self.times = Ridge(len(view.nodes)) if numpy else Means()
        job, key = view.jobs.get(event.job), (event.job, event.task)
        if event.what == "taskStarted" and job and event.task < job.maps:
            self.began[key] = event.now, view.level(job, event.task, view.nodes[event.node]), event.node
        elif event.what == "taskEnded" and key in self.began:
            start, level, node = self.began.pop(key)
            if not event.failed:
                self.times.learn(level, node, (event.now - start) / 1e9)

    def choose(self, view: View, node: Node) -> Optional[Start]:
        for job in view.fifo():
            start = job.rerun_or_reduce(node) or job.nearest(node)
            if start and not self.waits(view, job, start, node):
                if start.kind == MAP:
                    self.since.pop(job.id, None)
                return start
        return None

    def waits(self, view: View, job: Job, start: Start, node: Node) -> bool:
        """Whether a job had better wait for a node with its input."""
        if start.reason not in ("rack", "off") or self.times is None or not job.has_hosts:
            return False
        here = view.level(job, start.task, node)
        loss = self.times.expected(here, node.id) - self.times.expected(NODE, node.id)
        return (view.now - self.since.setdefault(job.id, view.now)) / 1e9 < loss


if __name__ == "__main__":
    run(Learner)
