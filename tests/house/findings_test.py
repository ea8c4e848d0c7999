"""Test that the doctor's judging code contains no texts for users, which are all in findings.toml."""

import re
import unittest
from pathlib import Path

JUDGE = Path(__file__).resolve().parents[2] / "proto/machine/src/doctor/judge"
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')


def texts(code):
    """Returns string literals of several words, outside comments."""
    lines = [line.split("//")[0] for line in code.splitlines()]
    return [text for line in lines for text in LITERAL.findall(line) if re.search(r"[a-z] |\} ", text)]


class Findings(unittest.TestCase):
    def test_the_judging_code_has_no_text(self):
        files = sorted(JUDGE.glob("*.rs"))
        self.assertGreater(len(files), 4)
        for file in files:
            self.assertEqual(texts(file.read_text()), [], file.name)

    def test_a_text_would_be_seen(self):
        self.assertEqual(texts('// "a b"\nlet x = "key"; let seen = format!("{x} is too small");'), ["{x} is too small"])
