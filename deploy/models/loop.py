"""How fast a TorchScript file runs in a bare loop of Python: what an engine can reach at most.

    python loop.py resnet50.toml --batch 32 --device cuda:0

Random inputs of the manifest's shapes, made once, lie in pinned memory and are copied to the device for each batch, as a
node has to; free lengths are --length. Prints samples per second.
"""

import argparse
import time
import tomllib
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--length", type=int, default=384, help="of free dimensions")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--seconds", type=float, default=10)
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    torch.backends.cudnn.benchmark = True
    cuda = args.device.startswith("cuda")
    manifest = tomllib.loads(args.manifest.read_text())
    model = torch.jit.load(args.manifest.parent / manifest["model"], map_location=args.device).eval()
    host = inputs(manifest, args.batch, args.length, cuda)

    def run() -> None:
        outputs = model(*(tensor.to(args.device, non_blocking=True) for tensor in host))
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        for output in outputs:
            output.cpu()

    with torch.inference_mode():
        for _ in range(3):
            run()
        started, batches = time.perf_counter(), 0
        while time.perf_counter() - started < args.seconds:
            run()
            batches += 1
        elapsed = time.perf_counter() - started
    print(f"{batches * args.batch / elapsed:.1f}")


if __name__ == "__main__":
    main()
