"""The version of the workspace, where Cargo does not derive it."""

import re
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
PACKAGE = r'^version = "(.+)"'
IMAGE = r"netdiv-\w+:(\d+\.\d+\.\d+)"
PLACES = {
    "python/netdiv-engine/pyproject.toml": PACKAGE,
    "python/netdiv-results/pyproject.toml": PACKAGE,
    "tests/fuzz/libfuzzer/Cargo.toml": PACKAGE,
    "deploy/compose/.env": IMAGE,
    "deploy/container/build.sh": IMAGE,
    "docs/DEPLOYMENT.md": rf"{IMAGE}|netdiv_(\d+\.\d+\.\d+)_",
}


def text(name):
    return (REPOSITORY / name).read_text(encoding="utf-8")


class Version(unittest.TestCase):
    def setUp(self):
        self.version = re.search(PACKAGE, text("Cargo.toml"), re.MULTILINE)[1]

    def test_all_files_have_the_version_of_the_workspace(self):
        for name, pattern in PLACES.items():
            found = {found[found.lastindex] for found in re.finditer(pattern, text(name), re.MULTILINE)}
            self.assertEqual(found, {self.version}, name)

    def test_the_changelog_and_the_protocol_have_the_version(self):
        self.assertIn(f"\n## [{self.version}] – ", text("CHANGELOG.md"))
        self.assertIn(f"\n| {self.version.rpartition('.')[0]} | yes", text("SECURITY.md"))
        contract = re.search(r"PROTOCOL_VERSION: u32 = (\d+);", text("proto/contract/src/lib.rs"))[1]
        row = re.search(rf"^\| {re.escape(self.version)} \| (\d+) \|$", text("docs/PROTOCOL.md"), re.MULTILINE)
        self.assertEqual(row and row[1], contract, f"docs/PROTOCOL.md has to have: | {self.version} | {contract} |")


if __name__ == "__main__":
    unittest.main()
