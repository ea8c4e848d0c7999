"""Tests of the GPU kit without a GPU: time limits, steps that hang, and reports."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parents[2] / "deploy" / "gpu-kit"))
import kit.steps  # noqa: E402, F401  registers the steps
from kit import group, machine, report  # noqa: E402
from kit.settings import Settings  # noqa: E402
from kit.step import COVERS, GROUPS, Result, Step, in_order  # noqa: E402

MACHINE = {"device": "cuda:0", "gpu": "H100", "kit": "1234567", "torch": "2.11.0", "memory, GiB": 126}


def found(state: str = "passed", **figures: object) -> dict:
    return {"state": state, "why": [], "figures": figures, "shown": [], "seconds": 1.0, "bound": 2.0}


class Clock:
    """Clock that advances when a step runs."""

    def __init__(self, takes: dict[str, float]) -> None:
        self.now, self.takes, self.begun = 0.0, takes, {}

    def __call__(self) -> float:
        return self.now

    def run(self, step: Step, seconds: float) -> dict:
        self.begun[step.name] = seconds
        self.now += min(self.takes[step.name], seconds)
        return found("stopped" if self.takes[step.name] > seconds else "passed")


class Groups(unittest.TestCase):
    def run_steps(self, clock: Clock, steps: list[Step], patience: int = 1) -> tuple[bool, dict, str]:
        results, said = {}, io.StringIO()
        with contextlib.redirect_stdout(said):
            good = group.run_steps(steps, patience, clock.run, lambda step, what: results.update({step.name: what}), clock)
        return good, results, said.getvalue()

    def test_bounds_of_each_group_fit_into_its_time(self) -> None:
        bounds: dict[str, int] = {}
        for step in in_order():
            bounds[step.group] = bounds.get(step.group, 0) + step.seconds
        self.assertEqual(list(bounds), ["first", "second", *map(str, range(1, 9))])
        for name, seconds in bounds.items():
            self.assertLessEqual(seconds, GROUPS[name], f"group {name}")
        # A call must end within ten minutes, and both short groups within a quarter of an hour of a machine.
        self.assertLessEqual(max(GROUPS.values()) + group.IMPORT_SECONDS, 580)
        self.assertEqual((GROUPS["first"], GROUPS["second"]), (330, 250))

    def test_the_first_group_begins_with_what_decides_most(self) -> None:
        self.assertEqual([step.name for step in in_order()][:6],
                         ["first-devices", "first-resnet50", "first-overlap", "first-llama", "first-bert", "first-lost-device"])

    def test_steps_that_take_all_of_their_bounds_are_all_run(self) -> None:
        for patience in (1, group.PATIENCE):
            clock = Clock({step.name: step.seconds * patience for step in in_order()})
            good, results, said = self.run_steps(clock, in_order(), patience)
            self.assertTrue(good)
            self.assertEqual(clock.begun, clock.takes)
            self.assertEqual(len(results), len(in_order()))
            self.assertIn(f"group 1: {clock.takes['devices']:.0f} s of {560 * patience} s", said)
            self.assertIn(f"group first: {clock.takes['first-devices']:.0f} s of {330 * patience} s", said)

    def test_a_step_is_not_begun_when_the_time_of_its_group_is_over(self) -> None:
        steps = [Step(name, str(number), 300, True, "", lambda *_: None) for name, number in (("a", 1), ("b", 1), ("c", 1), ("d", 2))]
        clock = Clock({"a": 290, "b": 1000, "c": 1, "d": 1})
        good, results, _ = self.run_steps(clock, steps)
        self.assertFalse(good)
        self.assertEqual(clock.begun, {"a": 300, "b": 270, "d": 300})
        self.assertIn("not started", results["c"]["why"][0])
        self.assertEqual([results[name]["state"] for name in "abcd"], ["passed", "stopped", "stopped", "passed"])


class Processes(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        work = Path(self.folder.name)
        self.settings = Settings("cpu", True, work, work, work)
        self.step = Step("a-step", "1", 10, True, "", lambda *_: None)

    def run_with(self, script: str, seconds: float = 20) -> dict:
        words = [sys.executable, "-c", script, str(self.settings.folder("results") / "a-step.json")]
        with mock.patch.object(group, "own_python", lambda *_: words):
            return group.in_its_own_process(self.settings, self.step, seconds)

    def test_a_step_that_ends_leaves_its_result(self) -> None:
        script = f"import sys; open(sys.argv[1], 'w').write('''{json.dumps(found())}''')"
        self.assertEqual(self.run_with(script)["state"], "passed")

    def test_a_step_that_takes_too_long_is_ended_and_its_figures_stay(self) -> None:
        script = (f"import sys, time; open(sys.argv[1], 'w').write('''{json.dumps(found('running', rate=7))}'''); "
                  "time.sleep(600)")
        result = self.run_with(script, 2)
        self.assertEqual((result["state"], result["figures"]["rate"], result["why"]), ("stopped", 7, ["took longer than 2 s"]))

    def test_processes_that_cannot_be_killed_do_not_hold_the_rest(self) -> None:
        """Simulates a driver that blocks the step, or a program that the step has started."""
        for leader in ("time.sleep(600)", "sys.exit()"):
            script = f"import subprocess, sys, time; subprocess.Popen(['sleep', '600']); {leader}"
            groups: list[int] = []
            with mock.patch("os.killpg", lambda group, _: groups.append(group)), mock.patch.object(group, "DYING", 1):
                result = self.run_with(script, 2)
            self.assertEqual(len(groups), 1)
            why = " ".join(result["why"])
            self.assertRegex(why, r"killed, but still running: .*sleep \(\d+\)")
            self.assertEqual("python" in why, "sleep" in leader)
            self.assertIn(result["state"], ("stopped", "failed"))
            os.killpg(groups[0], signal.SIGKILL)
            self.assertEqual(group.killed(mock.Mock(pid=groups[0])), [])

    def test_a_slow_import_is_part_of_the_first_group(self) -> None:
        clock = Clock({step.name: step.seconds for step in in_order()})
        clock.now = 200.0
        with contextlib.redirect_stdout(io.StringIO()):
            group.run_steps(in_order(), 1, clock.run, lambda *_: None, clock, started=0.0)
        first = sum(clock.begun[step.name] for step in in_order() if step.group == "first" and step.name in clock.begun)
        self.assertLessEqual(first, GROUPS["first"] + group.IMPORT_SECONDS - 200)
        self.assertTrue(all(clock.begun[step.name] == step.seconds for step in in_order() if step.group != "first"))

    def test_a_long_log_keeps_its_head_and_its_tail(self) -> None:
        log = self.settings.output / group.LOG
        log.write_bytes(b"head" + bytes(20 << 20) + b"tail")
        group.shorten(log)
        text = log.read_bytes()
        self.assertLess(len(text), (15 << 20) + 100)
        self.assertTrue(text.startswith(b"head") and text.endswith(b"tail") and b"bytes omitted" in text)
        group.shorten(log)
        self.assertLess(len(log.read_bytes()), (15 << 20) + 200)


class Machines(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name).resolve()

    def test_a_driver_that_does_not_answer_is_a_finding(self) -> None:
        program = self.folder / "nvidia-smi"
        path = f"{self.folder}{os.pathsep}{os.environ['PATH']}"
        for script, finding in ((b"#!/bin/sh\nexec sleep 60\n", "^unknown: nvidia-smi did not answer within 1 s$"),
                                (b"#!/missing\n", "^unknown: .*No such file"), (b"#!/bin/sh\nprintf '580\\377'\n", "^580\ufffd$"),
                                (b"#!/bin/sh\necho 580; exit 9\n", "^unknown$")):
            program.write_bytes(script)
            program.chmod(0o755)
            with self.subTest(script), mock.patch.dict(os.environ, PATH=path), mock.patch.object(machine, "ANSWER", 1):
                self.assertRegex(machine.driver(), finding)

    def test_a_driver_that_cannot_be_killed_is_not_waited_for(self) -> None:
        asked = mock.Mock()
        asked.communicate.side_effect = subprocess.TimeoutExpired("nvidia-smi", 1)
        with mock.patch("shutil.which", return_value="nvidia-smi"), mock.patch("subprocess.Popen", return_value=asked):
            self.assertIn("did not answer", machine.driver())
        self.assertEqual([call[0] for call in asked.method_calls], ["communicate", "kill"])

    def test_git_must_not_track_the_working_folder(self) -> None:
        machine.check_work(self.folder / "kit" / "work")
        subprocess.run(["git", "init", "--quiet", str(self.folder)], check=True)
        with self.assertRaisesRegex(machine.Unsuitable, "kit/work is in a git repository that does not ignore it; choose an ignored"):
            machine.check_work(self.folder / "kit" / "work")
        for ignored in ("/kit/\n", "work/\n"):  # the second ignores folders alone, and this one does not exist yet
            (self.folder / ".gitignore").write_text(ignored)
            machine.check_work(self.folder / "kit" / "work")
        (self.folder / ".git" / "config").write_text("[broken")
        with self.assertRaisesRegex(machine.Unsuitable, "git cannot check --work .*bad config"):
            machine.check_work(self.folder / "kit" / "work")


class Reports(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def report(self, machine: dict = MACHINE, small: bool = False) -> report.Report:
        return report.Report(Path(self.folder.name), machine, small)

    def goal(self) -> dict:
        whole = json.loads((Path(self.folder.name) / "gpu-report.json").read_text())
        return next(goal for goal in whole["goals"] if goal["step"] == "resnet50-speed" and "minimum" in goal["figure"])

    def test_a_report_is_continued_on_the_machine_whatever_memory_it_has_left(self) -> None:
        self.report().add("devices", found())
        self.assertIn("devices", self.report(MACHINE | {"memory, GiB": 128, "driver": "1"}).steps)
        for fact in ("device", "gpu", "kit", "torch"):
            with self.assertRaisesRegex(report.OtherMachine, f"another {fact}; choose another --output"):
                self.report(MACHINE | {fact: "other"})
        with self.assertRaisesRegex(report.OtherMachine, "without --small"):
            self.report(small=True)

    def test_goals_of_a_stopped_step_are_judged_by_what_it_measured(self) -> None:
        figures = {"minimum of engines to the loop that overlaps": 0.97}
        for state, more, judgement in (
                ("stopped", {COVERS: "batches of 1 to 128"}, "met at batches of 1 to 128; the step was stopped"),
                ("stopped", {}, "not judged: step stopped"), ("failed", {COVERS: "all"}, "not judged: step failed")):
            with self.subTest(state=state):
                self.report().add("resnet50-speed", found(state, **figures, **more))
                self.assertEqual(self.goal()["judgement"], judgement)
        self.report().add("resnet50-speed", found("stopped", **{"minimum of engines to the loop that overlaps": 0.9, COVERS: "batch 1"}))
        self.assertEqual(self.goal()["judgement"], "missed at batch 1; the step was stopped")

    def test_the_page_says_bounds_and_time(self) -> None:
        self.report().add("devices", found())
        page = (Path(self.folder.name) / "gpu-report.md").read_text()
        self.assertIn("### devices: passed, 1.0 s of 2.0 s", page)
        self.assertIn("## Group 1: 1 s (on a GPU 560 s at most)", page)

    def test_figures_that_are_no_numbers_become_words(self) -> None:
        result = Result(Path(self.folder.name) / "step.json")
        result.figure("rate", float("inf"))
        self.assertEqual(json.loads((Path(self.folder.name) / "step.json").read_text())["figures"], {"rate": "inf"})


if __name__ == "__main__":
    unittest.main()
