"""deploy/submit.sh with a program in place of loadgen-node that writes down how it is called."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

SUBMIT = Path(__file__).parents[2] / "deploy" / "submit.sh"
PURPOSES = ("performance", "accuracy", "digests", "TEST01")

PROGRAM = f'''#!{sys.executable}
import json, sys, time
from pathlib import Path

words = sys.argv[1:]
option = lambda name: words[words.index(name) + 1]
state = json.loads(Path("state.json").read_text())
if words[0] == "benchmarks":
    print(f"  quality          {{state.get('metric', 'acc')}} at least 50 [4.1.1]")
elif words[0] == "plan":
    runs = [{{"scenario": s, "purpose": p, "samples": 600, "seconds": 60.0}} for s in ("offline", "server") for p in {PURPOSES!r}]
    print(json.dumps({{"runs": runs}}))
elif "--print-config" in words:
    print(Path("run.toml").read_text() + f"given = {{json.dumps(words)}}")
else:
    with open("calls", "a") as calls:
        calls.write(" ".join(words) + "\\n")
    if words[0] == "probe":
        Path(option("--json")).write_text(json.dumps({{"nodes": [{{"failure": None}}]}}))
    elif words[0] == "accuracy":
        (Path(words[1]) / "accuracy.txt").touch()
    elif words[0] == "submission":
        Path(option("--output")).mkdir()
    elif words[0] in ("run", "audit"):
        folder = Path(option("--output")) / (option("--tests") if words[0] == "audit" else "")
        folder.mkdir(parents=True)
        if state.get("hangs") in words:
            Path("hanging").touch()
            time.sleep(60)
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
        """How the program behaves."""
        self.write("state.json", json.dumps(how))

    def command(self, *options: str) -> dict:
        return {"args": [str(SUBMIT), str(self.files), *options], "env": os.environ | {"BIN": str(self.root), "PYTHON": sys.executable},
                "text": True, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}

    def submit(self, *options: str, code: int = 0) -> str:
        (self.files / "calls").unlink(missing_ok=True)
        ran = subprocess.run(**self.command(*options), check=False)
        self.assertEqual(ran.returncode, code, ran.stdout)
        return ran.stdout

    def calls(self) -> list[str]:
        """Runs and tests that were made, each by its folder."""
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

    def test_a_run_that_is_not_valid_stops_all_and_is_made_again(self) -> None:
        self.state(invalid="offline/performance")
        self.assertIn("submit.sh: offline performance: not valid.\n  too slow\nLook at the rate", self.submit(code=1))
        self.assertEqual(self.calls(), ["offline/accuracy", "offline/performance"])
        self.state()
        self.submit()
        self.assertEqual(self.calls()[:2], ["offline/performance", "offline/digests"])
        self.assertEqual(len(list((self.files / "old").iterdir())), 1)
        self.assertFalse((self.files / "calls").read_text().startswith("submission"))

    def test_an_accuracy_below_the_target_stops_all(self) -> None:
        self.state(accuracy=49)
        self.assertIn("50 % is asked for", self.submit(code=1))
        self.assertEqual(self.calls(), ["offline/accuracy"])

    def test_other_settings_bring_back_what_depends_on_them(self) -> None:
        self.submit()
        self.write("user.conf", CONF.format(20))
        self.assertIn("to do again: user.conf changed", self.submit())
        self.assertEqual(self.calls(), ["server/performance", "server/digests", "server/compliance"])
        self.write("run.toml", RUN + "connections = 2\n")
        self.assertIn("to do again: connections changed", self.submit())
        self.assertEqual(len(self.calls()), 8)

    def test_other_nodes_bring_back_the_runs_of_the_scenario(self) -> None:
        self.submit()
        self.state(node="other")
        self.write("user.conf", CONF.format(20))
        self.assertIn("to do again: the nodes'", self.submit())
        self.assertEqual(sorted(self.calls()), ["server/accuracy", "server/compliance", "server/digests", "server/performance"])

    def test_the_official_script_follows_the_accuracy_run(self) -> None:
        self.state(metric="F1")
        self.assertIn("give --reference", self.submit(code=2))
        checkout = self.root / "inference"
        (checkout / "tools" / "submission").mkdir(parents=True)
        (checkout / "tools" / "submission" / "submission_checker.py").write_text("print('SUMMARY: submission looks OK')")
        said = self.submit("--reference", str(checkout), "--", "--vocab", "v.txt")
        self.assertIn("SUMMARY: submission looks OK", said)
        calls = (self.files / "calls").read_text().splitlines()
        script = f"accuracy runs/offline/accuracy --reference {checkout} -- --vocab v.txt"
        self.assertEqual([calls[1].split()[0], calls[2], calls[3].split()[0]], ["run", script, "run"])

    def test_a_signal_ends_the_run_and_the_command_goes_on(self) -> None:
        self.state(hangs="--digests")
        with subprocess.Popen(**self.command()) as process:
            while process.poll() is None and not (self.files / "hanging").exists():
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=20)[0]
        self.assertEqual(process.returncode, 3, said)
        self.assertIn("stopped by SIGINT. The same command goes on", said)
        self.state()
        self.submit()
        self.assertEqual(self.calls()[0], "offline/digests")

    def test_bad_input_is_said_at_once_and_nothing_is_run(self) -> None:
        self.write("run.toml", RUN.replace("data.npy", "TODO-data.npy") + 'mode = "accuracy"\n')
        self.write("user.conf", "resnet50.Offline.target_qps = 10\n")
        said = self.submit(code=2)
        for want in ("run.toml: dataset is still \"TODO-data.npy\"", "run.toml has mode: take it out",
                     "user.conf has no rate for server: write resnet50.Server.target_qps"):
            self.assertIn(want, said)
        self.assertEqual(self.calls(), [])


if __name__ == "__main__":
    unittest.main()
