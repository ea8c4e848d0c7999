"""Reads and checks the files that `loadgen-node init` wrote and the user completed."""

import hashlib
import json
import math
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from data.netdiv_data import texts

from submit.errors import Refused
from submit.programs import Program, last_error

RUN, NODE, SUBMISSION = "run.toml", "node.toml", "submission.toml"
TODO = "TODO"
OFFICIAL = {"offline": "Offline", "server": "Server", "single-stream": "SingleStream", "multi-stream": "MultiStream"}
OWN = ("mode", "output", "digests", "audit_config", "in_process")  # keys of run.toml that each step sets itself
FOLDERS = ("performance", "accuracy", "digests")
PATHS = ("labels", "user_conf", "evidence", "benchmarks", "tls_ca", "tls_certificate", "tls_key", "token_file")
FORMS = {str: "a string", list: "a list", dict: "a table"}
WHOLE = ("min_duration", "min_query_count")  # keys of user.conf that must be integers, for estimates


@dataclass
class Result:
    """A `[[result]]` of submission.toml, with paths relative to the folder of the files."""

    scenario: str
    performance: str
    accuracy: str
    digests: str | None
    compliance: str | None
    accuracy_txt: str | None


class Files:
    """All files of the folder. The constructor finds all errors that can be found without a run."""

    def __init__(self, folder: Path, program: Program) -> None:
        self.folder, self.read_as = folder, {}
        if not folder.is_dir():
            raise Refused(f"{folder}: no such folder; create it with `loadgen-node init BENCHMARK --scenario … --nodes …`")
        self.run, self.submission = self.read(RUN), self.read(SUBMISSION)
        node = self.read(NODE) if (folder / NODE).exists() else {}
        self.problems = [*self.other_forms()]
        if self.problems:
            raise Refused(*self.problems)
        self.problems = [*placeholders(RUN, self.run), *placeholders(NODE, node), *placeholders(SUBMISSION, self.submission)]
        self.benchmark = self.run.get("benchmark") or self.wrong(f"{RUN} has no benchmark")
        self.listing = self.described(program)
        self.results = [result for one in self.submission.get("result", []) if (result := self.result(one))]
        scenarios = [result.scenario for result in self.results]
        if not scenarios:
            self.wrong(f"{SUBMISSION} has no [[result]]; `loadgen-node init` writes one for each scenario")
        for scenario in sorted({one for one in scenarios if scenarios.count(one) > 1}):
            self.wrong(f"{SUBMISSION} has two results of {self.benchmark} {scenario}: remove one")
        for key in OWN:
            if key in self.run:
                self.wrong(f"{RUN} has {key}: remove it, each step sets its own")
        if "dataset" not in self.run:
            self.wrong(f"{RUN} has no dataset: write the path of the samples")
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
        """Returns the option for another table of benchmarks."""
        return ["--benchmarks", self.run["benchmarks"]] if "benchmarks" in self.run else []

    @property
    def has_targets(self) -> bool:
        """True if the accuracy must reach its target."""
        return self.run.get("division") in ("network", "closed") and not self.rehearsal

    @property
    def model(self) -> str:
        """Name of the benchmark in user.conf."""
        known = re.search(r",\s+(\S+)\s+in\s+LoadGen's", self.listing)
        return known[1] if known else self.benchmark

    def wrong(self, problem: str) -> None:
        self.problems.append(problem)

    def text(self, path: Path) -> str:
        """Reads the text of a file that must not change while steps are made."""
        content = path.read_bytes()
        self.read_as[path] = hashlib.sha256(content).hexdigest()
        return texts.decode(content)

    def edited(self) -> list[str]:
        """Returns the names of files that have changed since they were read."""
        return [path.name for path, known in self.read_as.items() if path.name != SUBMISSION and digest(path) != known]

    def read(self, name: str) -> dict:
        try:
            return tomllib.loads(self.text(self.folder / name))
        except OSError as error:
            raise Refused(f"{self.folder / name}: {error.strerror}; `loadgen-node init` writes it") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise Refused(f"{self.folder / name} is not TOML: {error}") from error

    def other_forms(self) -> Iterable[str]:
        """Yields an error for each value of another type."""
        yield from other_form(RUN, self.run, ("benchmark", "division", "dataset", *PATHS), str)
        yield from other_form(RUN, self.run, ("setting",), list)
        yield from other_form(SUBMISSION, self.submission, ("division", "round", "calibration"), str)
        yield from other_form(SUBMISSION, self.submission, ("architecture",), dict)
        architecture, results = self.submission.get("architecture"), self.submission.get("result", [])
        yield from other_form(SUBMISSION, architecture if isinstance(architecture, dict) else {}, ("measurement",), str)
        if not isinstance(results, list) or not all(isinstance(one, dict) for one in results):
            yield f"{SUBMISSION}: write each result as [[result]]"
            return
        for one in results:
            yield from other_form(SUBMISSION, one, ("scenario", "benchmark", *FOLDERS, "compliance", "accuracy_txt"), str)

    def described(self, program: Program) -> str:
        """Returns what loadgen-node prints about the benchmark. Only the Open division may have an unknown one."""
        asked = program.ask("benchmarks", self.benchmark, *self.table) if self.benchmark else None
        if asked and asked.returncode and self.run.get("division") != "open":
            self.wrong(f"{RUN}: benchmark = \"{self.benchmark}\": {last_error(asked.stderr)}")
        return asked.stdout if asked and not asked.returncode else ""

    def result(self, one: dict) -> Result | None:
        scenario = one.get("scenario")
        if scenario not in OFFICIAL:
            return self.wrong(f"{SUBMISSION}: a result has the scenario {scenario!r}; write one of {', '.join(OFFICIAL)}")
        if one.get("benchmark") != self.benchmark:
            return self.wrong(f"{SUBMISSION}: the result of {scenario} is of {one.get('benchmark')}, {RUN} is of {self.benchmark}")
        if one.get("power"):
            return self.wrong(f"{SUBMISSION}: the result of {scenario} has power: make its runs with the measurement client, step by step")
        optional = ("digests",) if self.run.get("division") == "closed" else ()
        missing = [key for key in FOLDERS if not one.get(key) and key not in optional]
        if missing:
            return self.wrong(f"{SUBMISSION}: the result of {scenario} lacks {', '.join(missing)}: write runs/{scenario}/{missing[0]}")
        outside = [one[key] for key in (*FOLDERS, "compliance") if ".." in Path(one.get(key, "")).parts or one.get(key, "").startswith("/")]
        if outside:
            return self.wrong(f"{SUBMISSION}: {', '.join(outside)}: write folders in {self.folder}, such as runs/{scenario}")
        return Result(scenario, *(one.get(key) for key in FOLDERS), one.get("compliance"), one.get("accuracy_txt"))

    def paths(self) -> None:
        """Finds named files that are missing."""
        named = {key: self.run[key] for key in PATHS if key in self.run}
        files = [(RUN, key, path) for key, path in named.items()]
        files += [(SUBMISSION, "calibration", self.submission["calibration"])] if "calibration" in self.submission else []
        for file, key, path in files:
            if not is_todo(path) and not (self.folder / path).exists():
                self.wrong(f"{file}: {key} = \"{path}\": no such file")

    def settings_of_loadgen(self) -> dict[str, dict[str, str]]:
        """Returns the settings that LoadGen reads from user.conf, by scenario; finds missing rates."""
        found: dict[str, dict[str, str]] = {result.scenario: {} for result in self.results}
        path = self.folder / self.run.get("user_conf", "")
        if not path.is_file():
            self.wrong(f"{RUN} has no user_conf, or it is missing: write user_conf = \"user.conf\"")
            return found
        lines = self.lines(path)
        for scenario, fields in found.items():
            # Reverse order of LoadGen's precedence.
            for place in (("*", "*"), (self.model, "*"), ("*", OFFICIAL[scenario]), (self.model, OFFICIAL[scenario])):
                fields |= lines.get(place, {})
            for key in WHOLE:
                if key in fields and not re.fullmatch("[0-9]{1,18}", fields[key]):
                    self.wrong(f"{path.name}: {key} of {scenario} is {fields[key]}: write a whole number")
            if scenario in ("offline", "server") and not is_rate(fields.get("target_qps", "")):
                self.wrong(f"{path.name} has no rate for {scenario}: write {self.model}.{OFFICIAL[scenario]}.target_qps = RATE")
        return found

    def lines(self, path: Path) -> dict[tuple[str, str], dict[str, str]]:
        """Returns keys and values of user.conf by model and scenario; the last line of a key counts."""
        found: dict[tuple[str, str], dict[str, str]] = {}
        try:
            text = self.text(path)
        except UnicodeDecodeError as error:
            self.wrong(f"{path.name} is not text: {error}")
            return found
        for line in text.split("\n"):
            if field := re.match(r"\s*([^\s.#]\S*)\.(\w+|\*)\.(\w+)\s+=\s+(\S+)", line):
                found.setdefault((field[1], field[2]), {})[field[3]] = field[4]
        return found


def is_rate(text: str) -> bool:
    return re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text) is not None and 0 < float(text) < math.inf


def other_form(file: str, table: dict, keys: Iterable[str], form: type) -> list[str]:
    return [f"{file}: {key} = {table[key]!r}: write {FORMS[form]}" for key in keys if key in table and not isinstance(table[key], form)]


def placeholders(file: str, value: object, key: str = "") -> list[str]:
    """Returns an error for each placeholder that `init` wrote and the user has not replaced."""
    if isinstance(value, dict):
        return [one for name, inner in value.items() for one in placeholders(file, inner, f"{key}.{name}".strip("."))]
    if isinstance(value, list):
        return [one for number, inner in enumerate(value, 1) for one in placeholders(file, inner, f"{key} {number}")]
    return [f"{file}: {key} is still \"{value}\": write it"] if isinstance(value, str) and is_todo(value) else []


def is_todo(value: str) -> bool:
    """Returns true for a placeholder, and for a `--setting` that has one as its value."""
    return any(re.match(r"TODO(?![^\W_])", text) for text in (value, value.partition("=")[2]))


def digest(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def read_json(path: Path) -> dict:
    """Returns the content of a JSON file; an empty dictionary if it is missing or invalid."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
