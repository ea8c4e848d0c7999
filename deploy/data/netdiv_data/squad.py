"""BERT: SQuAD v1.1's questions and paragraphs as token ids of a given vocabulary."""

from pathlib import Path
from typing import Any

import numpy as np

from . import sources
from .errors import DataError
from .facts import SQUAD
from .parts import Array
from .preparation import Preparation

REFERENCE = "language/bert/create_squad_data.py: convert_examples_to_features(max_seq_length=384, doc_stride=128, max_query_length=64)"
TOKENS, STRIDE, QUESTION = 384, 128, 64
WHITE_SPACE = " \t\r\n\u202f"  # the reference's set, which differs from Python's


def preparation(folder: Path, form: str, incomplete: bool, calibration: Path | None) -> Preparation:
    """Reads dev-v1.1.json and vocab.txt in FOLDER."""
    questions, vocabulary = (sources.published(sources.file(folder, name), SQUAD, incomplete) for name in ("dev-v1.1.json", "vocab.txt"))
    read = [questions, vocabulary]
    names, features = features_of(questions, vocabulary)
    name = "squad"
    if calibration:
        read.append(sources.calibration_list(calibration, SQUAD, incomplete))
        numbers = [sources.number(line, len(features)) for line in sources.lines(calibration)]
        if None in numbers:
            raise DataError(f"{calibration}: not a list of numbers below {len(features)} (bert_calibration_features.txt)")
        names, features = [names[n] for n in numbers], [features[n] for n in numbers]
        name = "squad-calibration"
    parts = [Array(f"{name}-{part}", "int32", (TOKENS,)) for part in ("ids", "mask", "segments")]
    return Preparation(
        "bert", SQUAD, form, REFERENCE, parts if form == "tensors" else parts[:1], names, features,
        all_of if form == "tensors" else ids_of, read, calibration=calibration is not None, parallel=False)


FORMS = ("tensors", "ids")


def all_of(feature: list[np.ndarray]) -> list[np.ndarray]:
    return feature


def ids_of(feature: list[np.ndarray]) -> list[np.ndarray]:
    return feature[:1]


def features_of(path: Path, vocabulary: Path) -> tuple[list[str], list[list[np.ndarray]]]:
    """Returns the name of each window, `QUESTION/WINDOW`, and its ids, mask and segments."""
    from transformers import BertTokenizer

    tokenizer = BertTokenizer(str(vocabulary))
    names, features = [], []
    for paragraph, question in questions_of(sources.read_json(path), path):
        asked = tokenizer.tokenize(question["question"])[:QUESTION]
        words = [token for word in split(paragraph) for token in tokenizer.tokenize(word)]
        for number, (start, end) in enumerate(windows(len(words), TOKENS - len(asked) - 3)):
            names.append(f"{question['id']}/{number}")
            features.append(feature(tokenizer, asked, words[start:end]))
    return names, features


def questions_of(content: Any, path: Path) -> list[tuple[str, dict]]:
    """Returns each paragraph and question."""
    try:
        found = [(paragraph["context"], question) for article in content["data"] for paragraph in article["paragraphs"]
                 for question in paragraph["qas"]]
        assert all(isinstance(q["question"], str) and isinstance(q["id"], str) and isinstance(text, str) for text, q in found)
        return found
    except (KeyError, TypeError, AssertionError) as error:
        raise DataError(f"{path}: not in the form of SQuAD v1.1") from error


def split(text: str) -> list[str]:
    """Splits text at the reference's white space."""
    for white in WHITE_SPACE[1:]:
        text = text.replace(white, " ")
    return [word for word in text.split(" ") if word]


def windows(tokens: int, room: int) -> list[tuple[int, int]]:
    """Returns the start and end of windows of a paragraph: each at most `room` tokens long, one every 128 tokens."""
    found, start = [], 0
    while start < tokens:
        end = min(start + room, tokens)
        found.append((start, end))
        if end == tokens:
            break
        start += min(end - start, STRIDE)
    return found


def feature(tokenizer: Any, asked: list[str], words: list[str]) -> list[np.ndarray]:
    """Returns ids, mask and segments of `[CLS] question [SEP] words [SEP]`, padded with zeros."""
    ids = tokenizer.convert_tokens_to_ids(["[CLS]", *asked, "[SEP]", *words, "[SEP]"])
    filled = np.zeros((3, TOKENS), dtype=np.int32)
    filled[0, : len(ids)], filled[1, : len(ids)], filled[2, len(asked) + 2 : len(ids)] = ids, 1, 1
    return list(filled)
