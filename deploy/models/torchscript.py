"""TorchScript files and manifests: how they are written, and checked before they count as written."""

import argparse
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

PRECISIONS = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
# Largest difference, as a share of the largest output: kernels may add up in another order.
TOLERANCE = {"fp32": 1e-4, "fp16": 1e-2, "bf16": 5e-2}


class ExportError(Exception):
    """Something that the user can put right."""


def add_check_on(parser: argparse.ArgumentParser) -> None:
    """The option that names the device of the checks."""
    parser.add_argument("--check-on", default="cpu", metavar="DEVICE",
                        help="device that computes the checks, such as cuda:0; large networks at half precision take minutes "
                        "on some processors (default: cpu)")


def set_up(device: str) -> None:
    """Refuse a device that cannot compute, and let it round nothing that a CPU does not."""
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ExportError(f"--check-on {device}: {str(error).splitlines()[0]}") from error
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False


def some(names: list[str]) -> str:
    """The first few of a list, in words."""
    rest = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + rest


def value(x: object) -> str:
    """A value as TOML."""
    if isinstance(x, list):
        return "[" + ", ".join(value(v) for v in x) + "]"
    return '"' + x.replace("\\", "\\\\").replace('"', '\\"') + '"' if isinstance(x, str) else repr(x)


def compare(got: tuple[Tensor, ...], wanted: tuple[Tensor, ...], precision: str, what: str) -> None:
    """Refuse outputs that differ by more than rounding, or are not numbers."""
    for i, (a, b) in enumerate(zip(got, wanted, strict=True)):
        if a.dtype != b.dtype or a.shape != b.shape or not torch.isfinite(a).all():
            raise ExportError(f"{what}: output {i} is {a.dtype} {list(a.shape)}, or not finite")
        if not a.is_floating_point() and not torch.equal(a, b):
            raise ExportError(f"{what}: output {i} differs")
        off = float((a.double() - b.double()).abs().max() / b.double().abs().max().clamp(min=1e-6))
        if a.is_floating_point() and off > TOLERANCE[precision]:
            raise ExportError(f"{what}: output {i} differs by {off:.2g} of its size")


def without_sources(path: Path, target: Path) -> None:
    """Copy a TorchScript file but for its debugging records, which name the paths of the scripts that made it."""
    reader, writer = torch._C.PyTorchFileReader(str(path)), torch._C.PyTorchFileWriter(str(target))
    own = ("version", ".data/version", "byteorder", ".data/serialization_id")  # what the writer adds by itself
    for name in reader.get_all_records():
        if name.endswith("version"):
            writer.set_min_version(int(reader.get_record(name)))  # of the operators
        elif name not in own and not name.endswith(".debug_pkl"):
            record = reader.get_record(name)
            writer.write_record(name, record, len(record))
    writer.write_end_of_file()


def save(scripted: torch.jit.ScriptModule, path: Path, outputs: Callable[[torch.jit.ScriptModule], tuple[Tensor, ...]],
         wanted: tuple[Tensor, ...], precision: str, device: str = "cpu") -> None:
    """Write a file that gives these outputs on the device; one that gives others does not stay."""
    path.parent.mkdir(parents=True, exist_ok=True)
    raw, part = (path.with_name(path.name + ending) for ending in (".raw", ".part"))
    scripted.save(str(raw))
    without_sources(raw, part)
    raw.unlink()
    try:
        again = torch.jit.load(str(part), map_location=device).eval()
        for i in range(3):  # a scripted graph is optimised after its first runs
            compare(outputs(again), wanted, precision, f"{path.name}, run {i + 1}")
    except ExportError:
        part.unlink()
        raise
    part.replace(path)
