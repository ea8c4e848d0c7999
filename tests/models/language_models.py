"""Make the small language models of tests/models, their prompts, and what transformers answers.

Prompts are kept whose answer does not hang on rounding: noise on the logits does not change it.
"""

import os
import struct
import tempfile
from pathlib import Path

import torch
from torch import Tensor

import export_language_model
from export_language_model import build, manifest, tokens

os.environ["HF_HUB_OFFLINE"] = "1"
from transformers import AutoConfig, AutoModelForCausalLM, LogitsProcessor, LogitsProcessorList, PreTrainedModel  # noqa: E402

SEED, PROMPTS, LONGEST, NEW, LEAST, NOISE = 7, 200, 64, 40, 4, 2e-4
LLAMA = {
    "model_type": "llama", "vocab_size": 128, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128, "rms_norm_eps": 1e-5,
    "initializer_range": 0.3, "bos_token_id": None, "pad_token_id": 0, "eos_token_id": [2, 3, 5, 7, 11, 13],
}
SCALING = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
           "original_max_position_embeddings": 96}
MODELS = {
    "tiny-llama": LLAMA,
    "tiny-llama3.1": LLAMA | {"rope_scaling": SCALING, "tie_word_embeddings": True},
    "tiny-mixtral": LLAMA | {"model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2,
                             "intermediate_size": 24},
    "tiny-gptj": {
        "model_type": "gptj", "vocab_size": 128, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 128,
        "rotary_dim": 4, "initializer_range": 0.3, "bos_token_id": None, "pad_token_id": 0, "eos_token_id": 2,
    },
}


class Noise(LogitsProcessor):
    """Adds to each number what rounding might."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        return scores + NOISE * torch.randn(scores.shape, generator=self.generator)


def answers(model: PreTrainedModel, prompts: Tensor, beams: int, seed: int | None) -> list[list[int]]:
    """What transformers answers to prompts of one length, with noise if there is a seed."""
    ends = torch.tensor(model.config.eos_token_id).flatten().tolist()
    noise = [] if seed is None else [Noise(seed)]
    rows = model.generate(
        prompts, attention_mask=torch.ones_like(prompts), max_new_tokens=NEW, min_new_tokens=LEAST - 1, do_sample=False,
        num_beams=beams, early_stopping=beams > 1, logits_processor=LogitsProcessorList(noise))
    outputs = []
    for row in rows[:, prompts.shape[1]:].tolist():
        end = next((place for place, id in enumerate(row) if id in ends), len(row) - 1)
        outputs.append(row[:end + 1])
    return outputs


def save_ids(path: Path, lists: list[list[int]]) -> None:
    """Lists of ids as docs/TOKENS.md describes."""
    starts = [0]
    for ids in lists:
        starts.append(starts[-1] + len(ids))
    flat = [id for ids in lists for id in ids]
    path.write_bytes(struct.pack(f"<8sQ{len(starts)}Q{len(flat)}i", b"NDIDS001", len(lists), *starts, *flat))


def make(name: str, config: dict, folder: Path) -> None:
    """One model, from the files that transformers saves."""
    beams = 4 if config["model_type"] == "gptj" else 1
    torch.manual_seed(SEED)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**config)).eval()
    for key, parameter in model.named_parameters():
        if parameter.dim() == 1:  # norms and biases, which would show no mistake as they are
            parameter.data.add_(0.1 * torch.randn_like(parameter))
    if beams > 1:  # so that outputs end before their limit
        model.lm_head.bias.data[config["eos_token_id"]] += 2
    with tempfile.TemporaryDirectory() as saved:
        model.save_pretrained(saved, max_shard_size="50KB")
        shape, own, _ = build(Path(saved), "fp32", SEED)
    table = tokens(shape, max_input_tokens=LONGEST, max_tokens=NEW, eos=shape.ends, slots=32, chunk=48, beams=beams)
    text = manifest(name, "fp32", f"random, seed {SEED}", table | {"min_tokens": LEAST})
    export_language_model.write(name, own, folder, "fp32", text)

    drawn = torch.Generator().manual_seed(SEED)
    prompts, outputs, number = [], [], 0
    while len(prompts) < PROMPTS:
        length = 1 + number * 37 % LONGEST
        number += 1
        some = torch.randint(4, config["vocab_size"], (8, length), generator=drawn)
        clear = answers(model, some, beams, None)
        noisy = [answers(model, some, beams, seed) for seed in range(3)]
        kept = [place for place in range(8) if all(clear[place] == other[place] for other in noisy)][:4]
        prompts += [some[place].tolist() for place in kept]
        outputs += [clear[place] for place in kept]
    save_ids(folder / f"{name}-prompts.ids", prompts[:PROMPTS])
    save_ids(folder / f"{name}-outputs.ids", outputs[:PROMPTS])
    lengths = sorted(len(output) for output in outputs[:PROMPTS])
    different = len({tuple(output) for output in outputs})
    print(f"{name}: {number * 8} prompts tried, outputs of {lengths[0]} to {lengths[-1]} ids, {lengths[100]} in the middle, "
          f"{different} different, {len({id for output in outputs for id in output})} ids")


@torch.no_grad()
def make_language_models(folder: Path) -> None:
    """All of them."""
    for name, config in MODELS.items():
        make(name, config, folder)
