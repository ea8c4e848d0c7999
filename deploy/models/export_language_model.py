"""Writes a language model as a TorchScript file with its manifest, for sut-node.

    python export_language_model.py Llama-3.1-8B-Instruct --output models --precision bf16
    python export_language_model.py configurations/llama3.2-1b.json --output models

The model is a folder with Hugging Face's config.json and *.safetensors, or only a config.json, for seeded random weights. The file
is loaded again and compared with its network before it gets its final name. --ahead adds a package, which computes the steps after the
prompt.
"""

import argparse
import sys
import warnings
from pathlib import Path

import torch
from torch import Tensor

import ahead
import hugging_face
import torchscript
from language_model import LanguageModel, Step
from torchscript import ExportError

warnings.filterwarnings("ignore", "`torch.jit", DeprecationWarning)


def build(path: Path, precision: str, seed: int) -> tuple[hugging_face.Shape, LanguageModel, str]:
    """Returns the model of a folder or a config.json, and the source of its weights."""
    shape = hugging_face.read_shape(path / "config.json" if path.is_dir() else path)
    model = LanguageModel(shape, torchscript.PRECISIONS[precision]).eval()
    if path.is_dir():
        hugging_face.read_weights(path, model.places())
        return shape, model, path.resolve().name
    torch.manual_seed(seed)
    hugging_face.draw_weights(model.places(), shape.spread)
    return shape, model, f"random, seed {seed}"


def tokens(shape: hugging_face.Shape, *, max_input_tokens: int, max_tokens: int, eos: list[int] | None, slots: int,
           chunk: int, beams: int) -> dict[str, object]:
    """Returns the manifest's table `tokens`."""
    if min(max_input_tokens, max_tokens, slots, chunk, beams) < 1:
        raise ExportError("--max-input-tokens, --max-tokens, --slots, --chunk and --beams must be at least 1")
    if max_input_tokens + max_tokens > shape.longest:
        raise ExportError(f"the model has {shape.longest} positions, fewer than the sum of --max-input-tokens {max_input_tokens} "
                          f"and --max-tokens {max_tokens}")
    ends = shape.ends if eos is None else eos
    if any(not 0 <= end < shape.vocabulary for end in ends):
        raise ExportError(f"ids that end an output, {ends}, must be from 0 to {shape.vocabulary - 1}; choose others with --eos")
    return {
        "vocabulary": shape.vocabulary, "max_input_tokens": max_input_tokens, "max_tokens": max_tokens, "eos": ends,
        "slots": slots, "chunk": chunk, "beams": beams,
    }


def manifest(name: str, precision: str, weights: str, table: dict[str, object]) -> str:
    """Returns a manifest as TOML."""
    head = {"name": name, "model": f"{name}.pt", "workload": "language-model", "precision": precision, "weights": weights}
    lines = [f"{k} = {torchscript.value(v)}" for k, v in head.items()]
    return "\n".join([*lines, "", "[tokens]", *(f"{k} = {torchscript.value(v)}" for k, v in table.items())]) + "\n"


def try_out(model: LanguageModel) -> tuple[Tensor, ...]:
    """Returns the entries' results for two prompts of noise, one of them in two chunks, and for a step of both."""
    sizes = model.sizes()
    embedding = dict(model.named_parameters())["embedding"]
    dtype, device = embedding.dtype, embedding.device
    room = (2, 8, 2 * sizes["groups"], sizes["width"])
    caches = [torch.zeros(room, dtype=dtype, device=device) for _ in range(sizes["layers"])]
    ids = torch.arange(8, device=device) * 7 % sizes["vocabulary"]
    first = model.prefill(ids[:2], torch.arange(2, device=device), [1], [0], [2], 1, caches)
    positions = torch.tensor([0, 1, 2, 3, 4, 2], device=device)
    second = model.prefill(ids[:6], positions, [0, 1], [0, 2], [5, 1], 1, caches)
    states = model.decode(ids[6:], torch.tensor([5, 3], device=device), 8, caches)
    early, scores = torch.tensor([False, True], device=device), torch.zeros(2, device=device)
    both = [model.candidates(states, scores, rows, ids[:1], 2, 4)[0] for rows in (None, early)]
    return first, second, states, *both


@torch.inference_mode()
def write(name: str, model: LanguageModel, folder: Path, precision: str, manifest: str, device: str = "cpu") -> list[Path]:
    """Writes a model and its manifest, and checks the file on a device. Returns the written files."""
    path = folder / f"{name}.pt"
    wanted = try_out(model.to(device))
    torchscript.save(torch.jit.script(model.cpu()), path, try_out, wanted, precision, device)
    file = folder / f"{name}.toml"
    file.write_text(manifest)
    return [path, file]


@torch.no_grad()
def write_package(model: LanguageModel, script: Path, precision: str, beams: int, device: str) -> Path:
    """Compiles the step of a model for a device, and checks the package, which uses the weights of the TorchScript file `script`."""
    model.to(device).requires_grad_(False)
    sizes, step = model.sizes(), Step(model, beams == 1)

    def arguments(rows: int, length: int, more: int) -> tuple[Tensor, ...]:
        room = (rows + more, length + more, 2 * sizes["groups"], sizes["width"])
        drawn = torch.Generator().manual_seed(length)
        caches = [torch.randn(room, generator=drawn).to(device, model.embedding.dtype) for _ in range(sizes["layers"])]
        ids, positions = torch.arange(rows, device=device) * 7 % sizes["vocabulary"], torch.arange(rows, device=device) % length
        return ids, positions, torch.empty(1, device=device).expand(length), *caches

    def check(package: "ahead.Package") -> None:
        tensors = dict(step.named_parameters(remove_duplicate=False)) | dict(step.named_buffers())
        used = package.get_constant_fqns()
        package.load_constants({name: tensors[name] for name in used}, check_full_update=True, user_managed=True)
        for sizes_of_step in ((1, 64, 0), (2, 128, 3), (5, 192, 0)):
            got, wanted = arguments(*sizes_of_step), arguments(*sizes_of_step)
            for given, want in zip((package(*got), got[3:]), (step(*wanted), wanted[3:]), strict=True):
                torchscript.compare(tuple(given), tuple(want), precision, f"the package of {script.name}, {sizes_of_step}")

    # A step may use all rows of the caches and all positions, or fewer; the compiled code need not assert that it is one of these.
    names = {"rows": 1, "length": 2, "cache_rows": 1, "room": 2}
    rows, length, cache_rows, room = (torch.export.Dim(name, min=least, max=1 << 20) for name, least in names.items())
    dims = ({0: rows}, {0: rows}, {0: length}, tuple({0: cache_rows, 1: room} for _ in range(sizes["layers"])))
    program = torch.export.export(step, arguments(4, 128, 3), dynamic_shapes=dims, prefer_deferred_runtime_asserts_over_guards=True)
    facts = {"network": script.stem, "precision": precision, "model": torch._C.PyTorchFileReader(str(script)).serialization_id()}
    path = script.with_suffix(".pt2")
    ahead.save(program, path, device, facts, check, with_weights=False)
    return path


def main() -> None:
    """Reads the command line and exports."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="folder with config.json and *.safetensors, or a config.json, for random weights")
    parser.add_argument("--output", type=Path, required=True, help="folder to write to; created if missing")
    parser.add_argument("--name", help="name of the files and in the manifest (default: name of the folder or config.json)")
    parser.add_argument("--precision", choices=torchscript.PRECISIONS, default="fp32")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random weights (default: 1)")
    parser.add_argument("--max-input-tokens", type=int, default=1024, help="maximum length of a prompt (default: 1024)")
    parser.add_argument("--max-tokens", type=int, default=1024, help="maximum length of an output (default: 1024)")
    parser.add_argument("--eos", type=int, nargs="*", help="ids that end an output (default: from config.json)")
    parser.add_argument("--slots", type=int, default=32, help="number of samples that are computed at the same time (default: 32)")
    parser.add_argument("--chunk", type=int, default=512, help="maximum number of prompt tokens that a step computes (default: 512)")
    parser.add_argument("--beams", type=int, default=1, help="width of the beam search; 1: greedy search (default: 1)")
    ahead.add_ahead(parser)
    torchscript.add_check_on(parser)
    args = parser.parse_args()
    name = args.name or (args.model.resolve().name if args.model.is_dir() else args.model.stem).lower()
    try:
        torchscript.set_up(args.ahead or args.check_on)
        shape, model, weights = build(args.model, args.precision, args.seed)
        table = tokens(shape, max_input_tokens=args.max_input_tokens, max_tokens=args.max_tokens, eos=args.eos,
                       slots=args.slots, chunk=args.chunk, beams=args.beams)
        text = manifest(name, args.precision, weights, table)
        path, *others = write(name, model, args.output, args.precision, text, args.ahead or args.check_on)
        if args.ahead:
            others.append(write_package(model, path, args.precision, args.beams, args.ahead))
    except (ExportError, OSError) as error:
        sys.exit(f"{parser.prog}: {error}")
    print(f"{path} ({path.stat().st_size / 1e6:.1f} MB), " + ", ".join(file.name for file in others))


if __name__ == "__main__":
    main()
