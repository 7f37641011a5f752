"""Scheduler models for heddle in Python.

A model is a class with a method choose, and run(Model) is its program:

    from heddle_model import Model, Node, Start, View, run

    class Fifo(Model):
        def choose(self, view: View, node: Node) -> "Start | None":
            for job in view.fifo():
                start = job.rerun_or_reduce(node) or job.nearest(node)
                if start:
                    return start
            return None

    run(Fifo)

heddle starts the program with {model: external, command: [python3, fifo.py]}.
"""

from ._run import Model, duration_ns, run
from ._view import ANY, CACHE, MAP, NODE, OFF, RACK, REDUCE, Event, Job, Node, Start, View

__all__ = [
    "ANY", "CACHE", "MAP", "NODE", "OFF", "RACK", "REDUCE",
    "Event", "Job", "Model", "Node", "Start", "View", "duration_ns", "run",
]
