"""Tests of the lints of names and comments, and of the list of end-to-end tests."""

import re
import unittest
from pathlib import Path

import openings
import type_names

REPOSITORY = Path(__file__).parents[2]
TESTS = REPOSITORY / "tests/tests"


class English(unittest.TestCase):
    def test_openings(self) -> None:
        rust = "/// What it is.\n/// More.\nstruct A;\n//! Reads.\n/// The same, later.\n//// Of no doc.\n".splitlines()
        found = [number for number, text in openings.rust_comments(rust) if openings.OPENINGS.match(text)]
        self.assertEqual(found, [1, 5])
        python = 'def f():\n    """How it is."""\n    x = """What"""\n'.splitlines()
        self.assertEqual([text for _, text in openings.docstrings(python)], ['How it is."""'])

    def test_type_names(self) -> None:
        text = "pub(crate) struct A;\nenum B {}\nimpl X for A {\n    type Item = u8;\n}\ntype C = u8;\n"
        self.assertEqual([name for _, name in type_names.declared(text)], ["A", "B", "C"])

    def test_every_file_of_end_to_end_tests_is_a_module(self) -> None:
        modules = set(re.findall(r"^mod (\w+);", (TESTS / "main.rs").read_text(encoding="utf-8"), re.MULTILINE))
        self.assertEqual(modules - {"stated"}, {path.stem for path in TESTS.glob("*.rs")} - {"main"})
        over_quic = re.search(r"^OVER_QUIC := (.*)$", (REPOSITORY / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        self.assertLessEqual({name.removesuffix("::") for name in over_quic[1].split()}, modules)


if __name__ == "__main__":
    unittest.main()
