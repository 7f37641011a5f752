"""The cluster as heddle shows it to a model."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

MAP, REDUCE = 0, 1
# How near a node is to the input of a map: it caches the block, stores it, is in a rack
# where it is stored, or none of these.
CACHE, NODE, RACK, OFF = 0, 1, 2, 3
ANY = -1

_LEVELS = ("cache", "node", "rack", "off")
_KINDS = ("map", "reduce")


class Start(NamedTuple):
    """A decision: start a task of a job on a node.

    Without a node it is for the node that asks, and without a task for any of its kind.
    reason is a word for reports: cache, node, rack, off, rerun, reduce, random or plan.
    """

    job: int
    task: int = ANY
    kind: int = MAP
    node: int = ANY
    reason: str = ""

    def line(self) -> Dict[str, Any]:
        out: Dict[str, Any] = {"job": self.job, "kind": _KINDS[self.kind]}
        if self.task != ANY:
            out["task"] = self.task
        if self.node != ANY:
            out["node"] = self.node
        if self.reason:
            out["reason"] = self.reason
        return out


class Event(NamedTuple):
    """What happened: jobSubmitted, jobEnded, taskStarted, taskEnded, confirmed or cancelled."""

    what: str
    now: int
    job: int
    task: int = ANY
    node: int = ANY
    failed: bool = False


class Node:
    """A worker."""

    __slots__ = ("id", "name", "rack", "up", "room", "free", "capacity", "slots")

    def __init__(self, id: int, name: str, rack: int) -> None:
        self.id, self.name, self.rack = id, name, rack
        self.up = self.room = False
        self.free: Sequence[int] = (0, 0)  # memory in MB and cores that nothing takes
        self.capacity: Sequence[int] = (0, 0)
        self.slots: Optional[Sequence[int]] = None  # free map and reduce slots; None: no limit


class Job:
    """A job that has not ended. Its tasks are numbered from 0, maps first."""

    __slots__ = (
        "view", "id", "name", "queue", "pool", "priority", "weight", "submitted", "deadline", "price", "maps", "reduces",
        "sizes", "used", "running", "done", "waiting", "rerun", "stored", "cached", "split", "runs_on",
        "has_hosts", "_waits", "_lowest", "_reduce", "_lists", "_at",
    )

    def __init__(self, view: "View", new: Dict[str, Any]) -> None:
        self.view = view
        self.id: int = new["id"]
        self.name: str = new["name"]
        self.queue: str = new["queue"]
        self.pool: str = new["pool"]
        self.priority = 0
        self.weight: float = new["weight"]
        self.submitted: int = new["submitted"]  # ns since the start of the run
        self.deadline: Optional[int] = new.get("deadline")
        self.price: float = new.get("price", 0.0)
        self.maps, self.reduces = new["tasks"]
        self.sizes: Sequence[Sequence[int]] = new["sizes"]  # memory and cores of a container, by kind
        self.used: Sequence[int] = (0, 0)
        self.running: Sequence[int] = (0, 0)  # by kind, with those that were decided
        self.done: Sequence[int] = (0, 0)
        self.waiting = [0, 0]
        self.rerun = ANY  # the map that failed first and waits again
        self.stored: List[Sequence[int]] = [()] * self.maps  # by map: nodes with the block on disk
        self.cached: List[Sequence[int]] = [()] * self.maps
        self.split: List[Sequence[int]] = [()] * self.maps  # nodes that the split names
        self.has_hosts = False  # whether any split names a host
        self.runs_on: Dict[int, int] = {}  # node of each task that runs
        self._waits = bytearray(self.maps + self.reduces)
        self._lowest, self._reduce = 0, self.maps
        # The maps at a node or rack, in order, and how many of them need not be looked at.
        self._lists: Optional[List[Dict[int, List[int]]]] = None
        self._at: List[Dict[int, int]] = [{}, {}, {}]

    def fits(self, node: Node, kind: int) -> bool:
        """Whether a node has room for a task of this kind."""
        size, free = self.sizes[kind], node.free
        return node.up and size[0] <= free[0] and size[1] <= free[1] and (node.slots is None or node.slots[kind] > 0)

    def is_waiting(self, task: int) -> bool:
        return self._waits[task] == 1

    def next_reduce(self) -> int:
        """The lowest waiting reduce, or ANY if none waits."""
        if not self.waiting[REDUCE]:
            return ANY
        self._reduce = self._waits.find(1, self._reduce)
        return self._reduce

    def next_map(self, node: Node, level: int) -> int:
        """The lowest waiting map with its input so near to a node, or ANY if there is none."""
        if not self.waiting[MAP]:
            return ANY
        if level == OFF:
            self._lowest = self._waits.find(1, self._lowest)
            return self._lowest
        lists = self._lists or self._index()
        key = node.rack if level == RACK else node.id
        tasks = lists[level].get(key)
        if tasks is None:
            return ANY
        waits, at = self._waits, self._at[level].get(key, 0)
        while at < len(tasks) and not waits[tasks[at]]:
            at += 1
        self._at[level][key] = at
        return tasks[at] if at < len(tasks) else ANY

    def nearest(self, node: Node, first: int = CACHE, last: int = OFF) -> Optional[Start]:
        """The start of the waiting map nearest to a node, from a level to a level."""
        if not self.waiting[MAP] or not self.fits(node, MAP):
            return None
        for level in range(first, last + 1):
            task = self.next_map(node, level)
            if task != ANY:
                return Start(self.id, task, MAP, reason=_LEVELS[level])
        return None

    def rerun_or_reduce(self, node: Node) -> Optional[Start]:
        """The start of a task that goes anywhere: a map that failed, or else a reduce."""
        if self.rerun != ANY and self.fits(node, MAP):
            return Start(self.id, self.rerun, MAP, reason="rerun")
        if self.waiting[REDUCE] and self.fits(node, REDUCE):
            return Start(self.id, self.next_reduce(), REDUCE, reason="reduce")
        return None

    def _index(self) -> List[Dict[int, List[int]]]:
        rack_of = [n.rack for n in self.view.nodes]
        lists: List[Dict[int, List[int]]] = [{}, {}, {}]
        for task in range(self.maps):
            for node in self.cached[task]:
                lists[CACHE].setdefault(node, []).append(task)
            for node in self.stored[task]:
                lists[NODE].setdefault(node, []).append(task)
            for rack in {rack_of[node] for node in self.stored[task]}:
                lists[RACK].setdefault(rack, []).append(task)
        self._lists, self._at = lists, [{}, {}, {}]
        return lists

    def _apply(self, new: Dict[str, Any]) -> None:
        if "inputs" in new:
            self._lists = None
            for task, stored, cached, *split in new["inputs"]:
                self.stored[task], self.cached[task] = stored, cached
                self.split[task] = split[0] if split else stored
            self.has_hosts = any(self.split)
        self.priority = new.get("priority", self.priority)
        self.rerun = new.get("rerun", self.rerun)
        self.used, self.running, self.done = new["used"], new["running"], new["done"]
        for first, last in new.get("rest", ()):
            for task in range(first, last + 1):
                self._leave(task)
        for task, node in new.get("runs", ()):
            self._leave(task)
            self.runs_on[task] = node
        for first, last in new.get("waiting", ()):
            self._wait(first, last)

    def _leave(self, task: int) -> None:
        if self._waits[task]:
            self._waits[task] = 0
            self.waiting[MAP if task < self.maps else REDUCE] -= 1
        else:
            self.runs_on.pop(task, None)

    def _wait(self, first: int, last: int) -> None:
        for task in range(first, last + 1):
            self.runs_on.pop(task, None)
        maps = max(0, min(last + 1, self.maps) - first)
        self.waiting[MAP] += maps
        self.waiting[REDUCE] += last + 1 - first - maps
        self._waits[first:last + 1] = b"\1" * (last + 1 - first)
        if maps:
            self._lowest = min(self._lowest, first)
        self._reduce = min(self._reduce, max(first, self.maps))
        if maps and self._lists is not None:
            self._at = [{}, {}, {}]  # look at all again


class View:
    """The cluster at the time of a request. A model must not change it."""

    def __init__(self) -> None:
        self.now = 0  # ns since the start of the run
        self.late_binding = False  # the ApplicationMaster chooses the task of each container
        self.racks: List[str] = []
        self.nodes: List[Node] = []
        self.nodes_up = 0
        self.jobs: Dict[int, Job] = {}  # those that have not ended, in order of submission
        self._fifo: Optional[List[Job]] = None

    def fifo(self) -> List[Job]:
        """The jobs with a waiting task by descending priority, then in order of submission."""
        if self._fifo is None:
            self._fifo = sorted((j for j in self.jobs.values() if j.waiting[0] or j.waiting[1]), key=lambda j: (-j.priority, j.id))
        return self._fifo

    def with_room(self) -> Iterator[Node]:
        """The nodes that have room for the smallest container."""
        return (n for n in self.nodes if n.room)

    def level(self, job: Job, task: int, node: Node) -> int:
        """How near a node is to the input of a map."""
        if node.id in job.cached[task]:
            return CACHE
        if node.id in job.stored[task]:
            return NODE
        return RACK if any(self.nodes[n].rack == node.rack for n in job.stored[task]) else OFF

    def apply(self, request: Dict[str, Any]) -> None:
        """Takes over what a request says has changed."""
        self.now = request["now"]
        self.late_binding = request.get("lateBinding", self.late_binding)
        self.racks += request.get("racks", ())
        for new in request.get("nodes", ()):
            if new["id"] == len(self.nodes):
                self.nodes.append(Node(new["id"], new["name"], new["rack"]))
            node = self.nodes[new["id"]]
            self.nodes_up += new["up"] - node.up
            node.up, node.room, node.free, node.capacity = new["up"], new["room"], new["free"], new["capacity"]
            node.slots = new.get("slots")
        for id in request.get("ended", ()):
            del self.jobs[id]
            self._fifo = None
        for new in request.get("jobs", ()):
            job = self.jobs.get(new["id"])
            if job is None:
                job = self.jobs[new["id"]] = Job(self, new)
            before: Tuple[bool, int] = (any(job.waiting), job.priority)
            job._apply(new)
            if before != (any(job.waiting), job.priority):
                self._fifo = None
