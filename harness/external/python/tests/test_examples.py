"""Run with: PYTHONPATH=src:examples python3 -m unittest discover tests"""

import unittest

from delay import Delay
from heddle_model import Model, Start, duration_ns
from heddle_model.testing import Scenario
from learner import Learner

RACKS = {"a1": "A", "a2": "A", "b1": "B", "b2": "B"}


class TestDelay(unittest.TestCase):
    def test_waits_for_node_then_rack(self):
        s = Scenario(Delay, RACKS, params={"nodeSkips": "1", "rackSkips": "1"})
        s.job("first", [["a1"], ["b1", "b2*"], ["a1"]], reduces=1)
        self.assertEqual(s.heartbeat("b2"), ["first.r0 reduce"])
        self.assertEqual(s.heartbeat("a2"), [])
        self.assertEqual(s.heartbeat("a2"), ["first.m0 rack"])
        self.assertEqual(s.heartbeat("a1"), ["first.m2 node"])
        s.fail("first", "m0")
        self.assertEqual(s.heartbeat("b1"), ["first.m0 rerun"])
        s.finish("first", "r0")
        self.assertEqual(s.heartbeat("b2"), ["first.m1 node"])
        s.finish("first", "m0", "m1", "m2")
        self.assertEqual(s.heartbeat("a1"), [])

    def test_priority_goes_first(self):
        s = Scenario(Delay, RACKS, slots=2)
        s.job("low", [["a1"]])
        s.job("high", [["a1"]], priority=3)
        self.assertEqual(s.heartbeat("a1"), ["high.m0 node", "low.m0 node"])


class TestLearner(unittest.TestCase):
    def test_waits_where_far_maps_were_slow(self):
        s = Scenario(Learner, RACKS)
        s.job("teaches", [["a1"], ["a1"]])
        self.assertEqual(s.heartbeat("a1"), ["teaches.m0 node"])
        self.assertEqual(s.heartbeat("b1"), ["teaches.m1 off"])
        self.assertEqual(s.heartbeat("a2"), [])  # a request, so that the model hears of both starts while the job is there
        s.now_ms += 2000
        s.finish("teaches", "m0")
        s.now_ms += 20000
        s.finish("teaches", "m1")
        s.job("next", [["a1"]])
        self.assertEqual(s.heartbeat("b1"), [])
        self.assertEqual(s.heartbeat("b1", after_ms=60000), ["next.m0 off"])


class TestScenario(unittest.TestCase):
    def test_refuses_lies(self):
        class Liar(Model):
            def choose(self, view, node):
                return Start(0, 5)

        s = Scenario(Liar, RACKS)
        s.job("j", [["a1"]])
        with self.assertRaisesRegex(AssertionError, "does not wait"):
            s.heartbeat("a1")

    def test_durations(self):
        self.assertEqual([duration_ns(x) for x in ("450ms", "1m30s", "1.5s")], [450_000_000, 90_000_000_000, 1_500_000_000])
        with self.assertRaises(ValueError):
            duration_ns("5 parsecs")


if __name__ == "__main__":
    unittest.main()
