"""Measures a network's samples per second in a bare Python loop.

    python loop.py resnet50.toml --batch 1 8 32 --device cuda:0 --kinds waits overlaps
    python loop.py resnet50.toml --batch 32 --device cuda:0 --compiled

Random inputs of the manifest's shapes are made once, in pinned memory, and copied to the device for each batch, as in a node; free
dimensions have the length --length. libtorch has the settings of a node with fixed shapes. A loop that `waits` ends each batch before
it starts the next one. A loop that `overlaps`, on a GPU, copies a batch while it computes the batch before, which is an upper bound for
an engine. With --compiled the loop does not run the TorchScript file but the network of the manifest's name, with random weights,
compiled by torch.compile. Prints a line for each measurement: batch, kind and samples per second.
"""

import argparse
import os
import time
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch


def inputs(manifest: dict, batch: int, length: int, pinned: bool) -> list[torch.Tensor]:
    """Returns random tensors of the manifest's shapes, with the batch as the first dimension."""
    generator = torch.Generator().manual_seed(0)
    tensors = []
    for entry in manifest["inputs"]:
        shape = [batch, *(length if isinstance(n, str) else n for n in entry["shape"])]
        kind = getattr(torch, entry["data_type"])
        if kind.is_floating_point:
            tensor = torch.rand(shape, generator=generator).to(kind)
        else:
            most = 256 if kind == torch.uint8 else 2
            tensor = torch.randint(0, most, shape, generator=generator, dtype=kind)
        tensors.append(tensor.pin_memory() if pinned else tensor)
    return tensors


def as_tuple(outputs: torch.Tensor | tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    """Returns the outputs as a tuple, also if there is only one."""
    return outputs if isinstance(outputs, tuple) else (outputs,)


def set_as_a_node(precision: str) -> None:
    """Sets libtorch as sut-node does on a GPU for batches of known shapes (engine-torch/src/shim.rs)."""
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch._C._jit_override_can_fuse_on_cpu(False)
    torch._C._jit_override_can_fuse_on_gpu(os.environ.get("NETDIV_TORCH_FUSER") == "1")
    torch.backends.cuda.enable_cudnn_sdp(os.environ.get("NETDIV_TORCH_CUDNN_ATTENTION") == "1")


class Overlapping:
    """Loop with two slots: it copies one while the other computes."""

    def __init__(self, model: Callable, host: list[torch.Tensor], device: str) -> None:
        self.model, self.host, self.next = model, host, 0
        self.copying, self.computing = torch.cuda.Stream(device), torch.cuda.Stream(device)
        self.inputs = [[tensor.to(device) for tensor in host] for _ in range(2)]
        results = as_tuple(model(*self.inputs[0]))
        self.outputs = [[torch.empty_like(result, device="cpu", pin_memory=True) for result in results] for _ in range(2)]
        self.done = [torch.cuda.Event() for _ in range(2)]
        torch.cuda.synchronize(device)

    def __call__(self) -> None:
        slot, self.next = self.next, 1 - self.next
        self.done[slot].synchronize()  # waits for the batch before the last one
        with torch.cuda.stream(self.copying):
            for to, tensor in zip(self.inputs[slot], self.host, strict=True):
                to.copy_(tensor, non_blocking=True)
        self.computing.wait_stream(self.copying)
        with torch.cuda.stream(self.computing):
            for to, result in zip(self.outputs[slot], as_tuple(self.model(*self.inputs[slot])), strict=True):
                to.copy_(result, non_blocking=True)
            self.done[slot].record()


def compiled(manifest: dict, device: str, small: bool) -> Callable:
    """Returns the network of a manifest, compiled and tuned by torch.compile."""
    import export
    from torchscript import PRECISIONS

    name, precision = manifest["name"], manifest["precision"]
    if name not in export.NETWORKS or precision not in PRECISIONS:
        raise SystemExit(f"--compiled: {name} at {precision} is not supported; use {', '.join(export.NETWORKS)} at {', '.join(PRECISIONS)}")
    network = export.NETWORKS[name]
    model = network.build(small)
    network.prepare(model)
    model.network.to(PRECISIONS[precision])
    return torch.compile(model.eval().requires_grad_(False).to(device), mode="max-autotune")


def rate(run: Callable[[], None], device: str, seconds: float) -> float:
    """Returns the number of runs per second."""

    def settle() -> None:
        if device.startswith("cuda"):
            torch.cuda.synchronize(device)

    for _ in range(6):
        run()
    settle()
    started, runs = time.perf_counter(), 0
    while time.perf_counter() - started < seconds:
        run()
        runs += 1
    settle()
    return runs / (time.perf_counter() - started)


def main() -> None:
    """Measures each batch size and kind of loop."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--batch", type=int, nargs="+", default=[32])
    parser.add_argument("--kinds", nargs="+", choices=["waits", "overlaps"], default=["waits"])
    parser.add_argument("--length", type=int, default=384, help="length of free dimensions (default: 384)")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--seconds", type=float, default=10, help="duration of each measurement (default: 10)")
    parser.add_argument("--compiled", action="store_true", help="measure the network compiled by torch.compile")
    parser.add_argument("--small", action="store_true", help="with --compiled: use the narrow variant of the network")
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    cuda = args.device.startswith("cuda")
    if "overlaps" in args.kinds and not cuda:
        parser.error("--kinds overlaps requires a GPU: on a CPU there are no copies")
    manifest = tomllib.loads(args.manifest.read_text())
    if cuda:
        set_as_a_node(manifest["precision"])
    if args.compiled and len(args.batch) > 1:
        parser.error("--compiled accepts only one --batch: further sizes would compile to slower code")
    if args.compiled:
        model = compiled(manifest, args.device, args.small)
    else:
        model = torch.jit.load(args.manifest.parent / manifest["model"], map_location=args.device).eval()

    def drained(host: list[torch.Tensor]) -> None:
        for output in as_tuple(model(*(tensor.to(args.device, non_blocking=True) for tensor in host))):
            output.cpu()

    with torch.inference_mode():
        for batch in args.batch:
            host = inputs(manifest, batch, args.length, cuda)
            for kind in args.kinds:
                run = Overlapping(model, host, args.device) if kind == "overlaps" else partial(drained, host)
                print(batch, kind, f"{batch * rate(run, args.device, args.seconds):.1f}", flush=True)


if __name__ == "__main__":
    main()
