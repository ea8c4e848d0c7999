"""Makes the small language models of tests/models, their prompts, and transformers' answers.

Prompts are kept if their answer does not depend on rounding: noise on the logits must not change it. At half precision, rounding is
coarse: there an answer is kept up to the first id that does not lead by a sufficient margin.
"""

import itertools
import os
import struct
import tempfile
from pathlib import Path

import torch
from torch import Tensor

import export_language_model
import torchscript
from configurations import MODELS
from export_language_model import build, manifest, tokens

os.environ["HF_HUB_OFFLINE"] = "1"
from transformers import AutoConfig, AutoModelForCausalLM, LogitsProcessor, LogitsProcessorList, PreTrainedModel  # noqa: E402

SEED, PROMPTS, LONGEST, NEW, LEAST, NOISE = 7, 200, 64, 40, 4, 2e-4
# Sufficient margin of an id. Logits of tiny-llama have a deviation of 1.7. Logits of transformers and of the exported model differ with a
# deviation of 0.007 at fp16 and 0.054 at bf16, since they round at different points.
AHEAD = {"fp16": 0.05, "bf16": 0.25}


class Noise(LogitsProcessor):
    """Adds noise as large as rounding to each number."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        return scores + NOISE * torch.randn(scores.shape, generator=self.generator)


def answers(model: PreTrainedModel, prompts: Tensor, beams: int, seed: int | None) -> list[list[int]]:
    """Returns transformers' answers to prompts of one length, with noise if there is a seed."""
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
    """Writes lists of ids in the form of docs/ENGINES.md."""
    starts = [0]
    for ids in lists:
        starts.append(starts[-1] + len(ids))
    flat = [id for ids in lists for id in ids]
    path.write_bytes(struct.pack(f"<8sQ{len(starts)}Q{len(flat)}i", b"NDIDS001", len(lists), *starts, *flat))


def greedy(model: PreTrainedModel, prompts: Tensor) -> tuple[Tensor, Tensor]:
    """Returns greedy answers to prompts of one length, [tokens, prompts], and the margin of each id."""
    given = model.generate(
        prompts, attention_mask=torch.ones_like(prompts), max_new_tokens=NEW, min_new_tokens=LEAST - 1, do_sample=False,
        return_dict_in_generate=True, output_scores=True)
    best = torch.stack(given.scores).float().topk(2)
    return best.indices[..., 0], best.values[..., 0] - best.values[..., 1]


def clear_starts(half: PreTrainedModel, full: PreTrainedModel, prompts: Tensor, ahead: float) -> list[list[int]]:
    """Returns the start of each greedy answer to prompts of one length, up to the first id with a smaller margin than `ahead`, at half
    or full precision."""
    (ids, lead), (full_ids, full_lead) = (greedy(model, prompts) for model in (half, full))
    steps = min(len(ids), len(full_ids))
    ids, full_ids = ids[:steps], full_ids[:steps]
    clear = ((ids == full_ids) & (lead[:steps] > ahead) & (full_lead[:steps] > ahead)).long().cumprod(0)
    ended = torch.isin(ids, torch.tensor(half.config.eos_token_id)).long()
    clear *= (ended.cumsum(0) - ended) == 0
    return [row[:count] for row, count in zip(ids.T.tolist(), clear.sum(0).tolist(), strict=True)]


def random_model(config: dict) -> PreTrainedModel:
    torch.manual_seed(SEED)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**config)).eval()
    for key, parameter in model.named_parameters():
        if parameter.dim() == 1:  # norms and biases, whose initial values would hide errors
            parameter.data.add_(0.1 * torch.randn_like(parameter))
    return model


def write(name: str, model: PreTrainedModel, precision: str, beams: int, folder: Path) -> None:
    """Writes the model's file and manifest, from the files that transformers saves."""
    with tempfile.TemporaryDirectory() as saved:
        model.save_pretrained(saved, max_shard_size="50KB")
        shape, own, _ = build(Path(saved), precision, SEED)
    table = tokens(shape, max_input_tokens=LONGEST, max_tokens=NEW, eos=shape.ends, slots=32, chunk=48, beams=beams)
    text = manifest(name, precision, f"random, seed {SEED}", table | {"min_tokens": LEAST})
    export_language_model.write(name, own, folder, precision, text)


@torch.inference_mode()
def farthest_logit(file: Path, model: PreTrainedModel, prompts: Tensor) -> float:
    """Returns the largest difference between logits of the file and of transformers, after prompts of one length in one call, and in
    steps with further ids."""
    own, steps, count = torch.jit.load(str(file)).eval(), 8, len(prompts)
    start = prompts.shape[1] - steps
    sizes = own.sizes()
    caches = [torch.zeros(count, 64, 2 * sizes["groups"], sizes["width"]) for _ in range(sizes["layers"])]
    flat, positions = prompts[:, :start].flatten(), torch.arange(start).repeat(count)
    rows = list(range(count))
    states = own.prefill(flat, positions, rows, [0] * count, [start] * count, 1, caches)
    given = [own.logits(states)]
    for at in range(start, prompts.shape[1]):
        states = own.decode(prompts[:, at].contiguous(), torch.full((count,), at), 64, caches)
        given.append(own.logits(states))
    wanted = model(prompts).logits[:, start - 1:]
    return float((torch.stack(given, 1) - wanted).abs().max())


def make(name: str, config: dict, folder: Path) -> list[list[int]]:
    """Makes a model at fp32, its prompts and their answers; returns the prompts."""
    beams = 4 if config["model_type"] == "gptj" else 1
    model = random_model(config)
    if beams > 1:  # so that outputs end before their limit
        model.lm_head.bias.data[config["eos_token_id"]] += 2
    write(name, model, "fp32", beams, folder)

    drawn = torch.Generator().manual_seed(SEED)
    off = farthest_logit(folder / f"{name}.pt", model, torch.randint(4, config["vocab_size"], (8, 48), generator=drawn))
    if off > 1e-4:
        raise RuntimeError(f"{name}: a logit differs by {off:.2g} from transformers")
    drawn.manual_seed(SEED)
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
    print(f"{name}: logits within {off:.1e}, {number * 8} prompts tried, outputs of {lengths[0]} to {lengths[-1]} ids, {lengths[100]} in the middle, "
          f"{different} different, {len({id for output in outputs for id in output})} ids")
    return prompts[:PROMPTS]


def make_half(name: str, config: dict, prompts: list[list[int]], folder: Path) -> None:
    """Makes a model at half precision, and the starts of its answers to the prompts of the model at fp32."""
    for precision, ahead in AHEAD.items():
        model = random_model(config)
        write(f"{name}-{precision}", model, precision, 1, folder)
        full, model = random_model(config), model.to(torchscript.PRECISIONS[precision])
        starts = []
        for _, alike in itertools.groupby(prompts, len):
            starts += clear_starts(model, full, torch.tensor(list(alike)), ahead)
        save_ids(folder / f"{name}-{precision}-outputs.ids", starts)
        print(f"{name}-{precision}: {sum(map(len, starts))} ids, at most {max(map(len, starts))} of an output")


@torch.no_grad()
def make_language_models(folder: Path) -> None:
    """Makes all language models."""
    for name, config in MODELS.items():
        prompts = make(name, config, folder)
        if name == "tiny-llama":
            make_half(name, config, prompts, folder)
