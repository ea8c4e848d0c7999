"""The notebook examples/results.ipynb runs, cell by cell; with plots where matplotlib is installed."""

import contextlib
import json
import os
import unittest

from cases import REPOSITORY

EXAMPLES = REPOSITORY / "examples"


class NotebookTest(unittest.TestCase):
    def test_the_notebook_runs(self):
        os.environ["MPLBACKEND"] = "Agg"
        notebook = json.loads((EXAMPLES / "results.ipynb").read_text(encoding="utf-8"))
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        self.assertEqual([cell["outputs"] for cell in cells], [[]] * len(cells), "clear its outputs")
        names = {}
        with contextlib.chdir(EXAMPLES):
            for number, cell in enumerate(cells):
                exec(compile("".join(cell["source"]), f"results.ipynb, code cell {number}", "exec"), names)
        self.assertEqual(list(names["runs"].index), ["server", "tokens"])
        self.assertEqual((len(names["curve"]), names["bound"]), (8, 25))
        self.assertEqual((list(names["latency"]), names["latency"].min().to_list()), (["a", "slow"], [0, 0]))
        self.assertEqual(names["matrix"].shape, (3, 3))


if __name__ == "__main__":
    unittest.main()
