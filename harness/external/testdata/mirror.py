"""A model like fifo that writes what it knows at each request into the file of its parameter."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python", "src"))

from heddle_model import CACHE, MAP, NODE, OFF, RACK, REDUCE, Model, run  # noqa: E402


class Mirror(Model):
    events = True

    def __init__(self, params, seed):
        self.out = open(params["out"], "w")
        self.heard = []

    def observe(self, view, event):
        self.heard.append([event.what, event.job, event.task, event.node])

    def choose(self, view, node):
        jobs = []
        for j in view.jobs.values():
            maps = [[list(j.stored[t]), sorted(j.cached[t]), list(j.split[t])] for t in range(j.maps)]
            tasks = [[j.is_waiting(t), j.runs_on.get(t, -1)] for t in range(j.maps + j.reduces)]
            # At the cache, the order is not the View's.
            near = [[j.next_map(n, level) if level != CACHE else j.next_map(n, level) >= 0 for level in (CACHE, NODE, RACK, OFF)] for n in view.nodes]
            fits = [[j.fits(n, MAP), j.fits(n, REDUCE)] for n in view.nodes]
            jobs.append([
                j.id, j.name, j.queue, j.pool, j.priority, j.weight, j.submitted, list(j.used), list(j.running), list(j.done), list(j.waiting),
                j.rerun, j.next_reduce(), maps, tasks, near, fits,
            ])
        nodes = [[n.name, view.racks[n.rack], n.up, n.room, list(n.free), list(n.capacity)] for n in view.nodes]
        self.out.write(json.dumps([view.now, node.id, nodes, view.nodes_up, jobs, [j.id for j in view.fifo()], self.heard]) + "\n")
        self.out.flush()
        self.heard = []
        for j in view.fifo():
            start = j.rerun_or_reduce(node) or j.nearest(node, NODE)
            if start:
                return start
        return None


run(Mirror)
