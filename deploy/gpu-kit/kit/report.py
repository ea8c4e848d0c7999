"""The report: `gpu-report.json`, and `gpu-report.md` for readers. Both are written after each step."""

import json
import tomllib
from pathlib import Path

from kit.settings import KIT
from kit.step import COVERS, GROUPS, STEPS, in_order

NAME = "gpu-report"
STATES = ("passed", "failed", "skipped", "stopped")
SAME = ("device", "gpu", "kit", "torch")  # facts that are equal for all steps of a report; others, such as memory, may change


class OtherMachine(Exception):
    """Error of a folder that contains the report of another machine, device or kit."""


class Report:
    """Results of all steps so far, of this call and of earlier calls."""

    def __init__(self, folder: Path, machine: dict, small: bool) -> None:
        self.folder, self.machine, self.small = folder, machine, small
        self.steps: dict[str, dict] = {}
        self.goals = tomllib.loads((KIT / "goals.toml").read_text())["goal"]
        strange = {goal["step"] for goal in self.goals} - STEPS.keys()
        if strange:
            raise ValueError(f"goals.toml names unknown steps: {', '.join(sorted(strange))}")
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{NAME}.json"
        if file.exists():
            earlier = json.loads(file.read_text())
            if differing := [fact for fact in SAME if earlier["machine"].get(fact) != machine.get(fact)]:
                raise OtherMachine(f"{file} is of another {' and another '.join(differing)}; choose another --output")
            if earlier["small"] != small:
                raise OtherMachine(f"{file} was made with{'' if earlier['small'] else 'out'} --small; choose another --output")
            self.steps = earlier["steps"]

    def add(self, name: str, found: dict) -> None:
        """Adds a step's result. Marks a passed step as failed if it lacks a figure that a goal names."""
        missing = [goal["figure"] for goal in self.goals if goal["step"] == name and goal["figure"] not in found["figures"]]
        if missing and found["state"] == "passed":
            found["state"] = "failed"
            found["why"].append(f"goals.toml names figures that the step did not record: {', '.join(missing)}")
        self.steps[name] = found
        self.write()

    def write(self) -> None:
        """Writes both files atomically."""
        goals = [goal | self.judged(goal) for goal in self.goals]
        whole = {"machine": self.machine, "small": self.small, "steps": self.steps, "goals": goals}
        for ending, text in ((".json", json.dumps(whole, indent=1) + "\n"), (".md", self.page(goals))):
            part = self.folder / f"{NAME}{ending}.part"
            part.write_text(text)
            part.replace(self.folder / f"{NAME}{ending}")

    def judged(self, goal: dict) -> dict:
        """Judges a goal. Goals apply to a GPU, networks of full size, and passed steps.

        A goal of a stopped step is judged by the figures that it recorded.
        """
        found = self.steps.get(goal["step"], {"state": "", "figures": {}})
        value = found["figures"].get(goal["figure"])
        if not isinstance(value, (int, float)):
            return {"value": None, "judgement": "not measured"}
        if self.small or not self.machine["device"].startswith("cuda"):
            return {"value": value, "judgement": "not judged: a goal for GPUs"}
        outcome = "met" if value >= goal["at_least"] else "missed"
        if found["state"] == "stopped" and COVERS in found["figures"]:
            return {"value": value, "judgement": f"{outcome} at {found['figures'][COVERS]}; the step was stopped"}
        if found["state"] != "passed":
            return {"value": value, "judgement": f"not judged: step {found['state']}"}
        return {"value": value, "judgement": outcome}

    def page(self, goals: list[dict]) -> str:
        """Returns the report in Markdown."""
        lines = ["# GPU report", "", "Made by `gpu-kit/run.sh`; docs/BENCHMARKING.md says how to read it.", ""]
        if self.small:
            lines += ["**Tiny networks (`--small`): the figures say nothing about speed.**", ""]
        lines += ["| machine | |", "|---|---|", *(f"| {name} | {value} |" for name, value in self.machine.items()), ""]
        counts = {state: sum(found["state"] == state for found in self.steps.values()) for state in STATES}
        lines += ["Steps: " + ", ".join(f"{count} {state}" for state, count in counts.items() if count) + ".", ""]
        lines += ["## Goals", "", "| goal | at least | measured | |", "|---|---|---|---|"]
        for goal in goals:
            value = "–" if goal["value"] is None else goal["value"]
            lines.append(f"| {goal['text']} | {goal['at_least']} | {value} | {goal['judgement']} |")
        group = ""
        for step in in_order():
            found = self.steps.get(step.name)
            if found is None:
                continue
            if step.group != group:
                group = step.group
                used = sum(self.steps[name]["seconds"] for name, each in STEPS.items() if each.group == group and name in self.steps)
                lines += ["", f"## Group {group}: {used:.0f} s (on a GPU {GROUPS[group]} s at most)"]
            lines += ["", f"### {step.name}: {found['state']}, {found['seconds']} s of {found['bound']} s", "", step.shows, ""]
            lines += [f"- **{why}**" for why in found["why"]]
            lines += [f"- {what}" for what in found["shown"]]
            if found["figures"]:
                lines += ["", "| figure | |", "|---|---|", *(f"| {n} | {v} |" for n, v in found["figures"].items())]
        return "\n".join(lines) + "\n"
