"""How fast a TorchScript file runs in a bare loop of Python.

    python loop.py resnet50.toml --batch 32 --device cuda:0 [--overlap]

Random inputs of the manifest's shapes, made once, lie in pinned memory and are copied to the device for each batch, as a
node has to; free lengths are --length. libtorch is set as a node with fixed shapes sets it. Each batch ends before the next
one begins; with --overlap, on a GPU, one is copied while the one before it computes, which is what an engine can reach at
most. Prints samples per second.
"""

import argparse
import os
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import torch


def inputs(manifest: dict, batch: int, length: int, pinned: bool) -> list[torch.Tensor]:
    """Random tensors of the manifest's shapes, with the batch in front."""
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
    """One output or several."""
    return outputs if isinstance(outputs, tuple) else (outputs,)


def set_as_a_node(precision: str) -> None:
    """The settings of libtorch that sut-node makes on a GPU, where batches have known shapes (engine-torch/src/model.rs)."""
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch._C._jit_set_texpr_fuser_enabled(os.environ.get("NETDIV_TORCH_FUSER") == "1")


class Overlapping:
    """Two slots, of which one is copied while the other computes."""

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
        self.done[slot].synchronize()  # of the batch before the last one
        with torch.cuda.stream(self.copying):
            for to, tensor in zip(self.inputs[slot], self.host, strict=True):
                to.copy_(tensor, non_blocking=True)
        self.computing.wait_stream(self.copying)
        with torch.cuda.stream(self.computing):
            for to, result in zip(self.outputs[slot], as_tuple(self.model(*self.inputs[slot])), strict=True):
                to.copy_(result, non_blocking=True)
            self.done[slot].record()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--length", type=int, default=384, help="of free dimensions")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--overlap", action="store_true", help="copy one batch while another computes")
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    cuda = args.device.startswith("cuda")
    if args.overlap and not cuda:
        parser.error("--overlap is for GPUs: on a CPU nothing is copied")
    manifest = tomllib.loads(args.manifest.read_text())
    if cuda:
        set_as_a_node(manifest["precision"])
    model = torch.jit.load(args.manifest.parent / manifest["model"], map_location=args.device).eval()
    host = inputs(manifest, args.batch, args.length, cuda)

    def drained() -> None:
        for output in as_tuple(model(*(tensor.to(args.device, non_blocking=True) for tensor in host))):
            output.cpu()

    with torch.inference_mode():
        run = Overlapping(model, host, args.device) if args.overlap else drained
        for _ in range(6):
            run()
        if cuda:
            torch.cuda.synchronize(args.device)
        started, batches = time.perf_counter(), 0
        while time.perf_counter() - started < args.seconds:
            run()
            batches += 1
        if cuda:
            torch.cuda.synchronize(args.device)
        elapsed = time.perf_counter() - started
    print(f"{batches * args.batch / elapsed:.1f}")


if __name__ == "__main__":
    main()
