"""Settings of every step: the device, the sizes, and the folders."""

import dataclasses
import sys
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
KIT = Path(__file__).resolve().parent.parent  # folder of the unpacked archive


@dataclasses.dataclass(frozen=True)
class Settings:
    """Options of the command line, with paths resolved."""

    device: str  # name in the node and in torch: cuda:0 or cpu
    small: bool  # tiny networks and short measurements
    libtorch: Path  # folder of Python's torch
    output: Path  # folder of the report
    work: Path  # folder of models, data sets and runs

    @property
    def cuda(self) -> bool:
        return self.device.startswith("cuda")

    def pick(self, full: T, small: T) -> T:
        """Returns `small` with --small, otherwise `full`."""
        return small if self.small else full

    def program(self, name: str) -> str:
        return str(KIT / "bin" / name)

    def folder(self, name: str) -> Path:
        """Returns a folder to work in; creates it if missing. Files of --small have separate folders."""
        path = self.work / self.pick("full", "small") / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def arguments(self) -> list[str]:
        """Returns the options of the command line that result in these settings."""
        words = ["--device", self.device, "--libtorch", str(self.libtorch), "--output", str(self.output),
                 "--work", str(self.work)]
        return words + ["--small"] * self.small


def own_python(*words: str) -> list[str]:
    """Returns a command line that runs this Python."""
    return [sys.executable, *words]
