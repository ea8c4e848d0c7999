"""What every step is told: the device, the sizes, and where things lie."""

import dataclasses
import sys
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
KIT = Path(__file__).resolve().parent.parent  # where the archive was unpacked


@dataclasses.dataclass(frozen=True)
class Settings:
    """The command line, resolved."""

    device: str  # as the node and torch name it: cuda:0 or cpu
    small: bool  # tiny networks and short measurements
    libtorch: Path  # the folder of Python's torch
    output: Path  # of the report
    work: Path  # of models, data sets and runs

    @property
    def cuda(self) -> bool:
        return self.device.startswith("cuda")

    def pick(self, full: T, small: T) -> T:
        """One value for a GPU, another for --small."""
        return small if self.small else full

    def program(self, name: str) -> str:
        return str(KIT / "bin" / name)

    def folder(self, name: str) -> Path:
        """A folder to work in, made if it is not there. What is tiny lies apart from what is of full size."""
        path = self.work / self.pick("full", "small") / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def arguments(self) -> list[str]:
        """The command line that leads to these settings again."""
        words = ["--device", self.device, "--libtorch", str(self.libtorch), "--output", str(self.output),
                 "--work", str(self.work)]
        return words + ["--small"] * self.small


def own_python(*words: str) -> list[str]:
    """A command line that runs this Python."""
    return [sys.executable, *words]
