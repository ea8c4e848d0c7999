"""Prepares the data sets of `sets.py` with the reference's own code: `python reference.py MLCOMMONS-INFERENCE`, a checkout of tag
v5.0.1. Writes the expected samples to `expected.json`, which `prepare_test.py` reads without a checkout.

`left_out` replaces packages that the reference imports but does not need here.
"""

import hashlib
import importlib
import json
import os
import pickle
import sys
import tempfile
import types
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import cv2
import numpy as np
import scipy.ndimage
import sets
import torch
import torchvision.transforms.functional as vision
from PIL import Image

CASES = json.loads((Path(__file__).parents[2] / "deploy/data/netdiv_data/kits19_cases.json").read_text())


def left_out(*names: str) -> None:
    """Replaces modules with mocks."""
    for name in names:
        sys.modules[name] = mock.MagicMock(name=name)


def module(folder: Path, name: str) -> types.ModuleType:
    """Imports a module of the reference anew, since modules of other folders may have the same name."""
    for known in ("dataset", "utils", "tools", "coco", "openimages"):
        sys.modules.pop(known, None)
    with mock.patch.object(sys, "path", [str(folder), *sys.path]):
        return importlib.import_module(name)


def digests(samples: list[np.ndarray | bytes]) -> list[str]:
    return [hashlib.sha256(s if isinstance(s, bytes) else np.ascontiguousarray(s).tobytes()).hexdigest() for s in samples]


def values(samples: list[np.ndarray]) -> list[list[float]]:
    """Returns some values of samples whose digests differ between processors."""
    return [sets.spread(sample).tolist() for sample in samples]


def imagenet(code: Path, root: Path) -> dict:
    sets.imagenet(root)
    python = code / "vision/classification_and_detection/python"
    dataset = module(python, "dataset")
    reader = importlib.util.spec_from_file_location("reference_imagenet", python / "imagenet.py")
    reference = importlib.util.module_from_spec(reader)
    with mock.patch.dict(sys.modules, {"dataset": dataset}):
        reader.loader.exec_module(reference)

    def all_of(name: str, layout: str, function: Callable) -> list[np.ndarray]:
        held = reference.Imagenet(str(root), None, name, image_format=layout, pre_process=function, cache_dir=str(root / "cache"), threads=1)
        return [held.get_item(number)[0] for number in range(len(held.image_list))]

    def cropped(path: Path) -> np.ndarray:
        image = Image.fromarray(cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB))
        return np.asarray(vision.center_crop(vision.resize(image, 256, Image.BILINEAR), 224))

    paths = [root / line.split()[0] for line in (root / "val_map.txt").read_text().splitlines()]
    return {
        "resnet50-fp32": [digests(all_of("fp32", "NCHW", dataset.pre_process_imagenet_pytorch))],
        "resnet50-tensorflow": [digests(all_of("tensorflow", "NHWC", dataset.pre_process_vgg))],
        "resnet50-uint8": [digests([cropped(path) for path in paths])],
        "resnet50-jpeg": [digests([path.read_bytes() for path in paths])],
    }


def openimages(code: Path, root: Path) -> dict:
    sets.openimages(root)
    left_out("pycocotools", "pycocotools.cocoeval", "pycoco", "boto3", "botocore")
    folder = code / "vision/classification_and_detection"
    tools = module(folder / "tools", "openimages")
    import pandas as pd

    wanted = (Path(__file__).parents[2] / "deploy/data/netdiv_data/openimages_classes.txt").read_text().splitlines()
    script = (folder / "tools/openimages_mlperf.sh").read_text()
    assert all(f"'{name}'" in script for name in wanted)
    annotations = pd.read_csv(root / "annotations" / tools.ANNOTATIONS_FILE)
    class_map = pd.read_csv(root / "annotations" / tools.MAP_CLASSES_FILE, names=["LabelName", "DisplayName"])
    images = tools.get_image_list(wanted, class_map, annotations)
    made = root / "annotations" / "openimages-mlperf.json"
    tools.export_to_coco(wanted, class_map, annotations, images, str(root / "validation/data"), str(made))
    dataset = module(folder / "python", "dataset")
    reference = module(folder / "python", "openimages")
    held = reference.OpenImages(
        str(root / "validation/data"), str(made), "x", image_size=[800, 800, 3], image_format="NCHW",
        pre_process=dataset.pre_process_openimages_retinanet, cache_dir=str(root / "cache"))
    paths = [root / "validation/data" / name for name in held.image_list]
    stretched = [np.rint(dataset.maybe_resize(cv2.imread(str(path)), [800, 800, 3])).astype(np.uint8) for path in paths]
    return {
        "openimages-mlperf.json": json.loads(made.read_text()),
        "retinanet-fp32": values([held.get_item(number)[0] for number in range(len(paths))]),
        "retinanet-uint8": [digests(stretched)],
        "retinanet-jpeg": [digests([path.read_bytes() for path in paths])],
    }


def squad(code: Path, root: Path) -> dict:
    sets.squad(root)
    left_out("tokenization", "six")
    from transformers import BertTokenizer

    reference = module(code / "language/bert", "create_squad_data")
    features = []
    reference.convert_examples_to_features(
        reference.read_squad_examples(str(root / "dev-v1.1.json"), False), BertTokenizer(str(root / "vocab.txt")), 384, 128, 64, False,
        features.append)
    return {"bert": [digests([np.int32(getattr(f, key)) for f in features]) for key in ("input_ids", "input_mask", "segment_ids")]}


def kits19(code: Path, root: Path) -> dict:
    sets.kits19(root, CASES["inference"])
    folder = code / "vision/medical_imaging/3d-unet-kits19"
    sys.modules["scipy.ndimage.interpolation"] = scipy.ndimage
    before = os.getcwd()
    os.chdir(folder)
    reference = module(folder, "preprocess")
    os.chdir(before)
    made = reference.Preprocessor(types.SimpleNamespace(results_dir=str(root / "made"), data_dir=str(root), calibration=False))
    samples = []
    for case in CASES["inference"][:2]:
        made.preprocess_case(case)
        samples.append(pickle.loads((root / "made" / f"{case}.pkl").read_bytes())[0])
    return {"3d-unet": [digests(samples)]}


def criteo(code: Path, root: Path) -> dict:
    sets.criteo(root)
    left_out("torchrec", "torchrec.datasets", "torchrec.datasets.criteo", "torchrec.datasets.utils", "torchrec.sparse", "torchrec.sparse.jagged_tensor")
    constants = sys.modules["torchrec.datasets.criteo"]
    constants.CAT_FEATURE_COUNT, constants.DAYS = 26, 24
    constants.DEFAULT_CAT_NAMES, constants.DEFAULT_INT_NAMES = [f"cat_{n}" for n in range(26)], [f"int_{n}" for n in range(13)]
    sys.modules["torchrec.datasets.utils"].Batch = types.SimpleNamespace
    sys.modules["torchrec.sparse.jagged_tensor"].KeyedJaggedTensor = types.SimpleNamespace
    # Current numpy has this function in another module.
    np.lib.format._read_array_header = np.lib._format_impl._read_array_header
    tools = code / "recommendation/dlrm_v2/pytorch"
    reference = module(tools / "python", "multihot_criteo")
    np.random.seed(123)
    held = reference.MultihotCriteo(
        str(root), "multihot-criteo", None, None, samples_to_aggregate_quantile_file=str(tools / "tools/dist_quantile.txt"),
        samples_to_aggregate_trace_file=str(root / "trace.txt"), memory_map=True)
    held.load_query_samples(range(held.num_aggregated_samples))
    dense, sparse = [], []
    for batch in (held.items_in_memory[number] for number in range(held.num_aggregated_samples)):
        dense.append(batch.dense_features.numpy())
        pairs, values = len(dense[-1]), np.split(batch.sparse_features.values.numpy(), batch.sparse_features.offset_per_key[1:-1])
        sparse.append(np.concatenate([feature.reshape(pairs, -1) for feature in values], axis=1))
    return {"dlrm-v2": [digests(dense), digests(sparse)], "trace": (root / "trace.txt").read_text()}


def gptj(code: Path, root: Path) -> dict:
    sets.cnn(root / "cnn")
    sets.tokenizer(root / "tokenizer")
    left_out("datasets")
    from transformers import AutoTokenizer

    folder = code / "language/gpt-j"
    own = types.ModuleType("tokenizer_GPTJ")
    # As in tokenizer_GPTJ.py, but from a folder.
    own.get_transformer_autotokenizer = lambda name: AutoTokenizer.from_pretrained(
        root / "tokenizer", model_max_length=2048, padding_side="left", use_fast=False)
    sys.modules["tokenizer_GPTJ"] = own
    held = module(folder, "dataset").Dataset(str(root / "cnn" / "cnn_eval.json"))
    return {"gptj": [digests([ids[0].numpy().astype(np.int32) for ids in held.source_encoded_input_ids])]}


def captions(code: Path, root: Path) -> dict:
    sets.captions(root / "captions")
    os.rename(root / "captions/captions_source.tsv", root / "captions/captions.tsv")
    sets.clip_tokenizer(root / "pipe")
    (root / "latents").mkdir()
    torch.save(torch.zeros(1), root / "latents/latents.pt")
    from transformers import AutoTokenizer

    folder = code / "text_to_image"
    dataset = module(folder, "dataset")
    left_out("tools", "tools.clip", "tools.clip.clip_encoder", "tools.fid", "tools.fid.fid_score")
    tokenizer = AutoTokenizer.from_pretrained(root / "pipe", use_fast=False)
    with mock.patch.dict(sys.modules, {"dataset": dataset}), mock.patch.object(sys, "path", [str(folder), *sys.path]):
        held = importlib.import_module("coco").Coco(
            str(root), pipe_tokenizer=tokenizer, pipe_tokenizer_2=tokenizer, latent_device="cpu")
    rows = [held.get_item(number) for number in range(held.get_item_count())]
    return {"stable-diffusion-xl": [digests([row[key].input_ids[0].numpy().astype(np.int32) for row in rows]) for key in ("input_tokens", "input_tokens_2")]}


def igbh(code: Path, root: Path) -> dict:
    sets.igbh(root)
    reference = module(code / "graph/R-GAT/dgl_utilities", "feature_fetching")
    held = reference.IGBHeteroGraphStructure.__new__(reference.IGBHeteroGraphStructure)
    held.dir, held.dataset_size, held.in_memory, held.use_journal_conference, held.multithreading = str(root), "tiny", True, True, False
    held.num_nodes = sets.IGBH
    numbers = torch.load(root / "tiny/processed/val_idx.pt")
    graph = {}
    for (_, name, target), edges in held.load_edge_dict().items():
        begins, ends = (column.numpy() for column in edges)
        if name == "cites":
            # build_graph of components.py: dgl.remove_self_loop, then dgl.add_self_loop.
            own = np.arange(sets.PAPERS)
            begins, ends = (np.concatenate([column[begins != ends], own]) for column in (begins, ends))
        order = np.lexsort((begins, ends))
        starts = np.searchsorted(ends[order], np.arange(sets.IGBH[target] + 1))
        graph[name] = digests([starts.astype(np.int64), begins[order].astype(np.int32)])
    return {"rgat": [digests([number.reshape(1) for number in numbers.numpy()])], "igbh": graph}


def main() -> None:
    code, expected = Path(sys.argv[1]).resolve(), {}
    for one in (imagenet, openimages, squad, kits19, criteo, gptj, captions, igbh):
        with tempfile.TemporaryDirectory() as folder:
            expected |= one(code, Path(folder) / "set")
    with open(Path(__file__).with_name("expected.json"), "w") as file:
        json.dump(expected, file, indent=1, ensure_ascii=False)
        file.write("\n")


if __name__ == "__main__":
    main()
