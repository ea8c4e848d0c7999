"""Tests that a node leaves no file of a package behind, however it ends."""

import os
import signal
import time
import unittest
from pathlib import Path

from made import FOLDER, Node, changed, network


def files_of_packages() -> set[str]:
    """Returns the files and folders that AOTInductor or a node could have left in the system's folders for temporary files."""
    found = set()
    for folder in (Path("/tmp"), Path("/dev/shm"), Path("/var/tmp")):
        for entry in folder.iterdir():
            if (entry / "data/aotinductor").exists() or entry.name.startswith("netdiv-package"):
                found.add(str(entry))
    return found | {str(path) for path in (FOLDER / "pt2").iterdir()}


class NoFileTest(unittest.TestCase):
    def setUp(self) -> None:
        self.package, _ = network("resnet50", "pt2")
        self.manifest = self.package.with_suffix(".toml")
        self.cut = changed(self.package, "resnet50-cut", library=20)
        self.cut_manifest = self.cut.with_suffix(".toml")
        self.cut_manifest.write_text(self.manifest.read_text().replace("resnet50.pt2", self.cut.name))
        self.before = files_of_packages()

    def tearDown(self) -> None:
        self.assertLessEqual(files_of_packages(), self.before)

    def test_a_node_that_runs_keeps_the_library_in_memory_alone(self) -> None:
        with Node(self.manifest, "--max-batch", "8") as node:
            node.address()
            self.assertLessEqual(files_of_packages(), self.before)
            self.assertIn("/memfd:netdiv-package (deleted)", Path(f"/proc/{node.process.pid}/maps").read_text())
            opened = {os.readlink(entry) for entry in Path(f"/proc/{node.process.pid}/fd").iterdir()}
            self.assertNotIn(str(self.package), opened)

    def test_a_failed_load_leaves_nothing(self) -> None:
        with Node(self.cut_manifest, "--max-batch", "8") as node:
            self.assertNotEqual(node.process.wait(60), 0)
            self.assertIn("cannot load the package", node.said())

    def test_sigkill_at_any_moment_leaves_nothing(self) -> None:
        for delay in (0.02, 0.05, 0.1, 0.2, 0.4, 0.8):
            with Node(self.manifest, "--max-batch", "8") as node:
                time.sleep(delay)
                node.end(signal.SIGKILL)
                self.assertLessEqual(files_of_packages(), self.before, f"after {delay} s")
        with Node(self.manifest, "--max-batch", "8") as node:
            node.address()
            node.end(signal.SIGKILL)


if __name__ == "__main__":
    unittest.main()
