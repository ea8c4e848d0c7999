"""Writes Stable Diffusion XL as a TorchScript file with its manifests, for sut-node.

    python export_stable_diffusion.py --output models --weights sdxl-fp16 --precision fp16 --latents latents.pt
    python export_stable_diffusion.py --output models --small

The weights are a folder in the form of MLPerf's reference, with checkpoint_pipe and checkpoint_scheduler, or of Hugging Face. Without
--weights they are seeded random numbers. The file is loaded again and compared with its modules, on a part of the latents, before it
gets its final name.
"""

import argparse
import sys
import warnings
from pathlib import Path

import diffusers
import torch
import transformers
from torch import Tensor

import stable_diffusion
import torchscript
import tracing
from export import manifest, pinned
from stable_diffusion import NAME, StableDiffusion
from torchscript import PRECISIONS, ExportError

warnings.filterwarnings("ignore", "`torch.jit", DeprecationWarning)
warnings.filterwarnings("ignore", category=torch.jit.TracerWarning)  # about sizes that the trace regards as constant
transformers.logging.set_verbosity_error()
diffusers.logging.set_verbosity_error()
diffusers.logging.disable_progress_bar()

PART = 8  # side of the part of the latents for the comparison


def read_latents(path: Path | None, channels: int, side: int) -> Tensor:
    """Returns the latents that all images start from: read from a file, or drawn as the reference's tools/latent.py does."""
    shape = (1, channels, side, side)
    if path is None:
        return torch.randn(shape, generator=torch.Generator().manual_seed(0))
    try:
        latents = torch.load(path, map_location="cpu", weights_only=True)
    except OSError:
        raise
    except Exception as error:  # other files cause exceptions of many types
        raise ExportError(f"{path}: not a tensor that PyTorch saved") from error
    if not isinstance(latents, Tensor) or latents.shape != shape:
        raise ExportError(f"{path}: must be a tensor of shape {list(shape)}")
    return latents


def build(args: argparse.Namespace) -> tuple[StableDiffusion, str]:
    """Returns the model, and the source of its weights."""
    dtype = PRECISIONS[args.precision]
    if args.weights:
        pipe, weights = stable_diffusion.read(args.weights, dtype), args.weights.resolve().name
    else:
        torch.manual_seed(args.seed)
        pipe, weights = stable_diffusion.draw(args.small).to(dtype), f"random, seed {args.seed}"
    latents = read_latents(args.latents, pipe.unet.config.in_channels, pipe.unet.config.sample_size)
    return StableDiffusion(pipe, stable_diffusion.negative(pipe), latents).eval().requires_grad_(False), weights


def traced(model: StableDiffusion) -> torch.jit.ScriptModule:
    """Scripts the model, with traced modules: traced on the smallest latents, for all sides that are multiples of 4."""
    unet = model.denoiser.unet.config
    latents = torch.randn(2, unet.in_channels, 4, 4, dtype=model.latents.dtype)
    negative = torch.cat([model.negative, model.negative])
    (_, first), (projection, second) = model.encoder(negative), model.encoder_2(negative)
    states = torch.cat([first, second], dim=-1)
    examples = {
        "encoder": (negative,), "encoder_2": (negative,), "decoder": (latents[:1],),
        "denoiser": (latents, model.times[0], states, projection, model.sizes.repeat(2, 1)),
    }
    for name, inputs in examples.items():
        setattr(model, name, torch.jit.trace(getattr(model, name), inputs, check_trace=False))
    # If the times were constants, freezing would unroll the loop.
    script = torch.jit.freeze(torch.jit.script(model), preserved_attrs=["latents", "times"], optimize_numerics=False)
    tracing.tidy(script.graph)
    return script


@torch.no_grad()
def write(model: StableDiffusion, weights: str, folder: Path, precision: str) -> list[Path]:
    """Writes a model and its manifests, and checks the file. Changes `model`. Returns the written files."""
    ids = torch.randint(0, model.vocabulary, (2, stable_diffusion.TOKENS), dtype=torch.int32)
    samples, latents = (ids, ids.flip(0)), model.latents

    def images(one: StableDiffusion | torch.jit.ScriptModule) -> tuple[Tensor, ...]:
        one.latents = latents[:, :, :PART, :PART]
        return (one(*samples).to(torch.float32),)

    wanted = images(model)
    model.latents = latents
    scripted = traced(model)
    if found := pinned(scripted.graph):
        raise ExportError(f"{NAME} names a device: {found[0]}")
    path = folder / f"{NAME}.pt"
    torchscript.save(scripted, path, images, wanted, precision)
    written = [path]
    for name, fields in stable_diffusion.manifests(model).items():
        file = folder / f"{name}.toml"
        file.write_text(manifest(stable_diffusion, fields, precision, weights))
        written.append(file)
    return written


def main() -> None:
    """Reads the command line and exports."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True, help="folder to write to; created if missing")
    parser.add_argument("--weights", type=Path, help="folder of the pipeline; default: random weights")
    parser.add_argument("--latents", type=Path, help="the reference's latents.pt; default: drawn as the reference does")
    parser.add_argument("--precision", choices=PRECISIONS, default="fp32")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random weights (default: 1)")
    parser.add_argument("--small", action="store_true", help="export the tests' narrow variant")
    args = parser.parse_args()
    if args.small and args.weights:
        parser.error("--small has random weights: remove --weights")
    try:
        written = write(*build(args), args.output, args.precision)
    except (ExportError, OSError) as error:
        sys.exit(f"{NAME}: {error}")
    print(f"{written[0]} ({written[0].stat().st_size / 1e6:.1f} MB), " + ", ".join(file.name for file in written[1:]))


if __name__ == "__main__":
    main()
