"""Tests of the table of published submissions."""

import json
import stat
import tempfile
import unittest
from pathlib import Path

import published

# Fake of `loadgen-node check` that returns the same judgement for each folder.
PROGRAM = """#!/usr/bin/env python3
import json, sys
if "--json" in sys.argv:
    print(json.dumps({"judgements": [json.loads(REPORT)]}))
else:
    print("a\\nb")
sys.exit(1)
"""


def finding(rule, outcome, *places, text="wrong\nand more"):
    return {"rule": rule, "outcome": outcome, "places": list(places), "text": text}


class Table(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name) / "v6.0"
        for name in "abcd":
            (self.root / "closed" / name).mkdir(parents=True)
        (self.root / "closed/a/big.bin").write_bytes(published.POINTER + b"v1\n")
        report = {
            "subject": "closed/a",
            "round": {"name": "v6.0", "by": "seeds"},
            "findings": [
                finding("N3", "fail", "closed/a/x"),
                finding("N35", "fail", "closed/a/big.bin"),
                finding("N35", "fail", "closed/a/gone.bin"),
                finding("N29", "cannot-tell"),
                finding("N1", "pass"),
            ],
        }
        self.program = Path(folder.name) / "check"
        self.program.write_text(PROGRAM.replace("REPORT", repr(json.dumps(report))))
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)

    def rows(self, tree, missing=()):
        folders = published.submitters(tree)
        judged = [published.check(str(self.program), folder) for folder in folders]
        return [published.Row(self.root, judgement, lines, set(missing)) for judgement, lines in judged]

    def test_every_submitter_has_a_row(self):
        text = published.table(self.rows(self.root, ["closed/a/gone.bin"]))
        self.assertEqual(text.count("| v6.0 closed/a | v6.0 (seeds) | 2 | 1 | N29 |"), 4)
        self.assertIn("N3 fires for 4 submitters, such as: wrong", text)
        self.assertEqual(text.count("N35: wrong (1 places)"), 8)

    def test_a_submitters_folder_is_a_tree_of_one(self):
        (row,) = self.rows(self.root / "closed/a")
        self.assertEqual([len(row.broken[rule]) for rule in ("N3", "N35")], [1, 1])
        self.assertEqual(len(row.lacking), 1)


if __name__ == "__main__":
    unittest.main()
