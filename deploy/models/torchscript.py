"""Writes TorchScript files, and checks each one before it gets its final name; helpers for manifests."""

import argparse
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

PRECISIONS = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
# Maximum difference, as a share of the largest output: kernels may add in another order.
TOLERANCE = {"fp32": 1e-4, "fp16": 1e-2, "bf16": 5e-2}


class ExportError(Exception):
    """Error that the user can fix."""


def add_check_on(parser: argparse.ArgumentParser) -> None:
    """Adds the option for the device of the checks."""
    parser.add_argument("--check-on", default="cpu", metavar="DEVICE",
                        help="device that computes the checks, such as cuda:0; large networks at half precision take minutes "
                        "on some processors (default: cpu)")


def set_up(device: str) -> None:
    """Fails if the device cannot compute; turns off rounding to tf32, so that it computes as a CPU does."""
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ExportError(f"the device {device} cannot be used: {str(error).splitlines()[0]}") from error
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False


def some(names: list[str]) -> str:
    """Returns the first three names of a list, and the number of the rest."""
    rest = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + rest


def value(x: object) -> str:
    """Returns a value as TOML."""
    if isinstance(x, list):
        return "[" + ", ".join(value(v) for v in x) + "]"
    return '"' + x.replace("\\", "\\\\").replace('"', '\\"') + '"' if isinstance(x, str) else repr(x)


def compare(got: tuple[Tensor, ...], wanted: tuple[Tensor, ...], precision: str, what: str) -> None:
    """Fails if outputs differ by more than rounding, or are not finite."""
    for i, (a, b) in enumerate(zip(got, wanted, strict=True)):
        if a.dtype != b.dtype or a.shape != b.shape or not torch.isfinite(a).all():
            raise ExportError(f"{what}: output {i} is {a.dtype} {list(a.shape)}, or not finite")
        if not a.is_floating_point() and not torch.equal(a, b):
            raise ExportError(f"{what}: output {i} differs")
        off = float((a.double() - b.double()).abs().max() / b.double().abs().max().clamp(min=1e-6))
        if a.is_floating_point() and off > TOLERANCE[precision]:
            raise ExportError(f"{what}: output {i} differs by {off:.2g} of its size")


def without_sources(path: Path, target: Path) -> None:
    """Copies a TorchScript file without its debugging records, which contain paths of the scripts that made it."""
    reader, writer = torch._C.PyTorchFileReader(str(path)), torch._C.PyTorchFileWriter(str(target))
    own = ("version", ".data/version", "byteorder", ".data/serialization_id")  # records that the writer adds itself
    for name in reader.get_all_records():
        if name.endswith("version"):
            writer.set_min_version(int(reader.get_record(name)))  # version of the operators
        elif name not in own and not name.endswith(".debug_pkl"):
            record = reader.get_record(name)
            writer.write_record(name, record, len(record))
    writer.write_end_of_file()


def save(scripted: torch.jit.ScriptModule, path: Path, outputs: Callable[[torch.jit.ScriptModule], tuple[Tensor, ...]],
         wanted: tuple[Tensor, ...], precision: str, device: str = "cpu") -> None:
    """Writes a file, and compares its outputs on the device with `wanted`; removes the file if they differ."""
    path.parent.mkdir(parents=True, exist_ok=True)
    raw, part = (path.with_name(path.name + ending) for ending in (".raw", ".part"))
    scripted.save(str(raw))
    without_sources(raw, part)
    raw.unlink()
    try:
        again = torch.jit.load(str(part), map_location=device).eval()
        for i in range(3):  # a scripted graph is optimised in its first runs
            compare(outputs(again), wanted, precision, f"{path.name}, run {i + 1}")
    except ExportError:
        part.unlink()
        raise
    part.replace(path)
