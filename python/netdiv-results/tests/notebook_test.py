"""The notebook examples/results.ipynb runs, cell by cell; with plots where matplotlib is installed."""

import contextlib
import json
import os
import unittest

from cases import DATA, REPOSITORY, RUNS, copy, load

EXAMPLES = REPOSITORY / "examples"


class NotebookTest(unittest.TestCase):
    def setUp(self):
        os.environ["MPLBACKEND"] = "Agg"
        notebook = load(EXAMPLES / "results.ipynb")
        self.cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        self.names = {}
        self.execute()

    def execute(self, *words):
        """Runs the cells that contain one of `words`; without words all cells."""
        with contextlib.chdir(EXAMPLES):
            for number, cell in enumerate(self.cells):
                source = "".join(cell["source"])
                if not words or any(word in source for word in words):
                    exec(compile(source, f"results.ipynb, code cell {number}", "exec"), self.names)

    def test_the_notebook_runs(self):
        self.assertEqual([cell["outputs"] for cell in self.cells], [[]] * len(self.cells), "clear its outputs")
        self.assertEqual(list(self.names["runs"].index), RUNS)
        latency = self.names["latency"]
        self.assertEqual((list(latency), latency.min().to_list()), (["a", "slow"], [0, 0]))
        self.assertEqual(self.names["matrix"].shape, (3, 3))

    def test_sweeps_of_all_kinds_have_curves_with_the_source_of_their_times(self):
        tokens = copy(self, "sweep-tokens")
        record = load(tokens / "sweep.json") | {"load": "concurrency", "latency_source": "netdiv", "bounds": {}, "best": []}
        (tokens / "sweep.json").write_text(json.dumps(record))
        empty = copy(self, "sweep")
        (empty / "sweep.json").write_text(json.dumps(load(empty / "sweep.json") | {"steps": [], "best": []}))
        loadgen, netdiv = "p99 (LoadGen), ms", "p99 from sending (netdiv), ms"
        for folder, columns, steps in [
            (DATA / "sweep", ["samples_per_second", f"latency: {loadgen}"], 8),
            (DATA / "sweep-tokens", ["tokens_per_second", f"first token: {loadgen}", f"further token: {loadgen}"], 3),
            (DATA / "sweep-concurrency", ["samples_per_second", f"latency: {netdiv}"], 4),
            (tokens, ["tokens_per_second", *(f"{measure}: {netdiv}" for measure in ("latency", "first token", "further token"))], 3),
            (empty, ["samples_per_second", f"latency: {loadgen}"], 0),
        ]:
            with self.subTest(folder=folder):
                self.names["SWEEP"] = folder
                self.execute("sweep.", "curves.")
                curves = self.names["curves"]
                self.assertEqual((list(curves), len(curves)), (["nodes", "load", "verdict", *columns], steps))


if __name__ == "__main__":
    unittest.main()
