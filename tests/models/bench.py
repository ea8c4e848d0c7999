"""Compares the speed of the plug-in's language models with transformers, with static batches, and with a bare loop in C++.

    PYTHONPATH=deploy/models python tests/models/bench.py libnetdiv_engine_torch.so

All run in turn on one thread of one process with one libtorch, for several rounds. The ratios count; seconds are CPU time, which other
load hardly affects. The model is a small Llama with random weights. Prompts have 8 to 192 tokens, outputs 4 to 128, with a mean of 40; 96
samples, 8 at a time.
"""

import argparse
import ctypes
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import torch

import export_language_model
from plugin import Engine

os.environ["HF_HUB_OFFLINE"] = "1"
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel  # noqa: E402

CONFIG = {
    "model_type": "llama", "vocab_size": 4096, "hidden_size": 512, "num_hidden_layers": 8, "num_attention_heads": 8,
    "num_key_value_heads": 4, "intermediate_size": 1376, "max_position_embeddings": 1024, "initializer_range": 0.06,
    "hidden_act": "silu", "rms_norm_eps": 1e-6, "eos_token_id": None, "bos_token_id": None, "pad_token_id": 0,
}
SLOTS, SAMPLES, LONGEST, MOST = 8, 96, 192, 128
STEPS, STEP_PROMPT, STEP_LENGTH = 40, 200, 256  # for the comparison of steps, which all attend to the same length
Requests = list[tuple[list[int], int]]


def requests() -> Requests:
    """Returns prompts and lengths of outputs; few outputs are long."""
    drawn = torch.Generator().manual_seed(1)
    lengths = torch.randint(8, LONGEST + 1, (SAMPLES,), generator=drawn).tolist()
    outputs = (torch.empty(SAMPLES).exponential_(1 / 36, generator=drawn).long() + 4).clamp(max=MOST).tolist()
    prompts = [torch.randint(CONFIG["vocab_size"], (length,), generator=drawn).tolist() for length in lengths]
    return list(zip(prompts, outputs, strict=True))


def transformers_seconds(model: PreTrainedModel, asked: Requests) -> float:
    """Measures transformers with batches of prompts padded on the left; each batch runs until its longest output ends."""
    start = time.process_time()
    for at in range(0, len(asked), SLOTS):
        batch = asked[at:at + SLOTS]
        longest = max(len(prompt) for prompt, _ in batch)
        ids, mask = torch.zeros(len(batch), longest, dtype=torch.long), torch.zeros(len(batch), longest, dtype=torch.long)
        for row, (prompt, _) in enumerate(batch):
            ids[row, longest - len(prompt):], mask[row, longest - len(prompt):] = torch.tensor(prompt), 1
        new = max(output for _, output in batch)
        given = model.generate(ids, attention_mask=mask, max_new_tokens=new, do_sample=False)
        assert given.shape[1] == longest + new
    return time.process_time() - start


def engine_seconds(engine: Engine, asked: Requests) -> float:
    """Measures the engine with continuous batching: it gets the next sample as soon as a slot is free."""
    waiting, under, tokens = list(enumerate(asked)), 0, 0
    start = time.process_time()
    while waiting or under:
        while waiting and under < SLOTS:
            sample, (prompt, output) = waiting.pop(0)
            engine.submit(sample, prompt, output, output)
            under += 1
        for _, ids, is_last in engine.step():
            tokens += len(ids)
            under -= is_last
    assert tokens == sum(output for _, output in asked)
    return time.process_time() - start


def static_seconds(engine: Engine, asked: Requests) -> float:
    """Measures the engine with static batches: it gets the next batch when all samples of the last one have ended."""
    return sum(engine_seconds(engine, asked[at:at + SLOTS]) for at in range(0, len(asked), SLOTS))


def step_seconds(engine: Engine) -> float:
    """Returns the mean time of a step in which all slots have a sample."""
    for sample in range(SLOTS):
        engine.submit(sample, list(range(STEP_PROMPT)), STEPS + 10, STEPS + 10)
    while len(engine.step()) < SLOTS:
        pass
    start = time.process_time()
    for _ in range(STEPS):
        assert len(engine.step()) == SLOTS
    seconds = (time.process_time() - start) / STEPS
    for sample in range(SLOTS):
        engine.functions.cancel(engine.instance, sample)
    return seconds


def export(folder: Path, ends: list[int]) -> tuple[PreTrainedModel, Path, dict]:
    """Returns transformers' model, the path of its file (bench.pt, with bench.toml) and the manifest's table `tokens`."""
    torch.manual_seed(1)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**CONFIG)).eval()
    model.save_pretrained(folder)
    shape, own, weights = export_language_model.build(folder, "fp32", 1)
    tokens = export_language_model.tokens(shape, max_input_tokens=256, max_tokens=MOST, eos=ends, slots=SLOTS, chunk=256, beams=1)
    text = export_language_model.manifest("bench", "fp32", weights, tokens)
    path, _ = export_language_model.write("bench", own, folder, "fp32", text)
    return model, path, tokens


def bare_loop(folder: Path) -> ctypes._CFuncPtr:
    """Compiles the loop in C++."""
    torch_folder = Path(torch.__file__).parent
    library, source = folder / "bare_loop.so", Path(__file__).parent / "bare_loop.cc"
    include = torch_folder / "include"
    subprocess.run(["c++", "-std=c++17", "-O1", "-shared", "-fPIC", f"-I{include}", f"-I{include}/torch/csrc/api/include",
                    str(source), "-o", str(library), f"-L{torch_folder}/lib", "-ltorch_cpu", "-lc10"], check=True)
    function = ctypes.CDLL(str(library)).bare_loop
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_char_p] + 4 * [ctypes.c_int64]
    return function


def main() -> None:
    """Measures in turn, and prints the ratios of each round and their medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plugin", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name, torch.inference_mode():
        folder = Path(name)
        model, path, tokens = export(folder, [])
        positions = -(-(256 + MOST) // 64) * 64
        engine = Engine(args.plugin, path, tokens, "fp32", 1)
        loop, asked = bare_loop(folder), requests()
        count = sum(output for _, output in asked)
        transformers_seconds(model, asked[:SLOTS])  # the first run is slower
        rounds = []
        for number in range(args.rounds):
            theirs = transformers_seconds(model, asked)
            static, continuous = static_seconds(engine, asked), engine_seconds(engine, asked)
            bare, step = [], []
            for _ in range(3):
                bare.append(loop(str(path).encode(), SLOTS, STEP_LENGTH, positions, STEPS))
                step.append(step_seconds(engine))
            rounds.append({
                "transformers_tokens_per_second": count / theirs, "static_tokens_per_second": count / static,
                "continuous_tokens_per_second": count / continuous, "continuous_over_transformers": theirs / continuous,
                "continuous_over_static": static / continuous, "step_ms": 1e3 * min(step), "bare_step_ms": 1e3 * min(bare),
                "bare_over_step": min(bare) / min(step),
            })
            print(f"round {number + 1}: " + json.dumps({k: round(v, 3) for k, v in rounds[-1].items()}), flush=True)
    medians = {key: statistics.median(each[key] for each in rounds) for key in rounds[0]}
    print("median:  " + json.dumps({k: round(v, 3) for k, v in medians.items()}))


if __name__ == "__main__":
    main()
