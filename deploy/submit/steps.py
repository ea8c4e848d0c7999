"""Steps of a campaign, in order: their commands, and the settings that their results depend on."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from submit import folders
from submit.errors import Refused
from submit.files import Files, Result, digest, read_json
from submit.programs import Program, last_error
from submit.times import DIGESTS_MS, DIGESTS_SAMPLES, planned

FABRIC_SECONDS = (320, 60)  # second value: of a rehearsal
NETWORK = ("nodes_port", "transport", "connections", "streams", "io_threads", "pin", "tls_ca", "tls_certificate", "tls_key",
           "token_file", "insecure")
PACE = ("target_qps", "min_duration", "min_query_count")  # keys of user.conf that do not affect accuracy
WITH_SCRIPTS = ("TEST01", "TEST07", "TEST09")  # tests whose verification may use official scripts
ONLY_PRINTED = ("quiet", "metrics")  # keys that do not affect a result


@dataclass
class Step:
    """Step of a campaign. Its result is up to date while `stamp` returns the same settings."""

    name: str
    command: Callable[[], list[str]]
    made: Path  # file that exists once the step is done
    stamp: Callable[[], dict]
    advice: str
    seconds: float = 0.0
    folder: Path | None = None  # moved away before the step is made again
    scenario: str = ""
    record: Path | None = None  # result.json
    is_script: bool = False


@dataclass
class Script:
    """Options for the official accuracy script."""

    reference: Path | None
    python: Path | None
    arguments: list[str]
    test07: Path | None = None  # reference data of TEST07

    def of_test(self, test: str) -> list[str]:
        """Returns the options for the scripts of a compliance test."""
        if test not in WITH_SCRIPTS:
            return []
        # The last of two options counts.
        words = [*self.arguments, f"--reference-data={self.test07}"] if test == "TEST07" else self.arguments
        return ["--reference", str(self.reference), *self.python_option, *(f"--script-option={word}" for word in words)]

    @property
    def python_option(self) -> list[str]:
        return ["--python", str(self.python)] if self.python else []

    @property
    def behind(self) -> list[str]:
        return ["--", *self.arguments] if self.arguments else []

    @cached_property
    def sha256(self) -> str:
        """Digest of all accuracy scripts of the checkout."""
        paths = [path for path in sorted(self.reference.rglob("*.py")) if "accuracy" in path.name or path.name == "evaluation.py"]
        return hashlib.sha256(b"".join(path.read_bytes() for path in paths if path.is_file())).hexdigest()


class Steps:
    def __init__(self, files: Files, program: Program, fabric_nodes: str | None, given: Script) -> None:
        self.files, self.program, self.folder = files, program, files.folder
        self.given, self.reference = given, given.reference
        self.seconds = planned(files, program)
        # The metric acc is computed from the labels; all others need the official script.
        target = re.search(r"^  quality +acc at least ([0-9.]+)", files.listing, re.MULTILINE)
        self.target = float(target[1]) if target else 0.0
        self.needs_script = bool(files.listing) and not target
        self.tests = list(dict.fromkeys(purpose for _, purpose in self.seconds if purpose.startswith("TEST")))
        self.check_reference()
        self.notes: list[str] = []
        self.all = [*self.fabric(fabric_nodes), *(step for result in files.results for step in self.of(result))]

    def check_reference(self) -> None:
        if self.needs_script and self.reference is None:
            raise Refused(f"an official script computes the accuracy of {self.files.benchmark}: pass --reference, a checkout of "
                          "mlcommons/inference for the round (docs/SUBMISSION.md)")
        if (self.given.python or self.given.arguments) and not self.needs_script:
            what = " ".join(self.given.arguments) or "--accuracy-python"
            raise Refused(f"{what}: only for an official accuracy script, which {self.files.benchmark} does not need: remove it")
        if self.needs_script:
            print("checking the accuracy script", flush=True)
            asked = self.program.ask("accuracy", "--check", "--benchmark", self.files.benchmark, "--reference", str(self.reference),
                                     *self.given.python_option, *self.given.behind)
            if asked.returncode:
                raise Refused(f"loadgen-node accuracy: {last_error(asked.stderr)}")
        if "TEST07" in self.tests and self.given.test07 is None:
            raise Refused("TEST07 has reference data of its own: pass --test07-reference-data acc_eval_compliance_gpqa.parquet")
        for result in self.files.results:
            wanted = f"{result.accuracy}/accuracy.txt"
            if self.needs_script and result.accuracy_txt not in (None, wanted):
                raise Refused(f"submission.toml: accuracy_txt of {result.scenario} is \"{result.accuracy_txt}\": write \"{wanted}\"")
            if self.tests and not result.compliance:
                raise Refused(f"submission.toml: the result of {result.scenario} lacks compliance, for {' and '.join(self.tests)}: "
                              f"write runs/{result.scenario}/compliance")

    def fabric(self, nodes: str | None) -> Iterator[Step]:
        """Yields the step that measures the fabric, if one is needed. N28 requires a measurement or a text."""
        named = self.files.submission.get("architecture", {}).get("measurement", "")
        folders.check(self.files, named if nodes and named.endswith(".json") else None)
        if not named.endswith(".json"):
            if nodes:
                raise Refused(f"submission.toml: measurement is \"{named}\", but --fabric-nodes measures: write \"fabric/fabric.json\"")
            self.notes.append("fabric: not measured, since the measurement in submission.toml is not a file")
            return
        if nodes is None:
            if not (self.folder / named).exists():
                raise Refused(f"submission.toml: measurement = \"{named}\": no such file. Start nodes with --engine none and pass "
                              "--fabric-nodes, or write a text that states the bandwidth")
            self.notes.append(f"fabric: not measured again, {named} exists")
            return
        folder = str(Path(named).parent)
        words = ["fabric", "--nodes", nodes, *self.network(), "--output", folder]
        if self.files.rehearsal:
            words += ["--rounds", "1", "--duration", "1s", "--warm-up", "200ms"]
        else:
            words.append("--thorough")
        yield Step("fabric", lambda: [self.program.path, *words], self.folder / named, lambda: {"options": words},
                   "Check that the nodes of --fabric-nodes run with --engine none.", FABRIC_SECONDS[self.files.rehearsal], self.folder / folder)

    def network(self) -> Iterator[str]:
        for key in NETWORK:
            value = self.files.run.get(key)
            if value is not None:
                text = ",".join(map(str, value)) if isinstance(value, list) else str(value).lower() if isinstance(value, bool) else value
                yield f"--{key.replace('_', '-')}={text}"

    def of(self, result: Result) -> Iterator[Step]:
        yield self.run(result, "accuracy", result.accuracy, lambda: ["--mode", "accuracy"])
        if self.needs_script:
            yield self.script(result)
        yield self.run(result, "performance", result.performance, list)
        if result.digests:
            yield self.run(result, "digests", result.digests, lambda: self.digests(result))
        for test in self.tests:
            yield self.test(result, test)

    def run(self, result: Result, purpose: str, folder: str, more: Callable[[], list[str]]) -> Step:
        options = ["--scenario", result.scenario]
        advice = "Check the model, the data set and the labels." if purpose == "accuracy" else \
            f"Check the rate in {self.files.run['user_conf']} and the nodes."
        return Step(
            f"{result.scenario} {purpose}",
            lambda: [self.program.path, "run", "--config", "run.toml", *options, *more(), "--output", folder],
            self.folder / folder / "result.json", lambda: self.settings(result.scenario, purpose, *options, *more()),
            advice, self.seconds.get((result.scenario, purpose), 0), self.folder / folder, result.scenario,
            self.folder / folder / "result.json")

    def missed(self, step: Step) -> str | None:
        """Returns a text if the accuracy is below the target, in which case further runs are useless."""
        accuracy = read_json(step.record).get("accuracy") if step.record else None
        if not accuracy or self.needs_script or not self.files.has_targets or accuracy["metric"]["value"] >= self.target:
            return None
        return f"the accuracy is {accuracy['reported']} %, the target is {self.target:g} %"

    def digests(self, result: Result) -> list[str]:
        """Returns the options of a run with digests: as short as the rules allow, and shorter in a rehearsal."""
        least_ms = min(DIGESTS_MS, int(self.files.user_conf[result.scenario].get("min_duration", DIGESTS_MS)))
        record = read_json(self.folder / result.accuracy / "result.json")
        samples = min(DIGESTS_SAMPLES[self.files.rehearsal], record.get("dataset_samples", DIGESTS_SAMPLES[0]))
        settings = [*self.files.run.get("setting", []), f"min_duration_ms={least_ms}", f"min_query_count={samples}"]
        return ["--digests", *(word for setting in settings for word in ("--setting", setting))]

    def script(self, result: Result) -> Step:
        words = ["accuracy", result.accuracy, "--reference", str(self.reference), *self.files.table]
        words += [*self.given.python_option, *self.given.behind]
        return Step(f"{result.scenario} accuracy.txt", lambda: [self.program.path, *words],
                    self.folder / result.accuracy / "accuracy.txt",
                    lambda: {"arguments": self.given.arguments, "script": self.given.sha256,
                             "accuracy run": digest(self.folder / result.accuracy / "result.json")},
                    "This is the official script; pass its arguments after -- at the end of the command.",
                    scenario=result.scenario, is_script=True)

    def test(self, result: Result, test: str) -> Step:
        words = ["audit", "--performance", result.performance, "--accuracy", result.accuracy, "--output", result.compliance,
                 "--tests", test, *self.files.table, *(self.given.of_test(test) if self.needs_script else [])]
        folder = self.folder / result.compliance / test
        runs = {purpose: self.folder / getattr(result, purpose) / "result.json" for purpose in ("performance", "accuracy")}
        return Step(f"{result.scenario} {test}", lambda: [self.program.path, *words], folder / "result.json",
                    lambda: {"program": self.program.sha256, **{f"{purpose} run": digest(path) for purpose, path in runs.items()},
                             **({"script": self.given.sha256} if self.needs_script and test in WITH_SCRIPTS else {})},
                    f"Its verdict is in {result.compliance}/{test}. If the speed of the machines varies, move {result.performance} "
                    "away too, so that the performance run is made again.",
                    self.seconds.get((result.scenario, test), 0), folder, result.scenario, folder / "result.json")

    def settings(self, scenario: str, purpose: str, *options: str) -> dict:
        """Returns the settings that a run's result depends on, as far as known. Accuracy does not depend on rate and duration."""
        config = {key: value for key, value in self.program.config(*options).items() if key not in ONLY_PRINTED}
        files = {f"contents of {key}": identity(self.folder, str(config[key])) for key in ("dataset", "labels", "evidence")
                 if key in config}
        conf = {key: value for key, value in self.files.user_conf[scenario].items() if purpose != "accuracy" or key not in PACE}
        return json.loads(json.dumps(config | files | {"user.conf": conf, "program": self.program.sha256}))


def identity(folder: Path, paths: str) -> list:
    """Identifies data without reading all of it: by its manifest, or by size and time."""
    found = []
    for path in (folder / part for part in paths.split("+")):
        manifest = path.with_name(path.name + ".manifest.json")
        if manifest.is_file():
            found.append(digest(manifest))
        elif path.exists():
            found.append([path.stat().st_size, path.stat().st_mtime_ns])
    return found
