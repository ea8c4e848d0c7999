"""Test that the rules depend on few crates, and on no crates for the wire or the command line."""

import subprocess
import unittest
from pathlib import Path

HOME = Path(__file__).resolve().parents[2]
MAXIMUM = 61


class Crates(unittest.TestCase):
    def test_the_rules_need_few_crates(self):
        command = ["cargo", "tree", "--package", "netdiv-rules", "--edges", "normal", "--prefix", "none", "--no-dedupe", "--locked"]
        ran = subprocess.run(command, cwd=HOME, check=True, capture_output=True, text=True)
        names = {line.split()[0] for line in ran.stdout.splitlines()}
        self.assertIn("netdiv-rules", names)
        self.assertLessEqual(len(names), MAXIMUM, sorted(names))
        self.assertFalse(names & {"tonic", "hyper", "tokio", "clap", "comfy-table"})
