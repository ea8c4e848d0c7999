"""Writes networks as TorchScript files, or as packages for one kind of machine, with their manifests, for sut-node.

    python export.py resnet50 --output models --weights resnet50-19c8e357.pth --precision fp16
    python export.py resnet50 --output packages --ahead cuda:0 --largest 64
    python export.py all --output models

Without --weights the weights are seeded random numbers. Each file is loaded again and compared with its network before it gets its
final name.
"""

import argparse
import codecs
import contextlib
import sys
import warnings
from pathlib import Path
from types import ModuleType

import numpy as np
import torch
from torch import Tensor, nn

import ahead
import bert
import digits
import dlrm
import resnet50
import retinanet
import rgat
import unet3d
from torchscript import PRECISIONS, ExportError, add_check_on, compare, save, set_up, some, value

# libtorch runs TorchScript without Python; PyTorch 2.11 writes it, but recommends its successors.
warnings.filterwarnings("ignore", "`torch.jit", DeprecationWarning)

NETWORKS: dict[str, ModuleType] = {m.NAME: m for m in (resnet50, retinanet, bert, unet3d, dlrm, rgat, digits)}
FUSED = [name for name, network in NETWORKS.items() if hasattr(network, "fuse")]
WITHIN = ("best_model_state_dict", "model_state_dict", "state_dict", "model")  # keys of checkpoints that contain the weights
ENCODINGS = ["none", "zstd", "lz4"]

# Types that training saves beside the weights. Only these, tensors and plain values are read from a file.
HARMLESS = [argparse.Namespace, np.dtype, np.dtypes.Float32DType, np.dtypes.Float64DType, np.dtypes.Int64DType,
            np._core.multiarray.scalar, (np._core.multiarray.scalar, "numpy.core.multiarray.scalar"), codecs.encode]


def read_weights(path: Path) -> dict[str, Tensor]:
    """Returns the tensors of a PyTorch weights file, by name."""
    try:
        with torch.serialization.safe_globals(HARMLESS):
            state = torch.load(path, map_location="cpu", weights_only=True, mmap=zipped(path))
    except OSError:
        raise
    except Exception as error:  # other files cause exceptions of many types
        raise ExportError(f"{path}: not a file of weights (a state dict), or with other objects") from error
    inner = [state[name] for name in WITHIN if isinstance(state, dict) and isinstance(state.get(name), dict)]
    state = inner[0] if inner else state
    if not isinstance(state, dict) or not any(isinstance(v, Tensor) for v in state.values()):
        raise ExportError(f"{path}: contains no named tensors")
    return {k.removeprefix("module."): v for k, v in state.items() if isinstance(v, Tensor)}


def zipped(path: Path) -> bool:
    """Returns true if the file has the format that can be mapped instead of read."""
    with open(path, "rb") as file:
        return file.read(2) == b"PK"


def load_weights(network: ModuleType, model: nn.Module, path: Path) -> None:
    """Loads the file's weights into the network; fails, with names, if they do not match."""
    own, state, strange = model.network.state_dict(), {}, []
    for key, value in read_weights(path).items():
        name = network.rename(key)
        if name in own:
            state[name] = value
        elif name is not None and not name.endswith(".num_batches_tracked"):
            strange.append(key)
    missing = [k for k in own if k not in state and not k.endswith(".num_batches_tracked")]
    wrong = [f"{k} is {list(state[k].shape)}, must be {list(own[k].shape)}"
             for k in state if state[k].shape != own[k].shape]
    faults = [f"{what} {some(names)}" for what, names in
              (("missing:", missing), ("unexpected:", strange), ("wrong shape:", wrong)) if names]
    if faults:
        raise ExportError(f"{path} does not contain the weights of {network.NAME}; " + "; ".join(faults))
    model.network.load_state_dict(state, strict=False)


def manifest(network: ModuleType, fields: dict, precision: str, weights: str) -> str:
    """Returns a manifest as TOML."""
    head = {
        "name": network.NAME, "model": f"{network.NAME}.pt", "workload": fields["workload"],
        "precision": precision, "weights": weights, "encodings": ENCODINGS,
    } | fields.get("head", {})
    lines = [f"{k} = {value(v)}" for k, v in head.items()]
    for kind in ("inputs", "outputs"):
        for name, data_type, shape in fields[kind]:
            lines += ["", f"[[{kind}]]", f"name = {value(name)}", f"data_type = {value(data_type)}",
                      f"shape = {value(shape)}"]
    if "parameters" in fields:
        lines += ["", "[parameters]", *(f"{k} = {value(v)}" for k, v in fields["parameters"].items())]
    return "\n".join(lines) + "\n"


def as_tuple(outputs: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Returns the outputs as a tuple, also if there is only one."""
    return (outputs,) if isinstance(outputs, Tensor) else tuple(outputs)


def pinned(graph: torch._C.Graph | torch._C.Block) -> list[str]:
    """Returns the constants of a graph that name a device."""
    found = []
    for node in graph.nodes():
        if node.kind() == "prim::Constant" and node.output().type().kind() == "DeviceObjType":
            found.append(str(node).strip())
        for block in node.blocks():
            found += pinned(block)
    return found


def prepare(network: ModuleType, model: nn.Module, samples: tuple[Tensor, ...], precision: str, fused: bool,
            device: str) -> tuple[Tensor, ...]:
    """Prepares a network on a device for inference at a precision; returns its outputs for samples there."""
    model.eval().requires_grad_(False)
    full = as_tuple(model.to(device)(*samples))
    network.prepare(model)
    if fused:
        network.fuse(model)
    model.network.to(PRECISIONS[precision])
    wanted = as_tuple(model(*samples))
    if precision == "fp32" and network is not retinanet:  # RetinaNet's candidates may change their order
        # A GPU may choose other algorithms for the prepared layout.
        compare(wanted, full, precision if device == "cpu" else "fp16", "preparing the network for inference")
    return wanted


def write_script(network: ModuleType, model: nn.Module, path: Path, precision: str, fused: bool, device: str) -> None:
    """Writes the TorchScript file of a network, and checks it on a device."""
    samples = tuple(sample.to(device) for sample in network.examples(model, 2))
    wanted = prepare(network, model, samples, precision, fused, device)
    scripted = torch.jit.script(model.cpu())
    if network is not rgat:  # freezing would make R-GAT's graph part of the file
        scripted = torch.jit.freeze(scripted)
    if found := pinned(scripted.inlined_graph):
        raise ExportError(f"{path.stem} names a device: {found[0]}")
    save(scripted, path, lambda file: as_tuple(file(*samples)), wanted, precision, device)


def described(tensors: list[tuple[str, str, list[int | str]]]) -> str:
    """Returns tensors of a manifest as the plug-in describes them; -1 is a length that varies, first the batch."""
    shapes = ([-1, *(n if isinstance(n, int) else -1 for n in shape)] for _, _, shape in tensors)
    return ", ".join(f"{name} {kind} {shape}" for (name, kind, _), shape in zip(tensors, shapes, strict=True))


def write_package(network: ModuleType, model: nn.Module, path: Path, precision: str, fused: bool, device: str, largest: int) -> None:
    """Compiles a network for a device and batches of at most `largest` rows, and checks the package for one and two rows."""
    fields = network.manifests(model)[network.NAME]
    shapes = [shape for _, _, shape in fields["inputs"]]

    def batch(rows: int) -> tuple[Tensor, ...]:
        examples = zip(network.examples(model, rows), shapes, strict=True)  # 3D-UNet's are smaller than its window
        return tuple((x if len(shape) < 4 else torch.randn(rows, *shape)).to(device) for x, shape in examples)

    prepare(network, model, batch(2), precision, fused, device)
    # The compiled code accepts sizes below `max` if it is asked to check them.
    free = {"": torch.export.Dim("batch", min=1, max=largest + 1)}
    facts = {"network": network.NAME, "precision": precision, "largest": str(largest)}
    names = {n for shape in shapes for n in shape if isinstance(n, str)}
    if len(names) > 1:
        raise ExportError(f"{path.stem} has several free lengths ({', '.join(sorted(names))}); export it without --ahead")
    for name in names:
        facts["longest"] = str(fields["parameters"][f"max_{name}"])
        free[name] = torch.export.Dim(name, min=1, max=int(facts["longest"]))
    dims = tuple({at: free[n] for at, n in enumerate(["", *shape]) if n in free} for shape in shapes)
    facts |= {kind: described(fields[kind]) for kind in ("inputs", "outputs")}

    def check(package: "ahead.Package") -> None:
        for rows in (1, 2):
            samples = batch(rows)
            got, wanted = (as_tuple(run(*samples)) for run in (package, model))
            if network is retinanet:  # candidates with nearly equal scores may change their order
                got, wanted = got[1:2], wanted[1:2]
            compare(got, wanted, precision, f"{path.name}, {rows} rows")

    some = batch(min(3, largest + 1))  # neither 1, which export would take for a constant, nor too many
    ahead.save(torch.export.export(model, some, dynamic_shapes=dims), path, device, facts, check)


@torch.no_grad()
def write(network: ModuleType, model: nn.Module, folder: Path, precision: str, weights: str, stem: str | None = None,
          fused: bool = False, device: str = "cpu", largest: int | None = None) -> list[Path]:
    """Writes a network and its manifests, and checks the file on a device. Changes `model`. Returns the written files.

    With `largest`, the file is a package for the device, and the manifests are those with its inputs.
    """
    stem = stem or network.NAME
    path = folder / f"{stem}.{'pt' if largest is None else 'pt2'}"
    around = getattr(network, "surroundings", contextlib.nullcontext)  # files that the network needs beside its inputs
    absolute = path.absolute()
    with around(model):
        if largest is None:
            write_script(network, model, absolute, precision, fused, device)
        else:
            write_package(network, model, absolute, precision, fused, device, largest)
    written, manifests = [path], network.manifests(model)
    for name, fields in manifests.items():
        if largest is not None and fields["inputs"] != manifests[network.NAME]["inputs"]:
            continue
        fields["head"] = {"model": path.name}
        file = folder / f"{name.replace(network.NAME, stem, 1)}.toml"
        file.write_text(manifest(network, fields, precision, weights))
        written.append(file)
    return written


def export(network: ModuleType, args: argparse.Namespace) -> list[Path]:
    """Exports a network according to the command line."""
    torch.manual_seed(args.seed)
    options = {"rows": args.rows} if network is dlrm else {}
    model = network.build(args.small, **options)
    weights = f"random, seed {args.seed}"
    if network is digits:
        weights = "deploy/digits/digits.onnx"
    if args.weights:
        load_weights(network, model, args.weights)
        weights = args.weights.name
    return write(network, model, args.output, args.precision, weights, fused=args.fused, device=args.ahead or args.check_on,
                 largest=args.largest or (1 << 16 if network is dlrm else 64) if args.ahead else None)


def main() -> None:
    """Reads the command line and exports."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", choices=[*NETWORKS, "all"])
    parser.add_argument("--output", type=Path, required=True, help="folder to write to; created if missing")
    parser.add_argument("--weights", type=Path, help="file of weights (a state dict); default: random weights")
    parser.add_argument("--precision", choices=PRECISIONS, default="fp32")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random weights (default: 1)")
    parser.add_argument("--small", action="store_true", help="export the tests' narrow variant")
    parser.add_argument("--fused", action="store_true",
                        help="fuse convolutions with their ReLU and sum, into one kernel on a GPU; for resnet50 and retinanet")
    parser.add_argument("--rows", type=int, default=40_000,
                        help="maximum rows of each of dlrm's tables; 0: all rows, 105 GB at fp32 (default: 40000)")
    ahead.add_ahead(parser)
    parser.add_argument("--largest", type=int, metavar="N",
                        help="with --ahead: maximum number of rows of a batch: samples or 3D-UNet's windows (default: 64), or DLRM's pairs "
                        "(default: 65536)")
    add_check_on(parser)
    args = parser.parse_args()
    for option in (["--ahead"] if args.ahead else []) + (["--check-on"] if args.check_on != "cpu" else []):
        if args.network in ("all", rgat.NAME):
            parser.error(f"{option} does not support {rgat.NAME}, which computes on the host too; choose another network")
    if args.largest is not None and not 1 <= args.largest <= 1 << 24:
        parser.error(f"--largest must be from 1 to {1 << 24}")
    if args.network == "all" and args.weights:
        parser.error("--weights requires one network, not all")
    if args.fused and args.network not in FUSED:
        parser.error(f"--fused supports only {', '.join(FUSED)}")
    for network in NETWORKS.values() if args.network == "all" else [NETWORKS[args.network]]:
        try:
            set_up(args.ahead or args.check_on)
            written = export(network, args)
        except (ExportError, OSError) as error:
            sys.exit(f"{network.NAME}: {error}")
        print(f"{written[0]} ({written[0].stat().st_size / 1e6:.1f} MB), "
              + ", ".join(file.name for file in written[1:]), flush=True)


if __name__ == "__main__":
    main()
