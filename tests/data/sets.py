"""Small data sets in the form of the public ones."""

import io
import json
import os
import pickle
import shutil
import struct
import sys
import types
import wave
import zipfile
from collections import OrderedDict
from pathlib import Path
from unittest import mock

import nibabel
import numpy as np
import pandas as pd

os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")  # about models, which are not used here
MODELS = Path(__file__).parents[1] / "models"
JPEGS = sorted((MODELS / "resnet50-jpeg").glob("*.jpg"))
CLASSES = [("/m/01", "Cat"), ("/m/02", "Zebra"), ("/m/03", "Not one of the 264")]
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "quick", "brown", "fox", "##es", "##s", "jump", "over", "what", "does", "?", ".",
         "a", "b", "dog", "lazy"]
HOT = (3, 2, 1, 2, 6, 1, 1, 1, 1, 7, 3, 8, 1, 6, 9, 5, 1, 1, 1, 12, 100, 27, 10, 3, 1, 1)


def spread(sample: np.ndarray) -> np.ndarray:
    """Returns every 60,013th value of a sample."""
    return np.ascontiguousarray(sample).ravel()[::60_013]


def imagenet(folder: Path) -> None:
    """Writes val_map.txt and images, which are not in the order of their names."""
    folder.mkdir(parents=True)
    lines = []
    for number, jpeg in enumerate(reversed(JPEGS)):
        name = f"ILSVRC2012_val_{number * 7 % 8:08}.JPEG"
        shutil.copy(jpeg, folder / name)
        lines.append(f"{name} {number * 111}")
    (folder / "val_map.txt").write_text("\n".join(lines) + "\n")


def openimages(folder: Path) -> None:
    """Writes OpenImages' two CSV files and images."""
    images, annotations = folder / "validation" / "data", folder / "annotations"
    images.mkdir(parents=True)
    annotations.mkdir()
    ids = ["00f", "0a1", "0b2", "0c3"]
    for name, jpeg in zip(ids, JPEGS):
        shutil.copy(jpeg, images / f"{name}.jpg")
    rows = [(ids[n % 4], "xclick", CLASSES[n % 3][0], 1, n / 20, n / 20 + 0.3, 0.1, 0.1 + n / 12, n % 2, 0, 0, 0, n % 3 == 1) for n in range(9)]
    columns = "ImageID Source LabelName Confidence XMin XMax YMin YMax IsOccluded IsTruncated IsGroupOf IsDepiction IsInside".split()
    pd.DataFrame([[*row[:-1], int(row[-1])] for row in rows], columns=columns).to_csv(annotations / "validation-annotations-bbox.csv", index=False)
    (annotations / "class-descriptions-boxable.csv").write_text("".join(f"{label},{name}\n" for label, name in CLASSES))


def squad(folder: Path) -> None:
    """Writes dev-v1.1.json and vocab.txt; one paragraph needs several windows."""
    folder.mkdir(parents=True)
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    long = " ".join(["The quick brown foxes\tjump over\u202fthe lazy dog."] * 70)
    paragraphs = [(long, ["What does the fox jump over?", "what " * 70]), ("A b.\u00a0the Fox!", ["Does\na dog"])]
    qas = [{"context": text, "qas": [{"id": f"{n}{m}", "question": asked, "answers": []} for m, asked in enumerate(all_asked)]}
           for n, (text, all_asked) in enumerate(paragraphs)]
    (folder / "dev-v1.1.json").write_text(json.dumps({"version": "1.1", "data": [{"title": "t", "paragraphs": qas}]}))


def kits19(folder: Path, cases: list[str]) -> None:
    """Writes CT volumes of different spacings and sizes."""
    random = np.random.default_rng(1)
    shapes = [((30, 40, 50), (5.0, 2.5, 2.5)), ((140, 150, 100), (1.6, 1.2, 1.2))]
    for case, (shape, spacing) in zip(cases, shapes):
        (folder / case).mkdir(parents=True)
        volume = random.normal(60, 120, shape).astype(np.float32)
        for name, data in (("imaging", volume), ("segmentation", (volume > 200).astype(np.uint8))):
            affine = np.zeros((4, 4))
            affine[0, 2], affine[1, 1], affine[2, 0], affine[3, 3] = -spacing[2], -spacing[1], -spacing[0], 1
            image = nibabel.Nifti1Image(data, affine)
            image.header["pixdim"][1:4] = spacing
            nibabel.save(image, folder / case / f"{name}.nii.gz")


def criteo(folder: Path, rows: int = 9001) -> None:
    """Writes the three files of day 23."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(2)
    np.save(folder / "day_23_dense.npy", random.random((rows, 13), dtype=np.float32))
    np.save(folder / "day_23_labels.npy", random.integers(0, 2, (rows, 1)).astype(np.int32))
    sparse = {str(n): random.integers(0, 1000, (rows, hot)).astype(np.int32) for n, hot in enumerate(HOT)}
    np.savez(folder / "day_23_sparse_multi_hot.npz", **sparse)


def prompts(folder: Path, name: str) -> list[list[int]]:
    """Writes a pickled table, as MLCommons publishes it; returns its token ids."""
    folder.mkdir(parents=True)
    rows = [[1, 2, 3], [4], [5, 6]]
    pd.DataFrame({"input": ["a", "b", "c"], "tok_input": rows, "tok_input_len": [3, 1, 2]}).to_pickle(folder / name)
    return rows


def parquet(path: Path, ids: list, column: str = "input_tokens", **changes: list | None) -> None:
    """Writes a table of prompts as MLCommons publishes gpt-oss-120b's; a change replaces a column, or leaves it out."""
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {column: ids, "num_tokens": [len(row or ()) for row in ids], "text_input": ["x"] * len(ids), "dataset": ["aime25"] * len(ids),
               "ground_truth": ["7"] * len(ids)} | changes
    pd.DataFrame({name: values for name, values in columns.items() if values is not None}).to_parquet(path)


def gpt_oss(folder: Path) -> dict[str, list[list[int]]]:
    """Writes gpt-oss-120b's three files, one of them as an older version had it; returns the ids by section."""
    rows = {"performance": [[200006, 3], [4] * 70, [0]], "accuracy": [[5, 6], [5, 6]], "TEST07": [[201087]]}
    parquet(folder / "perf/perf_eval_ref.parquet", rows["performance"], ground_truth=None)
    parquet(folder / "acc/acc_eval_ref.parquet", rows["accuracy"], "tok_input")
    parquet(folder / "acc/acc_eval_compliance_gpqa.parquet", rows["TEST07"])
    return rows


def wav(path: Path, samples: np.ndarray, rate: int = 16000, channels: int = 1) -> None:
    with wave.open(str(path), "wb") as file:
        file.setparams((channels, samples.itemsize, rate, 0, "NONE", ""))
        file.writeframes(samples.tobytes())


def librispeech(folder: Path) -> tuple[list[dict], list[np.ndarray]]:
    """Writes clips and the list that repackage_librispeech.py makes; returns its entries, and the samples of the clips."""
    random = np.random.default_rng(4)
    (folder / "dev-all-repack").mkdir(parents=True)
    entries, clips = [], []
    for name, length in (("84-121123_0", 480000), ("84-121123_1", 7), ("1272-128104_0", 16001)):
        samples = random.integers(-32768, 32768, length).astype("<i2")
        wav(folder / f"dev-all-repack/{name}.wav", samples)
        file = {"channels": 1, "sample_rate": 16000.0, "duration": length / 16000, "num_samples": length, "fname": f"/data/dev-all-repack/{name}.wav", "speed": 1}
        entries.append({"transcript": f"the words of {name}", "files": [file], "original_duration": length / 16000, "original_num_samples": length})
        clips.append(samples)
    (folder / "dev-all-repack.json").write_text(json.dumps(entries, indent=2))
    return entries, clips


def tokenizer(folder: Path) -> None:
    """Writes a tokenizer of bytes, like GPT-J's."""
    folder.mkdir(parents=True)
    from transformers.models.gpt2.tokenization_gpt2 import bytes_to_unicode

    letters = list(bytes_to_unicode().values())
    vocabulary = {token: number for number, token in enumerate([*letters, "th", "Ġth", "<|endoftext|>"])}
    (folder / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False))
    (folder / "merges.txt").write_text("#version: 0.2\nt h\nĠ th\n")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "GPT2Tokenizer", "model_max_length": 2048}))


def clip_tokenizer(folder: Path) -> None:
    """Writes a tokenizer that pads to 77 ids and has a word of two ids."""
    folder.mkdir(parents=True)
    letters = [chr(n) for n in range(97, 123)]
    tokens = [*letters, *(letter + "</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({token: number for number, token in enumerate(tokens)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "CLIPTokenizer", "model_max_length": 77}))
    (folder / "special_tokens_map.json").write_text(json.dumps({
        "bos_token": "<|startoftext|>", "eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>", "unk_token": "<|endoftext|>"}))
    (folder / "added_tokens.json").write_text(json.dumps({"xyz": len(tokens), "xyz_1": len(tokens) + 1}))


def cnn(folder: Path) -> list[dict]:
    """Writes cnn_eval.json; returns its entries."""
    folder.mkdir(parents=True)
    entries = [{"instruction": "Summarize the following news article:", "input": text, "output": "x", "tok_input": [n + 1, 9]}
               for n, text in enumerate(["the thing", "path of thorns – é" * 200])]
    (folder / "cnn_eval.json").write_text(json.dumps(entries, indent=4, ensure_ascii=False))
    return entries


def captions(folder: Path) -> list[str]:
    """Writes captions_source.tsv; returns its captions."""
    folder.mkdir(parents=True)
    texts = ["a city at night", "an xyz in the rain " * 20, 'he said "no" – twice']
    lines = ["id\timage_id\tcaption\theight\twidth\tfile_name\tcoco_url"]
    lines += [f'{70 + n}\t{n}\t"{text.replace(chr(34), chr(34) * 2)}"\t1\t1\tf\tu' for n, text in enumerate(texts)]
    (folder / "captions_source.tsv").write_text("\n".join(lines) + "\n")
    return texts


PAPERS = 60
IGBH = {"paper": PAPERS, "author": 50, "conference": 4, "fos": 20, "institute": 5, "journal": 6}


def igbh(folder: Path) -> list[int]:
    """Writes IGBH; returns the papers of val_idx.pt.

    Features of papers and authors have no header, as at the sizes large and full.
    """
    random = np.random.default_rng(3)
    processed = folder / "tiny" / "processed"
    for name, count in IGBH.items():
        (processed / name).mkdir(parents=True)
        table = random.standard_normal((count, 1024), np.float32)
        if name in ("paper", "author"):
            table.tofile(processed / name / "node_feat.npy")
        else:
            np.save(processed / name / "node_feat.npy", table)
    (np.arange(PAPERS) * 7 % 2983).astype(np.float32).tofile(processed / "paper" / "node_label_2K.npy")
    for relation, count in (("paper__cites__paper", 300), ("paper__written_by__author", 120), ("author__affiliated_to__institute", 40),
                            ("paper__topic__fos", 150), ("paper__published__journal", 20), ("paper__venue__conference", 20)):
        source, _, target = relation.split("__")
        edges = np.stack([random.integers(0, IGBH[source], count), random.integers(0, IGBH[target], count)], 1)
        if source == target:
            edges[::20, 1] = edges[::20, 0]  # papers that cite themselves
        (processed / relation).mkdir()
        np.save(processed / relation / "edge_index.npy", edges)
    numbers = random.permutation(PAPERS)
    (processed / "val_idx.pt").write_bytes(saved_by_torch(numbers, 36, 20))
    return numbers[36:56].tolist()


def saved_by_torch(numbers: np.ndarray, offset: int, length: int) -> bytes:
    """Returns the file that torch.save writes of a part of a vector; it contains the whole vector."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    torch.LongStorage = type("LongStorage", (), {"__module__": "torch"})

    def _rebuild_tensor_v2() -> None:
        pass

    _rebuild_tensor_v2.__module__, _rebuild_tensor_v2.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
    utils._rebuild_tensor_v2, torch._utils = _rebuild_tensor_v2, utils
    storage = object()

    class Tensor:
        def __reduce__(self) -> tuple:
            return _rebuild_tensor_v2, (storage, offset, (length,), (1,), False, OrderedDict())

    class Pickler(pickle.Pickler):
        def persistent_id(self, made: object) -> tuple | None:
            return ("storage", torch.LongStorage, "0", "cpu", len(numbers)) if made is storage else None

    head, whole = io.BytesIO(), io.BytesIO()
    with mock.patch.dict(sys.modules, {"torch": torch, "torch._utils": utils}):
        Pickler(head, 2).dump(Tensor())
    with zipfile.ZipFile(whole, "w") as archive:
        for name, data in (("data.pkl", head.getvalue()), ("byteorder", b"little"), ("data/0", numbers.astype("<i8").tobytes()), ("version", b"3\n")):
            archive.writestr(f"val_idx/{name}", data)
    return whole.getvalue()


def ids(path: Path) -> list[list[int]]:
    """Returns the samples of a file of token ids."""
    data = path.read_bytes()
    assert data[:8] == b"NDIDS001"
    (count,) = struct.unpack_from("<Q", data, 8)
    starts = struct.unpack_from(f"<{count + 1}Q", data, 16)
    flat = np.frombuffer(data, "<i4", offset=16 + 8 * (count + 1))
    return [flat[a:b].tolist() for a, b in zip(starts, starts[1:])]
