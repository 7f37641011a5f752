"""Scenarios: stories that show step by step what a model does, without heddle.

    s = Scenario(MyModel, {"a1": "A", "a2": "A", "b1": "B"})
    s.job("first", [["a1"], ["b1", "a2*"]], reduces=1)   # * also caches the block
    assert s.heartbeat("a1") == ["first.r0 reduce"]

What a model decides starts at once. A slot holds one container.
"""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence

from ._run import PROTOCOL, Model, answers

_WAITS, _DONE = -1, -2


class _Job:
    def __init__(self, id: int, name: str, maps: Sequence[Sequence[str]], reduces: int, priority: int) -> None:
        self.id, self.name, self.priority = id, name, priority
        self.maps, self.reduces = len(maps), reduces
        self.hosts = maps
        self.tasks = [_WAITS] * (self.maps + reduces)
        self.failed: List[int] = []
        self.told = False

    def task(self, name: str) -> int:
        return int(name[1:]) + (self.maps if name[0] == "r" else 0)

    def label(self, task: int) -> str:
        return f"{self.name}.m{task}" if task < self.maps else f"{self.name}.r{task - self.maps}"


class Scenario:
    """A small cluster in memory on which a model decides."""

    def __init__(self, make: Callable[[Mapping[str, str], int], Model], racks: Mapping[str, str], slots: int = 1, params: Optional[Mapping[str, str]] = None, seed: int = 1) -> None:
        self.names = list(racks)
        self.racks = sorted(set(racks.values()))
        self.rack_of, self.slots, self.free = racks, slots, {n: slots for n in racks}
        self.now_ms, self.asked = 0, 0
        self.jobs: Dict[str, _Job] = {}
        self.events: List[Dict[str, Any]] = []
        self.ended: List[int] = []
        self.submitted = 0
        self._lines: List[str] = []
        self._answers = iter(answers(make, self._next()))
        self._exchange({"hello": PROTOCOL, "seed": seed, "params": dict(params or {})})

    def job(self, name: str, maps: Sequence[Sequence[str]], reduces: int = 0, priority: int = 0) -> None:
        """Submits a job, which asks for all its tasks; each map has the hosts of its block."""
        self.jobs[name] = _Job(self.submitted, name, maps, reduces, priority)
        self.submitted += 1
        self._event("jobSubmitted", self.jobs[name])

    def heartbeat(self, name: str, after_ms: int = 200) -> List[str]:
        """A node reports. Returns what starts, each as "job.m0 reason"."""
        self.now_ms += after_ms
        started: List[str] = []
        while self.free[name] > 0:
            said = self._exchange(self._request(name))["start"]
            if not said:
                break
            started += [self._start(s, name) for s in said]
        return started

    def finish(self, job: str, *tasks: str) -> None:
        """Tasks end well; a job whose tasks all have ended ends too."""
        x = self.jobs[job]
        for t in map(x.task, tasks):
            self._leave(x, t, _DONE)
        if all(w == _DONE for w in x.tasks):
            self._event("jobEnded", x)
            del self.jobs[job]
            if x.told:
                self.ended.append(x.id)

    def fail(self, job: str, *tasks: str) -> None:
        """Tasks fail and are asked for again."""
        x = self.jobs[job]
        for t in map(x.task, tasks):
            self._leave(x, t, _WAITS)
            if t < x.maps:
                x.failed.append(t)

    def _leave(self, x: _Job, task: int, to: int) -> None:
        node = x.tasks[task]
        if node < 0:
            raise ValueError(f"{x.label(task)} does not run")
        self.free[self.names[node]] += 1
        x.tasks[task] = to
        self._event("taskEnded", x, task, node, to == _WAITS)

    def _start(self, s: Dict[str, Any], asked: str) -> str:
        x = next((j for j in self.jobs.values() if j.id == s["job"]), None)
        if x is None:
            raise AssertionError(f"{s}: there is no such job")
        node = s.get("node", self.names.index(asked))
        reduce = s["kind"] == "reduce"
        waiting = [t for t, w in enumerate(x.tasks) if w == _WAITS and (t >= x.maps) == reduce]
        task = s.get("task", waiting[0] if waiting else None)
        if task not in waiting:
            raise AssertionError(f"{s}: the task does not wait")
        if not 0 <= node < len(self.names) or self.free[self.names[node]] < 1:
            raise AssertionError(f"{s}: there is no such node, or it is full")
        self.free[self.names[node]] -= 1
        x.tasks[task] = node
        x.failed = [t for t in x.failed if t != task]
        self._event("confirmed", x, task, node)
        self._event("taskStarted", x, task, node)
        return f"{x.label(task)} {s.get('reason', s['kind'])}" + ("" if self.names[node] == asked else f" on {self.names[node]}")

    def _event(self, what: str, x: _Job, task: int = -1, node: int = -1, failed: bool = False) -> None:
        self.events.append({"what": what, "now": self.now_ms * 10**6, "job": x.id, "task": task, "node": node, "failed": failed})

    def _request(self, name: str) -> Dict[str, Any]:
        self.asked += 1
        request: Dict[str, Any] = {"ask": self.asked, "now": self.now_ms * 10**6, "node": self.names.index(name)}
        if self.asked == 1:
            request.update(lateBinding=False, racks=self.racks)
        request["nodes"] = [
            {"id": i, "name": n, "rack": self.racks.index(self.rack_of[n]), "up": True, "room": self.free[n] > 0, "free": [self.free[n], self.free[n]], "capacity": [self.slots, self.slots]}
            for i, n in enumerate(self.names)
        ]
        request["ended"], self.ended = self.ended, []
        request["jobs"] = [self._told(x) for x in self.jobs.values()]
        request["events"], self.events = self.events, []
        return request

    def _told(self, x: _Job) -> Dict[str, Any]:
        kinds = (range(x.maps), range(x.maps, x.maps + x.reduces))
        running, done = ([sum(test(x.tasks[t]) for t in k) for k in kinds] for test in (lambda w: w >= 0, lambda w: w == _DONE))
        told: Dict[str, Any] = {
            "id": x.id, "used": [sum(running)] * 2, "running": running, "done": done, "rerun": x.failed[0] if x.failed else -1,
            "waiting": [[t, t] for t, w in enumerate(x.tasks) if w == _WAITS],
            "runs": [[t, w] for t, w in enumerate(x.tasks) if w >= 0],
            "rest": [[t, t] for t, w in enumerate(x.tasks) if w == _DONE],
        }
        if not x.told:
            x.told = True
            at = self.names.index
            told.update(
                name=x.name, queue="default", pool="default", priority=x.priority, weight=1, submitted=self.now_ms * 10**6, tasks=[x.maps, x.reduces], sizes=[[1, 1], [1, 1]],
                inputs=[[t, [at(h.rstrip("*")) for h in hosts], [at(h[:-1]) for h in hosts if h[-1] == "*"]] for t, hosts in enumerate(x.hosts)],
            )
        return told

    def _next(self) -> Iterator[str]:
        while self._lines:
            yield self._lines.pop()

    def _exchange(self, request: Dict[str, Any]) -> Dict[str, Any]:
        self._lines.append(json.dumps(request))
        return next(self._answers)
