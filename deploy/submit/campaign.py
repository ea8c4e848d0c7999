"""Campaign: records the steps that are done, and makes the others."""

import fcntl
import json
import os
import time
from pathlib import Path

from submit.errors import Refused, Stopped
from submit.files import Files, digest, read_json
from submit.folders import OLD
from submit.programs import Program
from submit.steps import Step, Steps
from submit.times import words

DONE = "campaign.json"
VALID = ("VALID", "COMPLETE")
REASONS = 5  # maximum number of printed reasons of an invalid run


class Campaign:
    def __init__(self, files: Files, program: Program, steps: Steps) -> None:
        self.files, self.program, self.steps, self.folder = files, program, steps, files.folder
        self.done = self.remembered()

    def remembered(self) -> dict[str, dict]:
        """Returns the records of the steps that are done, by name."""
        return {name: done for name, done in read_json(self.folder / DONE).items() if is_done(done)}

    def lock(self) -> None:
        """Locks the folder. Steps inherit the lock, so that it lasts until they end, even if submit.sh is killed."""
        self.locked = open(self.folder / f"{DONE}.lock", "w")  # noqa: SIM115, held until the end
        try:
            fcntl.flock(self.locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise Refused(f"{self.folder}: submit.sh or one of its steps is already running there; wait for its end") from error
        self.program.inherited = (self.locked.fileno(),)
        self.done = self.remembered()

    def missing(self, step: Step) -> str | None:
        """Returns the reason for which a step must be made; None if its results are up to date."""
        done = self.done.get(step.name)
        if not step.made.exists():
            return "to do"
        if done is None:
            return "to do: the existing result is not from submit.sh, or of a failed step"
        stamp = step.stamp()
        changed = sorted(key for key in stamp | done["stamp"] if stamp.get(key) != done["stamp"].get(key))
        if changed:
            return f"to do again: {', '.join(changed)} changed"
        if "made" in done and done["made"] != digest(step.made):
            return f"to do again: {step.made.name} was edited"
        if step.record and read_json(step.record).get("verdict") not in VALID and " TEST" not in step.name:
            return "to do again: it is invalid"
        if step.record and self.nodes(step) != self.nodes(self.newest(step)):
            return f"to do again: the nodes' programs, models or settings changed before {self.newest(step).name}"
        return None

    def newest(self, step: Step) -> Step:
        """Returns the last run of the scenario that was made."""
        runs = [one for one in self.steps.all
                if one.scenario == step.scenario and one.name in self.done and one.record and one.record.exists()]
        return max(runs, key=lambda one: self.done[one.name]["ended"])

    def nodes(self, step: Step) -> list:
        keys = ("name", "engine", "model_sha256", "config_sha256", "software_version")
        return sorted([node.get(key) for key in keys] for node in read_json(step.record).get("nodes", []))

    def left(self) -> list[Step]:
        return [step for step in self.steps.all if self.missing(step)]

    def seconds(self, step: Step) -> float:
        """Estimates the duration of a step: a test takes as long as the performance run did."""
        performance = self.done.get(f"{step.scenario} performance")
        return performance["seconds"] if performance and " TEST" in step.name else step.seconds

    def time_left(self) -> str:
        return words(sum(map(self.seconds, self.left())))

    def show(self) -> None:
        end = "submission, check and the official checker" if self.steps.reference else "submission and check"
        print(f"{self.files.benchmark}: {len(self.left())} of {len(self.steps.all)} steps to do, {self.time_left()} as estimated by "
              f"loadgen-node plan; then {end}")
        for step in self.steps.all:
            print(f"  {step.name:<22}{words(self.seconds(step)):>12}  {self.missing(step) or 'done'}")
        for note in self.steps.notes:
            print(f"  {note}")

    def make(self) -> None:
        """Makes all missing steps. If a step changes what others depend on, these are made again."""
        made: set[str] = set()
        if self.left():
            self.probe()
        while left := self.left():
            step = left[0]
            if step.name in made:
                raise Stopped(1, f"{step.name}: {self.missing(step)}, although it was just made: check that nothing else changes the files")
            if edited := self.files.edited():
                raise Stopped(3, f"{' and '.join(edited)} changed while steps were running. Run the same command again to use the new content.")
            made.add(step.name)
            self.make_step(step)

    def say(self, name: str, command: list[str]) -> None:
        number = next((n for n, step in enumerate(self.steps.all, 1) if step.name == name), None)
        where = f"step {number} of {len(self.steps.all)}, " if number else ""
        print(f"\n== {name} ({where}{self.time_left()} left)\n{' '.join([Path(command[0]).name, *command[1:]])}", flush=True)

    def probe(self) -> None:
        """Sends a sample to every node before the first run. Outputs in floating point may differ between devices."""
        report = self.folder / "probe.json"
        report.unlink(missing_ok=True)
        command = [self.program.path, "probe", "--config", "run.toml", "--json", report.name]
        self.say("probe", command)
        code = self.program.run(command)
        problems = {one["id"] for one in read_json(report).get("findings", []) if one["severity"] == "problem"}
        if code == 1 and problems == {"answer-differs"}:
            print("The nodes' responses differ. This is valid only for different devices with outputs in floating point.")
        elif code:
            raise Stopped(code, "probe: a node failed the probe, see above. Fix it, then run the same command again.")

    def make_step(self, step: Step) -> None:
        why, command, stamp = self.missing(step), step.command(), step.stamp()
        self.say(step.name, command)
        if why != "to do":
            print(why)
        self.set_aside(step.folder)
        self.remember(step.name, None)
        began = time.monotonic()
        code = self.program.run(command)
        missed = self.steps.missed(step)
        if code == 1 and step.is_script and step.made.exists() and not self.files.has_targets:
            code = 0  # the accuracy is below the target
        if code or missed or not step.made.exists():
            raise Stopped(code or (1 if missed else 3), self.why(step, code, missed))
        seconds = round(time.monotonic() - began, 1)
        self.remember(step.name, {"stamp": stamp, "made": digest(step.made), "seconds": seconds, "ended": time.time()})

    def why(self, step: Step, code: int, missed: str | None) -> str:
        invalid = "did not pass" if " TEST" in step.name else "invalid"
        how = {0: "below the target", 1: invalid, 2: "rejected, nothing was run"}.get(code, f"failed (exit code {code})")
        reasons = [missed] if missed else read_json(step.record).get("reasons", []) if step.record else []
        listed = "".join(f"\n  {reason}" for reason in reasons[:REASONS])
        advice = step.advice if code in (0, 1) else "Correct the errors above." if code == 2 else "Fix that first."
        return f"{step.name}: {how}.{listed}\n{advice} Then run the same command again to continue with this step."

    def set_aside(self, folder: Path | None) -> None:
        """Moves the folder of an old run to the folder `old`; nothing is deleted."""
        if folder is not None and folder.exists():
            old = self.folder / OLD
            old.mkdir(exist_ok=True)
            name = str(folder.relative_to(self.folder)).replace("/", "-")
            number = 1
            while (place := old / f"{name}-{number}").exists():
                number += 1
            folder.rename(place)
            print(f"{folder.relative_to(self.folder)} is now {place.relative_to(self.folder)}")

    def remember(self, name: str, done: dict | None) -> None:
        self.done = {key: value for key, value in self.done.items() if key != name} | ({name: done} if done else {})
        part = self.folder / f"{DONE}.part"
        part.write_text(json.dumps(self.done, indent=1) + "\n")
        os.replace(part, self.folder / DONE)


def is_done(done: object) -> bool:
    """Returns true for a record that submit.sh has written."""
    return isinstance(done, dict) and isinstance(done.get("stamp"), dict) and \
        all(isinstance(done.get(key), int | float) for key in ("seconds", "ended"))
