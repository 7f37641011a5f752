"""The conversation with heddle over standard input and output."""

from __future__ import annotations

import json
import re
import sys
from time import perf_counter
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, TextIO, Union

from ._view import Event, Node, Start, View

PROTOCOL = 1


class Model:
    """What a model inherits. It overrides choose, or decide to start several tasks at once.

    A model must decide the same if the same happens again: its random numbers come from
    seed, and it looks at no clock but view.now.
    """

    events = False  # whether observe is called

    def __init__(self, params: Mapping[str, str], seed: int) -> None:
        self.params, self.seed = params, seed

    def choose(self, view: View, node: Node) -> Optional[Start]:
        """One task to start on a node with room; it is asked again while the node has room."""
        raise NotImplementedError

    def decide(self, view: View, node: Node) -> Iterable[Start]:
        """All tasks to start when this node has room, also on other nodes."""
        start = self.choose(view, node)
        return () if start is None else (start,)

    def observe(self, view: View, event: Event) -> None:
        """Something has happened since the last request."""


def answers(make: Callable[[Mapping[str, str], int], Model], lines: Iterable[Union[str, bytes]]) -> Iterable[Dict[str, Any]]:
    """The answer to each line that heddle writes."""
    model: Optional[Model] = None
    view, seconds = View(), 0.0
    for line in lines:
        request = json.loads(line)
        if "bye" in request:
            yield {"bye": True, "seconds": seconds}
            return
        if model is None:
            if request.get("hello") != PROTOCOL:
                raise SystemExit(f"heddle speaks version {request.get('hello')} of the protocol, this package version {PROTOCOL}: install the package of heddle's version")
            model = make(request["params"], request["seed"])
            yield {"hello": PROTOCOL, "model": type(model).__name__, "events": model.events}
            continue
        view.apply(request)
        began = perf_counter()
        for e in request.get("events", ()):
            model.observe(view, Event(**e))
        starts: List[Dict[str, Any]] = []
        if "node" in request:
            starts = [s.line() for s in model.decide(view, view.nodes[request["node"]])]
        seconds += perf_counter() - began
        yield {"answer": request["ask"], "start": starts}


def run(make: Callable[[Mapping[str, str], int], Model]) -> None:
    """Answers heddle until it says goodbye. What the model prints goes to standard error."""
    out: TextIO = sys.stdout
    sys.stdout = sys.stderr
    encode = json.JSONEncoder(separators=(",", ":")).encode
    for answer in answers(make, sys.stdin.buffer):
        out.write(encode(answer) + "\n")
        out.flush()


_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}


def duration_ns(text: str) -> int:
    """The nanoseconds of a duration such as 450ms or 1m30s."""
    parts = re.findall(r"([0-9]+(?:\.[0-9]+)?)(ns|us|µs|ms|s|m|h)", text)
    if not parts or "".join(n + u for n, u in parts) != text:
        raise ValueError(f"{text!r} is not a duration such as 450ms or 5s")
    return round(sum(float(n) * _UNITS[u] for n, u in parts))
