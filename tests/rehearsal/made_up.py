"""Writes made-up data in the form and size of published data sets, and what their official scripts need: made_up.py MODEL FOLDER

A text answers every question, so that the official scripts find no mistake.
"""

import json
import sys
import wave
from pathlib import Path

import numpy as np
import pandas as pd

from lcb_runner import PROBLEMS
from speech import RATE, TRANSCRIPT

VOCABULARY = 201088
PROMPT_TOKENS = 8
ANSWER = "A. \\boxed{7}\n```python\npass\n```"
# Sources of the rows of each file, and their correct answers, of LiveCodeBench the number of the problem.
ROWS = {
    "perf/perf_eval_ref": {"pubmed": 6396},
    "acc/acc_eval_ref": {"aime25": 240, "gpqa_diamond": 990, "livecodebench_v6": 3165},
    "acc/acc_eval_compliance_gpqa": {"gpqa_diamond": 990},
}
TRUTHS = {"aime25": "7", "gpqa_diamond": "A", "livecodebench_v6": "{}"}
CLIPS = 1633
MAX_SAMPLES = 3 * RATE


def gpt_oss(folder: Path) -> None:
    """Writes prompts of random ids, and a tokenizer that decodes every output to the same text."""
    random = np.random.default_rng(1)
    for name, counts in ROWS.items():
        path = folder / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        sources = [source for source, count in counts.items() for _ in range(count)]
        ids = random.integers(0, VOCABULARY, (len(sources), PROMPT_TOKENS)).tolist()
        truths = [TRUTHS.get(source, "").format(number % PROBLEMS) for number, source in enumerate(sources)]
        pd.DataFrame({"input_tokens": ids, "num_tokens": PROMPT_TOKENS, "dataset": sources, "ground_truth": truths}).to_parquet(path)
    model = {"type": "WordLevel", "vocab": {str(number): number for number in range(VOCABULARY)}, "unk_token": "0"}
    decoders = [{"type": "Fuse"}, {"type": "Replace", "pattern": {"Regex": ".+"}, "content": ANSWER}]
    write(folder / "tokenizer/tokenizer.json", {"version": "1.0", "added_tokens": [], "model": model,
                                                "decoder": {"type": "Sequence", "decoders": decoders}})
    write(folder / "tokenizer/tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast"})


def whisper(folder: Path) -> None:
    """Writes clips of noise, and the list with their transcripts."""
    random = np.random.default_rng(1)
    clips = folder / "dev-all-repack"
    clips.mkdir(parents=True)
    entries = []
    for number in range(CLIPS):
        samples = random.integers(-3000, 3000, random.integers(1, MAX_SAMPLES + 1)).astype("<i2")
        path = clips / f"1-1_{number}.wav"
        with wave.open(str(path), "wb") as file:
            file.setparams((1, 2, RATE, 0, "NONE", ""))
            file.writeframes(samples.tobytes())
        seconds = len(samples) / RATE
        files = [{"fname": f"dev-all-repack/{path.name}", "duration": seconds, "speed": 1}]
        entries.append({"transcript": TRANSCRIPT, "files": files, "original_duration": seconds, "original_num_samples": len(samples)})
    write(folder / "dev-all-repack.json", entries)


def write(path: Path, content: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content))


if __name__ == "__main__":
    {"gpt-oss-120b": gpt_oss, "whisper": whisper}[sys.argv[1]](Path(sys.argv[2]))
