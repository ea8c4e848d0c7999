"""Test that clippy's two settings files have the same bans, except one that does not apply to tests."""

import tomllib
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOT_IN_TESTS = "std::fs::read_to_string"


def settings(path):
    return tomllib.loads((ROOT / path).read_text())


class Bans(unittest.TestCase):
    def test_tests_keep_every_ban_but_one(self):
        product, tests = settings("clippy.toml"), settings("tests/clippy.toml")
        bans = product.pop("disallowed-methods")
        kept = [ban for ban in bans if ban["path"] != NOT_IN_TESTS]
        self.assertEqual(len(kept), len(bans) - 1)
        self.assertEqual(tests.pop("disallowed-methods"), kept)
        self.assertEqual(tests, product)
