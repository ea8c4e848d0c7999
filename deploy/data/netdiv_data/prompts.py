"""Language models: token ids of prompts that MLCommons tokenized, or of text that the model's own tokenizer encodes."""

from pathlib import Path
from typing import Any

from . import facts, pickles, sources
from .errors import DataError
from .facts import Facts
from .parts import Ids
from .preparation import Preparation

FORMS = ("ids",)
# Prompt of GPT-J: language/gpt-j/dataset.py of the reference.
INSTRUCTION = (
    "Below is an instruction that describes a task, paired with an input that provides further context. "
    "Write a response that appropriately completes the request.\n\n"
    "### Instruction:\n{instruction}\n\n### Input:\n{input}\n\n### Response:")
GPTJ_TOKENS = 1919
# Facts, reference, and names of the files for validation and for calibration.
PICKLED: dict[str, tuple[Facts, str, str, str]] = {
    "llama2-70b": (facts.OPENORCA, "language/llama2-70b/dataset.py", "open_orca_gpt4_tokenized_llama.sampled_24576.pkl",
                   "open_orca_gpt4_tokenized_llama.calibration_1000.pkl"),
    "mixtral-8x7b": (facts.MIXTRAL, "language/mixtral-8x7b/dataset.py", "09292024_mixtral_15k_mintoken2_v1.pkl",
                     "2024.06.06_mixtral_15k_calibration_v4.pkl"),
    "llama3.1-405b": (facts.LONG_PROMPTS, "language/llama3.1-405b/dataset.py", "mlperf_llama3.1_405b_dataset_8313_processed_fp16_eval.pkl",
                      "mlperf_llama3.1_405b_calibration_dataset_512_processed_fp16_eval.pkl"),
    "deepseek-r1": (facts.DEEPSEEK, "language/deepseek-r1/mlperf/qsl.py (v5.1.1)", "mlperf_deepseek_r1_dataset_4388_fp8_eval.pkl",
                    "mlperf_deepseek_r1_calibration_dataset_500_fp8_eval.pkl"),
}


def pickled(benchmark: str, folder: Path, form: str, incomplete: bool, calibration: bool) -> Preparation:
    """Reads MLCommons' table in FOLDER, a pickle whose column tok_input holds the ids."""
    known, reference, *files = PICKLED[benchmark]
    path = sources.published(sources.file(folder, files[calibration]), known, incomplete)
    return of_lists(benchmark, known, reference, [path], pickles.column(path, "tok_input"), calibration)


def llama_8b(folder: Path, form: str, incomplete: bool, calibration: bool) -> Preparation:
    """Reads MLCommons' JSON list in FOLDER, whose entries have tok_input."""
    path = sources.file(folder, *(("cnn_dailymail_calibration.json",) if calibration else ("cnn_eval.json",)))
    rows = field(sources.read_json(path), "tok_input", list, path)
    return of_lists("llama3.1-8b", facts.CNN_LLAMA, "language/llama3.1-8b/dataset.py (v5.1.1)", [path], rows, calibration)


def gptj(folder: Path, form: str, incomplete: bool, calibration: bool, tokenizer: Path | None) -> Preparation:
    """Reads cnn_eval.json in FOLDER, as the reference's script writes it, and encodes it with GPT-J's tokenizer."""
    path = sources.file(folder, "cnn_dailymail_calibration.json" if calibration else "cnn_eval.json")
    content = sources.read_json(path)
    asked, articles = field(content, "instruction", str, path), field(content, "input", str, path)
    texts = [INSTRUCTION.format(instruction=question, input=text) for question, text in zip(asked, articles)]
    encode = tokenizer_of(tokenizer, "GPT-J")
    rows = (encode(text, truncation=True, max_length=GPTJ_TOKENS)["input_ids"] for text in texts)
    files = [path, *tokenizer_files(tokenizer)]
    return of_lists("gptj", facts.CNN_GPTJ, "language/gpt-j/dataset.py", files, rows, calibration, len(texts))


def of_lists(
    benchmark: str, known: Facts, reference: str, files: list[Path], rows: Any, calibration: bool, count: int | None = None
) -> Preparation:
    """Returns the preparation of lists of ids."""
    count = len(rows) if count is None else count
    part = Ids(f"{benchmark}-calibration" if calibration else benchmark)
    names = [str(number) for number in range(count)]
    return Preparation(benchmark, known, "ids", reference, [part], names, rows, as_it_is, files, calibration=calibration, parallel=False)


def as_it_is(row: Any) -> list[Any]:
    return [row]


def field(content: Any, key: str, kind: type, path: Path) -> list[Any]:
    """Returns the value of a key in each entry of a JSON list."""
    if not isinstance(content, list):
        raise DataError(f"{path}: not a list of objects with {key}")
    for number, entry in enumerate(content):
        if not isinstance(entry, dict) or not isinstance(entry.get(key), kind):
            raise DataError(f"{path}: not a list of objects with {key}: see entry {number}")
    return [entry[key] for entry in content]


def tokenizer_of(folder: Path | None, model: str) -> Any:
    """Opens a tokenizer in a folder, in Hugging Face's form; fetches nothing."""
    from transformers import AutoTokenizer

    if folder is None:
        raise DataError(f"--tokenizer is missing: pass a folder with {model}'s tokenizer")
    tokenizer_files(folder)  # notes the files before they are read
    try:
        return AutoTokenizer.from_pretrained(folder, use_fast=False, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, KeyError, TypeError, ImportError, AttributeError, RecursionError) as error:
        raise DataError(f"{folder}: not {model}'s tokenizer: {error}") from error


def tokenizer_files(folder: Path) -> list[Path]:
    """Returns the files of a tokenizer, for the manifest."""
    names = ("tokenizer_config.json", "vocab.json", "merges.txt", "tokenizer.json", "tokenizer.model", "spiece.model", "special_tokens_map.json", "added_tokens.json")
    return [sources.noted(folder / name) for name in names if (folder / name).is_file()]
