"""Language models: export with random weights, prompts of token ids, and a bare decoding loop in Python."""

import json
import os
import struct
import time
from pathlib import Path

import numpy as np

from kit.models import Reference
from kit.programs import called
from kit.settings import KIT, Settings, own_python

EXPORTER = KIT / "models" / "export_language_model.py"
# Llama's architecture at minimum size.
TINY = {
    "model_type": "llama", "vocab_size": 512, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "hidden_act": "silu", "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0, "max_position_embeddings": 2048, "tie_word_embeddings": False, "initializer_range": 0.2,
    "eos_token_id": 2,
}
STEP = 64  # cache lengths are multiples of this
CHUNK = 512  # maximum number of prompt tokens in a call, as in a node


def exported(s: Settings, precision: str, slots: int, prompt: int, output: int) -> Path:
    """Returns the manifest of a Llama of 1.2 billion parameters, or of a tiny one. Outputs have `output` ids: no id ends them."""
    source, name = KIT / "models" / "configurations" / "llama3.2-1b.json", "llama3.2-1b"
    if s.small:
        source, name = s.folder("configs") / "tiny.json", "tiny-llama"
        source.write_text(json.dumps(TINY))
    folder = s.folder(f"models/llama-{precision}-{prompt}-{output}")
    manifest = folder / f"{name}.toml"
    if not manifest.exists():
        words = own_python(str(EXPORTER), str(source), "--output", str(folder), "--name", name, "--precision", precision,
                           "--max-input-tokens", str(prompt), "--max-tokens", str(output), "--check-on", s.device, "--eos")
        called(words, (0,), 400, dict(os.environ))
    lines = manifest.read_text().splitlines()
    table = manifest.with_name(f"{name}-{slots}.toml")
    table.write_text("\n".join(f"slots = {slots}" if line.startswith("slots = ") else line for line in lines) + "\n")
    return table


def prompts(s: Settings, name: str, count: int, lengths: tuple[int, int]) -> tuple[Path, list[np.ndarray]]:
    """Returns a data set of `count` prompts of random lengths, and the prompts. docs/ENGINES.md describes the file."""
    rng = np.random.default_rng(9)
    rows = [rng.integers(8, 500, int(rng.integers(lengths[0], lengths[1] + 1))).astype("<i4") for _ in range(count)]
    return saved(s, name, rows), rows


def saved(s: Settings, name: str, rows: list[np.ndarray]) -> Path:
    """Writes prompts to a file; returns its path."""
    begins = np.cumsum([0, *(len(row) for row in rows)]).astype("<u8")
    file = s.folder("data") / f"{name}.ids"
    file.write_bytes(b"NDIDS001" + struct.pack("<Q", len(rows)) + begins.tobytes() + b"".join(row.tobytes() for row in rows))
    return file


class Decoder:
    """Decoder in Python over the TorchScript file: computes the prompts, then a step for all rows at a time."""

    def __init__(self, s: Settings, manifest: Path, precision: str) -> None:
        reference = Reference(s, manifest, precision)
        self.torch, self.module, self.device, self.precision = reference.torch, reference.module, s.device, precision
        self.sizes = self.module.sizes()
        self.kind = {"fp32": self.torch.float32, "fp16": self.torch.float16, "bf16": self.torch.bfloat16}[precision]

    def tensor(self, values: list | np.ndarray):
        return self.torch.tensor(values, dtype=self.torch.int64, device=self.device)

    def caches(self, rows: int, length: int) -> list:
        room = (rows, -(-length // STEP) * STEP, 2 * self.sizes["groups"], self.sizes["width"])
        return [self.torch.zeros(room, dtype=self.kind, device=self.device) for _ in range(self.sizes["layers"])]

    def prefilled(self, rows: list[np.ndarray], caches: list):
        """Returns the states after prompts; a call computes as many prompts as a node would."""
        torch, states, first = self.torch, [], 0
        while first < len(rows):
            last = first + 1
            while last < len(rows) and sum(map(len, rows[first:last + 1])) <= CHUNK:
                last += 1
            some = rows[first:last]
            counts = [len(row) for row in some]
            ids, positions = self.tensor(np.concatenate(some)), self.tensor(np.concatenate([np.arange(n) for n in counts]))
            states.append(self.module.prefill(ids, positions, list(range(first, last)), [0] * len(some), counts, 1, caches))
            first = last
        return torch.cat(states)

    def outputs(self, rows: list[np.ndarray], most: int) -> tuple[np.ndarray, float]:
        """Returns `most` ids for each prompt, and the elapsed seconds."""
        torch, module = self.torch, self.module
        with torch.inference_mode():
            caches = self.caches(len(rows), max(map(len, rows)) + most)
            ends = self.tensor([])
            began = time.perf_counter()
            ids = module.choose(self.prefilled(rows, caches), None, ends)
            given, positions = [ids.cpu()], self.tensor([len(row) for row in rows])
            longest = max(map(len, rows))
            for step in range(most - 1):
                length = min(-(-(longest + step + 1) // STEP) * STEP, caches[0].size(1))
                ids = module.choose(module.decode(ids, positions, length, caches), None, ends)
                positions = positions + 1
                given.append(ids.cpu())
            seconds = time.perf_counter() - began
        return torch.stack(given, 1).numpy(), seconds

    def behind(self, prompt: np.ndarray, given: np.ndarray, wanted: int) -> float:
        """Returns how far the log-probability of id `wanted` is behind the best one, after the prompt and the ids given."""
        torch = self.torch
        with torch.inference_mode():
            ids = np.concatenate([prompt, given])
            state = self.prefilled([ids], self.caches(1, len(ids)))
            zeros = torch.zeros(1, device=self.device)
            best, which = self.module.candidates(state, zeros, None, self.tensor([]), 1, 16).cpu()[:, 0].numpy()
        place = np.flatnonzero(which.astype(np.int64) == wanted)
        return float(best[0] - best[place[0]]) if len(place) else float("inf")
