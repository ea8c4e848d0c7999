"""Tests of deploy/submit.sh with a fake loadgen-node that records its calls."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from types import SimpleNamespace

SUBMIT = Path(__file__).parents[2] / "deploy" / "submit.sh"
sys.path.insert(0, str(SUBMIT.parent))

from submit import folders  # noqa: E402
from submit.errors import Refused  # noqa: E402
from submit.files import Files  # noqa: E402

PURPOSES = ["performance", "accuracy", "digests"]

PROGRAM = f'''#!{sys.executable} -S
import json, os, sys, time
from pathlib import Path

words = sys.argv[1:]
option = lambda name: words[words.index(name) + 1]
state = json.loads(Path("state.json").read_text())
if words[0] == "benchmarks":
    if words[1] != "resnet50":
        sys.exit(f"there is no benchmark {{words[1]}}")
    print(f"  quality          {{state.get('metric', 'acc')}} at least 50 [4.1.1]")
elif "--check" in words:
    if "--vocab" not in words:
        sys.exit("the script needs --vocab")
elif words[0] == "plan":
    runs = [{{"scenario": s, "purpose": p, "samples": 600, "seconds": 60.0}} for s in ("offline", "server") for p in [*{PURPOSES}, state.get("test", "TEST01")]]
    print(json.dumps({{"runs": runs}}))
elif "--print-config" in words:
    print(Path("run.toml").read_text().replace("data.npy", f"{{Path.cwd()}}/data.npy") + f"given = {{json.dumps(words)}}")
else:
    with open("calls", "a") as calls:
        calls.write(" ".join(words) + "\\n")
    if words[0] == "probe":
        found = [{{"id": word, "severity": "problem"}} for word in state.get("probe", [])]
        Path(option("--json")).write_text(json.dumps({{"findings": found}}))
        sys.exit(1 if found else 0)
    elif words[0] == "accuracy":
        (Path(words[1]) / "accuracy.txt").write_text("made")
    elif words[0] == "submission":
        Path(option("--output")).mkdir()
        (Path(option("--output")) / "made").write_text(state.get("tree", ""))
    elif words[0] in ("run", "audit"):
        folder = Path(option("--output")) / (option("--tests") if words[0] == "audit" else "")
        folder.mkdir(parents=True)
        if state.get("hangs") in words:
            Path("hanging.part").write_text(str(os.getpid()))
            Path("hanging.part").rename("hanging")
            time.sleep(60)
        if state.get("edits") in words:
            Path("user.conf").open("a").write("# edited\\n")
        accuracy = {{"metric": {{"value": state.get("accuracy", 70)}}, "reported": "x"}} if "accuracy" in words else None
        invalid = state.get("invalid") and state["invalid"] in str(folder)
        record = {{"verdict": "INVALID" if invalid else "VALID", "reasons": ["too slow"] if invalid else [], "accuracy": accuracy,
                  "dataset_samples": 70, "nodes": [{{"name": "a", "config_sha256": state.get("node")}}], "made": time.time()}}
        (folder / "result.json").write_text(json.dumps(record))
        sys.exit(1 if invalid else 0)
'''

RUN = '''benchmark = "resnet50"
division = "network"
dataset = "data.npy"
labels = "data.npy"
user_conf = "user.conf"
'''
RESULT = '''[[result]]
benchmark = "resnet50"
scenario = "{0}"
performance = "runs/{0}/performance"
accuracy = "runs/{0}/accuracy"
compliance = "runs/{0}/compliance"
digests = "runs/{0}/digests"
'''
CONF = "resnet50.Offline.target_qps = 10\nresnet50.Server.target_qps = {}\n"


class Campaigns(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.files = self.root / "files"
        self.files.mkdir()
        program = self.root / "loadgen-node"
        program.write_text(PROGRAM)
        program.chmod(0o755)
        self.write("run.toml", RUN)
        self.write("submission.toml", 'division = "network"\n' + RESULT.format("offline") + RESULT.format("server"))
        self.write("user.conf", CONF.format(10))
        self.write("data.npy", "")
        self.state()

    def write(self, name: str, text: str) -> None:
        (self.files / name).write_text(text)

    def state(self, **how: object) -> None:
        """Sets the behaviour of the fake program."""
        self.write("state.json", json.dumps(how))

    def command(self, *options: str) -> dict:
        return {"args": [str(SUBMIT), str(self.files), *options], "env": os.environ | {"BIN": str(self.root), "PYTHON": sys.executable},
                "cwd": self.root, "text": True, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}

    def submit(self, *options: str, code: int = 0) -> str:
        (self.files / "calls").unlink(missing_ok=True)
        ran = subprocess.run(**self.command(*options), check=False)
        self.assertEqual(ran.returncode, code, ran.stdout)
        return ran.stdout

    def calls(self) -> list[str]:
        """Returns the folders of the runs and tests that were made."""
        lines = (self.files / "calls").read_text().splitlines() if (self.files / "calls").exists() else []
        made = [line.split() for line in lines if line.startswith(("run ", "audit "))]
        return ["/".join(words[words.index("--output") + 1].split("/")[1:3]) for words in made]

    def test_every_step_is_made_once(self) -> None:
        self.assertIn("8 of 8 steps to do, 8 min", self.submit("--dry-run"))
        self.assertEqual(self.calls(), [])
        self.submit()
        steps = [f"{scenario}/{step}" for scenario in ("offline", "server") for step in ("accuracy", "performance", "digests", "compliance")]
        self.assertEqual(self.calls(), steps)
        self.assertIn("0 of 8 steps to do", self.submit())
        self.assertEqual(self.calls(), [])
        self.assertEqual([line.split()[0] for line in (self.files / "calls").read_text().splitlines()], ["submission", "check"])
        self.assertFalse((self.files / "old").exists(), "the same tree is kept")
        self.state(tree="other")
        self.submit()
        self.assertEqual([(self.files / place / "made").read_text() for place in ("old/tree-1", "tree")], ["", "other"])

    def test_the_closed_division_needs_no_digests(self) -> None:
        self.write("run.toml", RUN.replace('division = "network"', 'division = "closed"'))
        submission = (self.files / "submission.toml").read_text().replace('division = "network"', 'division = "closed"')
        self.write("submission.toml", "".join(line for line in submission.splitlines(True) if not line.startswith("digests")))
        self.assertIn("6 of 6 steps to do", self.submit("--dry-run"))
        self.submit()
        steps = [f"{scenario}/{step}" for scenario in ("offline", "server") for step in ("accuracy", "performance", "compliance")]
        self.assertEqual(self.calls(), steps)
        self.write("submission.toml", submission.replace("accuracy =", "#accuracy ="))
        self.assertIn("lacks accuracy", self.submit(code=2))

    def test_a_run_that_is_not_valid_stops_all_and_is_made_again(self) -> None:
        self.state(invalid="offline/performance")
        self.assertIn("submit.sh: offline performance: invalid.\n  too slow\nCheck the rate", self.submit(code=1))
        self.assertEqual(self.calls(), ["offline/accuracy", "offline/performance"])
        self.state()
        self.submit()
        self.assertEqual(self.calls()[:2], ["offline/performance", "offline/digests"])
        self.assertEqual(len(list((self.files / "old").iterdir())), 1)
        self.assertFalse((self.files / "calls").read_text().startswith("submission"))

    def test_answers_that_differ_are_said_and_a_missing_one_stops_all(self) -> None:
        self.state(probe=["answer-missing", "answer-differs"])
        self.assertIn("a node failed the probe", self.submit(code=1))
        self.assertEqual(self.calls(), [])
        self.state(probe=["answer-differs"])
        self.assertIn("The nodes' responses differ", self.submit())
        self.assertEqual(len(self.calls()), 8)

    def test_an_accuracy_below_the_target_stops_all(self) -> None:
        self.state(accuracy=49)
        self.assertIn("the target is 50 %", self.submit(code=1))
        self.assertEqual(self.calls(), ["offline/accuracy"])

    def test_other_settings_bring_back_what_depends_on_them(self) -> None:
        self.submit()
        self.write("user.conf", CONF.format(20))
        self.assertIn("to do again: user.conf changed", self.submit())
        self.assertEqual(self.calls(), ["server/performance", "server/digests", "server/compliance"])
        self.write("run.toml", RUN + "connections = 2\n")
        self.assertIn("to do again: connections changed", self.submit())
        self.assertEqual(len(self.calls()), 8)

    def test_a_folder_that_is_moved_keeps_its_runs(self) -> None:
        self.submit()
        self.files = self.files.rename(self.root / "moved")
        self.assertIn("0 of 8 steps to do", self.submit())

    def test_other_nodes_bring_back_the_runs_of_the_scenario(self) -> None:
        self.submit()
        self.state(node="other")
        self.write("user.conf", CONF.format(20))
        self.assertIn("to do again: the nodes'", self.submit())
        self.assertEqual(sorted(self.calls()), ["server/accuracy", "server/compliance", "server/digests", "server/performance"])

    def test_the_official_script_follows_the_accuracy_run(self) -> None:
        self.state(metric="F1")
        self.assertIn("pass --reference", self.submit(code=2))
        checkout = self.root / "inference"
        (checkout / "tools" / "submission").mkdir(parents=True)
        checker = checkout / "tools" / "submission" / "submission_checker.py"
        checker.write_text("import os\nprint('SUMMARY: submission looks OK', os.environ.get('PYTHONPATH'))")
        self.assertIn("submit.sh: loadgen-node accuracy: the script needs --vocab", self.submit("--reference", str(checkout), code=2))
        (self.root / "v.txt").touch()
        given = ("--reference", "inference", "--accuracy-python", "files", "--", "--vocab", "v.txt", "--map=v.txt", "--dtype=int64")
        said = self.submit(*given)
        self.assertIn("SUMMARY: submission looks OK None", said)
        calls = (self.files / "calls").read_text().splitlines()
        vocab = self.root / "v.txt"
        script = f"accuracy runs/offline/accuracy --reference {checkout} --python {self.files} -- --vocab {vocab} --map={vocab} --dtype=int64"
        self.assertEqual([calls[1].split()[0], calls[2], calls[3].split()[0]], ["run", script, "run"])
        (self.files / "runs/offline/accuracy/accuracy.txt").write_text("better")
        checker.write_text("import nothing")
        said = self.submit(*given, code=3)
        self.assertIn("to do again: accuracy.txt was edited", said)
        self.assertIn("it failed without a verdict (exit code 1)", said)
        self.assertEqual((self.files / "calls").read_text().splitlines()[1], script)
        (checkout / "tools" / "accuracy-squad.py").write_text("1")
        checker.write_text("print('SUMMARY: submission has errors')\nraise SystemExit(1)")
        said = self.submit(*given, code=1)
        self.assertIn("to do again: script changed", said)
        self.assertIn("it rejected the tree", said)
        self.state(metric="F1", test="TEST07")
        self.assertIn("pass --test07-reference-data acc_eval_compliance_gpqa.parquet", self.submit(*given, code=2))
        self.submit("--test07-reference-data", "v.txt", *given, code=1)
        audit = next(line for line in (self.files / "calls").read_text().splitlines() if line.startswith("audit"))
        self.assertTrue(audit.endswith(f"--script-option=--vocab --script-option={vocab} --script-option=--map={vocab} --script-option=--dtype=int64 "
                                       f"--script-option=--reference-data={vocab}"), audit)

    def test_a_signal_ends_the_run_and_the_command_goes_on(self) -> None:
        self.state(hangs="--digests")
        for number in (signal.SIGQUIT, signal.SIGINT):
            code, said = self.ended_by(number)
            self.assertEqual(code, 3, said)
            self.assertIn(f"stopped by {number.name}. Run the same command again to continue", said)
        self.state()
        self.submit()
        self.assertEqual(self.calls()[0], "offline/digests")

    def ended_by(self, number: signal.Signals) -> tuple[int, str]:
        """Sends a signal while a run hangs; returns the exit code and the output."""
        # A shell starts background tests with these signals ignored, which submit.sh would inherit.
        heeds = lambda: [signal.signal(one, signal.SIG_DFL) for one in (signal.SIGINT, signal.SIGQUIT)]  # noqa: E731
        with subprocess.Popen(**self.command(), preexec_fn=heeds) as process:
            while process.poll() is None and not (self.files / "hanging").exists():
                time.sleep(0.05)
            run = int((self.files / "hanging").read_text())
            process.send_signal(number)
            if number == signal.SIGKILL:  # the run still holds the pipe open
                process.wait(timeout=20)
                self.state()
                try:
                    said = self.submit(code=2)
                finally:
                    os.kill(run, signal.SIGKILL)
            else:
                said = process.communicate(timeout=20)[0]
        (self.files / "hanging").unlink()
        return process.returncode, said

    def test_no_campaign_begins_beside_a_run_that_outlived_its_own(self) -> None:
        self.state(hangs="accuracy")
        self.assertIn("submit.sh or one of its steps is already running there", self.ended_by(signal.SIGKILL)[1])
        self.submit("--scenario", "offline")

    def test_a_file_that_was_edited_meanwhile_stops_all(self) -> None:
        self.state(edits="accuracy")
        self.assertIn("user.conf changed while steps were running", self.submit(code=3))
        self.assertEqual(self.calls(), ["offline/accuracy"])
        for odd in ("[]", '{"offline accuracy": 3}'):
            self.write("campaign.json", odd)
            self.assertIn("8 of 8 steps to do", self.submit("--dry-run"))

    def checked(self, run: str = RUN, submission: str = "", conf: str = CONF.format(10), measured: str | None = None) -> str | dict:
        """Reads files without a program; returns their errors, or the settings that LoadGen reads from user.conf."""
        self.write("run.toml", run)
        self.write("submission.toml", 'division = "network"\n' + (submission or RESULT.format("offline") + RESULT.format("server")))
        self.write("user.conf", conf)
        listing = "  names  resnet in the official checker, resnet50 in LoadGen's configuration\n"
        try:
            files = Files(self.files, SimpleNamespace(ask=lambda *_: SimpleNamespace(returncode=0, stdout=listing)))
            folders.check(files, measured)
        except Refused as error:
            return "\n".join(error.problems)
        return files.user_conf

    def test_folders_that_are_moved_away_have_nothing_else_in_them(self) -> None:
        (self.files / "data").mkdir()
        (self.files / "other").mkdir()
        (self.files / "linked").symlink_to("data")
        for name in ("data/set.npy", "other/model.pt"):
            self.write(name, "")
        run = RUN.replace('dataset = "data.npy"', 'dataset = "data/set.npy+synthetic:1x1"')
        for measured, want in (("data/fabric.json", "data contains set.npy, which is not a measurement"), ("linked/fabric.json", "linked contains set.npy"),
                               ("../shared/fabric.json", "a separate folder"), ("fabric.json", "a separate folder"),
                               ("/tmp/x/fabric.json", "a separate folder"), ("fabric/other.json", "a separate folder"),
                               ("other/fabric.json", "other contains model.pt"), ("runs/offline/digests/fabric.json", "do not contain each other"),
                               ("runs/fabric.json", "do not contain each other"), ("tree/fabric.json", "do not contain each other")):
            self.assertIn(want, self.checked(run, measured=measured), measured)
        self.assertIsInstance(self.checked(run, measured="fabric/fabric.json"), dict)
        both = RESULT.format("offline") + RESULT.format("server")
        for old, new in (("runs/server/accuracy", "runs/offline/accuracy"), ("runs/offline/compliance", "runs/offline/digests/x"),
                         ("runs/server/digests", "runs"), ("runs/server/digests", "old/x"), ("runs/server/digests", "./runs/server//accuracy")):
            self.assertIn("do not contain each other", self.checked(submission=both.replace(f'"{old}"', f'"{new}"')), new)
        self.assertIn("contains data/set.npy", self.checked(run, both.replace("runs/server/digests", "data")))

    def test_loadgens_order_of_lines_is_kept(self) -> None:
        server = ("resnet50.Server.target_qps = 7", "*.*.min_duration = 9", "*.Server.min_duration = 8", "*.Server.target_qps = 1",
                  "other.Server.target_qps = 2")
        offline = ("resnet50.*.min_duration = 5", "*.Offline.target_qps = 1.5E3", "resnet50.Offline.max_duration = 1")
        found = self.checked(conf="\n".join((*server, *offline)))
        self.assertEqual(found, {"offline": {"min_duration": "5", "target_qps": "1.5E3", "max_duration": "1"},
                                 "server": {"target_qps": "7", "min_duration": "8"}})
        self.assertEqual(self.checked(conf=CONF.format("1e+3"))["server"], {"target_qps": "1e+3"})
        for bad in ("1.2.3", ".", "1e999", "nan", "0", "-1"):
            self.assertIn("no rate for server", self.checked(conf=CONF.format(bad)), bad)
        self.assertIn("min_duration of offline is 60s: write a whole number", self.checked(conf=CONF.format(1) + "*.Offline.min_duration = 60s\n"))

    def test_other_forms_are_refused(self) -> None:
        for run, want in ((RUN.replace('"data.npy"', "3"), "run.toml: labels = 3: write a string"),
                          (RUN + "setting = 'a'\n", "setting = 'a': write a list")):
            self.assertIn(want, self.checked(run))
        for text, want in ((RESULT.format("offline").replace("[[result]]", "[result]"), "write each result as [[result]]"),
                           ('architecture = "x"\n' + RESULT.format("offline"), "architecture = 'x': write a table"),
                           (RESULT.format("offline").replace('"runs/offline/digests"', "3"), "digests = 3: write a string")):
            self.assertIn(want, self.checked(submission=text))

    def test_bad_input_is_said_at_once_and_nothing_is_run(self) -> None:
        self.write("run.toml", RUN.replace("data.npy", "TODO-data.npy") + 'mode = "accuracy"\n')
        self.write("node.toml", 'model = "TODO-manifest.toml"\n')
        self.write("user.conf", "resnet50.Offline.target_qps = 10\n")
        said = self.submit(code=2)
        for want in ("run.toml: dataset is still \"TODO-data.npy\"", "node.toml: model is still \"TODO-manifest.toml\"",
                     "run.toml has mode: remove it",
                     "user.conf has no rate for server: write resnet50.Server.target_qps"):
            self.assertIn(want, said)
        said = self.submit("--dry-run", "--reference", "nowhere", code=2)
        for want in ("dataset is still", "--reference nowhere: it contains no tools/submission", "accuracy script, performance, digests"):
            self.assertIn(want, said)
        self.assertEqual(self.calls(), [])
        self.write("run.toml", RUN)
        self.write("node.toml", 'model = "manifest.toml"\n')
        self.write("user.conf", CONF.format(10))
        self.write("submission.toml", (self.files / "submission.toml").read_text() + '[architecture]\nmeasurement = "../shared/fabric.json"\n')
        self.assertIn("--fabric-nodes requires a separate folder", self.submit("--fabric-nodes", "a", code=2))
        self.write("run.toml", RUN.replace("resnet50", "resnet5O"))
        self.assertIn("run.toml: benchmark = \"resnet5O\": there is no benchmark resnet5O", self.submit(code=2))


if __name__ == "__main__":
    unittest.main()
