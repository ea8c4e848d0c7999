"""The files that `loadgen-node init` wrote, as their user has completed them."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from submit.errors import Refused

RUN, SUBMISSION = "run.toml", "submission.toml"
TODO = "TODO"
OFFICIAL = {"offline": "Offline", "server": "Server", "single-stream": "SingleStream", "multi-stream": "MultiStream"}
OWN = ("mode", "output", "digests", "audit_config", "in_process")  # of run.toml: each step has another one
FOLDERS = ("performance", "accuracy", "digests")
PATHS = ("labels", "user_conf", "evidence", "benchmarks", "tls_ca", "tls_certificate", "tls_key", "token_file")


@dataclass
class Result:
    """A `[[result]]` of submission.toml, with paths from the folder of the files."""

    scenario: str
    performance: str
    accuracy: str
    digests: str
    compliance: str | None
    accuracy_txt: str | None


class Files:
    """All of them. What is wrong with them is found here, as far as it can be told without running anything."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not folder.is_dir():
            raise Refused(f"{folder}: no such folder; `loadgen-node init BENCHMARK --scenario … --nodes …` makes one")
        self.run, self.submission = self.read(RUN), self.read(SUBMISSION)
        self.problems = [*placeholders(RUN, self.run), *placeholders(SUBMISSION, self.submission)]
        self.benchmark = self.run.get("benchmark") or self.wrong(f"{RUN} names no benchmark")
        self.results = [result for one in self.submission.get("result", []) if (result := self.result(one))]
        scenarios = [result.scenario for result in self.results]
        if not scenarios:
            self.wrong(f"{SUBMISSION} has no [[result]]; `loadgen-node init` writes one for each scenario")
        for scenario in sorted({one for one in scenarios if scenarios.count(one) > 1}):
            self.wrong(f"{SUBMISSION} has two results of {self.benchmark} {scenario}: leave one")
        for key in OWN:
            if key in self.run:
                self.wrong(f"{RUN} has {key}: take it out, each step sets its own")
        if "dataset" not in self.run:
            self.wrong(f"{RUN} names no dataset: write the path of the samples")
        if self.run.get("division") != self.submission.get("division"):
            self.wrong(f"{RUN} has the division {self.run.get('division')}, {SUBMISSION} {self.submission.get('division')}: write the same")
        self.paths()
        self.user_conf = self.settings_of_loadgen()
        if self.problems:
            raise Refused(*self.problems)

    @property
    def rehearsal(self) -> bool:
        return bool(self.run.get("rehearsal"))

    @property
    def table(self) -> list[str]:
        """The option that names another table of benchmarks."""
        return ["--benchmarks", self.run["benchmarks"]] if "benchmarks" in self.run else []

    @property
    def has_targets(self) -> bool:
        """Whether accuracy has to reach its target."""
        return self.run.get("division") == "network" and not self.rehearsal

    def wrong(self, problem: str) -> None:
        self.problems.append(problem)

    def read(self, name: str) -> dict:
        try:
            return tomllib.loads((self.folder / name).read_text())
        except OSError as error:
            raise Refused(f"{self.folder / name}: {error.strerror}; `loadgen-node init` writes it") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise Refused(f"{self.folder / name} is no TOML: {error}") from error

    def result(self, one: dict) -> Result | None:
        scenario = one.get("scenario")
        if scenario not in OFFICIAL:
            return self.wrong(f"{SUBMISSION}: a result has the scenario {scenario!r}; write one of {', '.join(OFFICIAL)}")
        if one.get("benchmark") != self.benchmark:
            return self.wrong(f"{SUBMISSION}: the result of {scenario} is of {one.get('benchmark')}, {RUN} is of {self.benchmark}")
        if one.get("power"):
            return self.wrong(f"{SUBMISSION}: the result of {scenario} has power: its runs are made by the measurement client, step by step")
        missing = [key for key in FOLDERS if not one.get(key)]
        if missing:
            return self.wrong(f"{SUBMISSION}: the result of {scenario} lacks {', '.join(missing)}: write runs/{scenario}/{missing[0]}")
        outside = [one[key] for key in (*FOLDERS, "compliance") if ".." in Path(one.get(key, "")).parts or one.get(key, "").startswith("/")]
        if outside:
            return self.wrong(f"{SUBMISSION}: {', '.join(outside)}: write folders inside of {self.folder}, such as runs/{scenario}")
        return Result(scenario, *(one[key] for key in FOLDERS), one.get("compliance"), one.get("accuracy_txt"))

    def paths(self) -> None:
        """Files that are named have to be there."""
        named = {key: self.run[key] for key in PATHS if key in self.run}
        parts = [part for part in str(self.run.get("dataset", "")).split("+") if "/" in part or "." in part]
        files = [(RUN, key, path) for key, path in named.items()] + [(RUN, "dataset", part) for part in parts]
        files += [(SUBMISSION, "calibration", self.submission["calibration"])] if "calibration" in self.submission else []
        for file, key, path in files:
            if TODO not in path and not path.startswith("synthetic") and not (self.folder / path).exists():
                self.wrong(f"{file}: {key} = \"{path}\": there is no such file")

    def settings_of_loadgen(self) -> dict[str, dict[str, str]]:
        """The lines of user.conf by scenario; the rates have to be there."""
        found: dict[str, dict[str, str]] = {result.scenario: {} for result in self.results}
        path = self.folder / self.run.get("user_conf", "")
        if not path.is_file():
            self.wrong(f"{RUN} has no user_conf that can be read: write user_conf = \"user.conf\"")
            return found
        for line in path.read_text(errors="replace").splitlines():
            field = re.match(r"\s*([^\s.#]\S*)\.(\w+|\*)\.(\w+)\s*=\s*(\S+)", line)
            for scenario, fields in found.items():
                if field and field[2] in (OFFICIAL[scenario], "*"):
                    fields[field[3]] = field[4]
        for scenario, fields in found.items():
            if scenario in ("offline", "server") and not is_rate(fields.get("target_qps", "")):
                self.wrong(f"{path.name} has no rate for {scenario}: write {self.benchmark}.{OFFICIAL[scenario]}.target_qps = RATE")
        return found


def is_rate(text: str) -> bool:
    return re.fullmatch(r"[0-9.]+(e[0-9]+)?", text) is not None and float(text) > 0


def placeholders(file: str, value: object, key: str = "") -> list[str]:
    """What `init` could not know and nobody has written yet."""
    if isinstance(value, dict):
        return [one for name, inner in value.items() for one in placeholders(file, inner, f"{key}.{name}".strip("."))]
    if isinstance(value, list):
        return [one for number, inner in enumerate(value, 1) for one in placeholders(file, inner, f"{key} {number}")]
    return [f"{file}: {key} is still \"{value}\": write it"] if isinstance(value, str) and value.startswith(TODO) else []
