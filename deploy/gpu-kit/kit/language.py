"""Language models: exported with random weights, prompts of token ids, and the same decoded by a bare loop in Python."""

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
# Llama's architecture, as narrow as it goes.
TINY = {
    "model_type": "llama", "vocab_size": 512, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "hidden_act": "silu", "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0, "max_position_embeddings": 2048, "tie_word_embeddings": False, "initializer_range": 0.2,
    "eos_token_id": 2,
}
STEP = 64  # lengths of caches are multiples of this


def exported(s: Settings, precision: str, slots: int, prompt: int, output: int) -> Path:
    """The manifest of a Llama of 1.2 billion parameters, or a tiny one; outputs have `output` ids, as nothing ends them."""
    source, name = KIT / "models" / "configurations" / "llama3.2-1b.json", "llama3.2-1b"
    if s.small:
        source, name = s.folder("configs") / "tiny.json", "tiny-llama"
        source.write_text(json.dumps(TINY))
    folder = s.folder(f"models/llama-{precision}-{prompt}-{output}")
    manifest = folder / f"{name}.toml"
    if not manifest.exists():
        words = own_python(str(EXPORTER), str(source), "--output", str(folder), "--name", name, "--precision", precision,
                           "--max-input-tokens", str(prompt), "--max-tokens", str(output), "--eos")
        called(words, (0,), 400, dict(os.environ))
    lines = manifest.read_text().splitlines()
    table = manifest.with_name(f"{name}-{slots}.toml")
    table.write_text("\n".join(f"slots = {slots}" if line.startswith("slots = ") else line for line in lines) + "\n")
    return table


def prompts(s: Settings, name: str, count: int, lengths: tuple[int, int]) -> tuple[Path, list[np.ndarray]]:
    """A data set of token ids, as docs/TOKENS.md describes its file."""
    rng = np.random.default_rng(9)
    rows = [rng.integers(8, 500, int(rng.integers(lengths[0], lengths[1] + 1))).astype("<i4") for _ in range(count)]
    begins = np.cumsum([0, *(len(row) for row in rows)]).astype("<u8")
    file = s.folder("data") / f"{name}.ids"
    file.write_bytes(b"NDIDS001" + struct.pack("<Q", count) + begins.tobytes() + b"".join(row.tobytes() for row in rows))
    return file, rows


class Decoder:
    """The TorchScript file in Python: prompts one by one, then a step for all rows at a time."""

    def __init__(self, s: Settings, manifest: Path, precision: str) -> None:
        reference = Reference(s, manifest, precision)
        self.torch, self.module, self.device = reference.torch, reference.module, s.device
        self.sizes = self.module.sizes()
        self.kind = {"fp32": self.torch.float32, "fp16": self.torch.float16, "bf16": self.torch.bfloat16}[precision]

    def tensor(self, values: list | np.ndarray):
        return self.torch.tensor(values, dtype=self.torch.int64, device=self.device)

    def caches(self, rows: int, length: int) -> tuple[list, list]:
        room = (rows, self.sizes["groups"], -(-length // STEP) * STEP, self.sizes["width"])
        keys, values = ([self.torch.zeros(room, dtype=self.kind, device=self.device) for _ in range(self.sizes["layers"])]
                        for _ in range(2))
        return keys, values

    def outputs(self, rows: list[np.ndarray], most: int) -> tuple[np.ndarray, float]:
        """`most` ids for each prompt, and the seconds that it took."""
        torch, module = self.torch, self.module
        with torch.inference_mode():
            keys, values = self.caches(len(rows), max(map(len, rows)) + most)
            early, ends = torch.zeros(len(rows), dtype=torch.bool, device=self.device), self.tensor([])
            began = time.perf_counter()
            states = [module.prefill(self.tensor(row), n, 1, 0, keys, values) for n, row in enumerate(rows)]
            ids = module.choose(torch.cat(states), early, ends)
            given, positions = [ids.cpu()], self.tensor([len(row) for row in rows])
            longest = max(map(len, rows))
            for step in range(most - 1):
                length = min(-(-(longest + step + 1) // STEP) * STEP, keys[0].size(2))
                ids = module.choose(module.decode(ids, positions, length, keys, values), early, ends)
                positions = positions + 1
                given.append(ids.cpu())
            seconds = time.perf_counter() - began
        return torch.stack(given, 1).numpy(), seconds

    def behind(self, prompt: np.ndarray, given: np.ndarray, wanted: int) -> float:
        """By how much the log-probability of id `wanted` after these is behind the best one's."""
        torch = self.torch
        with torch.inference_mode():
            ids = self.tensor(np.concatenate([prompt, given]))
            keys, values = self.caches(1, len(ids))
            state = self.module.prefill(ids, 0, 1, 0, keys, values)
            zeros = torch.zeros(1, device=self.device)
            best, which = self.module.candidates(state, zeros, zeros.bool(), self.tensor([]), 1, 16).cpu()[:, 0].numpy()
        place = np.flatnonzero(which.astype(np.int64) == wanted)
        return float(best[0] - best[place[0]]) if len(place) else float("inf")
