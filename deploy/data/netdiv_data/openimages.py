"""RetinaNet: OpenImages' validation images of 264 classes, with annotations in COCO's form."""

import json
from functools import partial
from pathlib import Path

import cv2
import numpy as np
import pandas as pd

from . import images, sources
from .errors import DataError
from .facts import OPENIMAGES
from .parts import Array, Folder
from .preparation import Preparation

FORMS = ("uint8", "fp32", "jpeg")
REFERENCE = "vision/classification_and_detection/python/dataset.py: pre_process_openimages_retinanet"
SIDE = 800
ANNOTATIONS = "openimages-mlperf.json"
BOXES, CLASSES = "validation-annotations-bbox.csv", "class-descriptions-boxable.csv"
FLAGS = ["IsOccluded", "IsInside", "IsDepiction", "IsTruncated", "IsGroupOf"]
COLUMNS = ["ImageID", "LabelName", "XMin", "XMax", "YMin", "YMax", *FLAGS]
# The classes of the benchmark, in the order of their numbers: tools/openimages_mlperf.sh of the reference.
NAMES = Path(__file__).with_name("openimages_classes.txt")


def preparation(folder: Path, form: str, incomplete: bool, calibration: Path | None) -> Preparation:
    """Reads the folder that the reference's script writes: `annotations/openimages-mlperf.json` and `validation/data/*.jpg`.

    `annotations` may contain OpenImages' own CSV files instead.
    """
    pictures = folder / "validation" / "data"
    read, extra, name = [], {}, "openimages"
    if calibration:
        read = [sources.calibration_list(calibration, OPENIMAGES, incomplete)]
        names, name = sources.lines(calibration), "openimages-calibration"
        pictures = next((at for at in (folder / "calibration" / "data", folder / "train" / "data") if at.is_dir()), pictures)
    elif (folder / "annotations" / ANNOTATIONS).is_file():
        read = [sources.file(folder / "annotations", ANNOTATIONS)]
        names = names_of(read[0])
        extra = {ANNOTATIONS: lambda path: path.write_bytes(read[0].read_bytes())}
    else:
        read = [sources.file(folder / "annotations", BOXES), sources.file(folder / "annotations", CLASSES)]
        annotations = in_coco_form(*read, pictures)
        names = [image["file_name"] for image in annotations["images"]]
        extra = {ANNOTATIONS: lambda path: path.write_text(json.dumps(annotations), encoding="utf-8")}
    paths = [pictures / file_name for file_name in names]
    sources.all_there(paths, read[0])
    part = {
        "uint8": Array(f"{name}-uint8", "uint8", (SIDE, SIDE, 3)),
        "fp32": Array(f"{name}-fp32", "float32", (3, SIDE, SIDE)),
        "jpeg": Folder(f"{name}-jpeg", ".jpg"),
    }[form]
    return Preparation(
        "retinanet", OPENIMAGES, form, REFERENCE, [part], names, paths, partial(make, form), read,
        extra=extra, calibration=calibration is not None)


def names_of(path: Path) -> list[str]:
    """Returns the images' file names, in the order of the reference's QSL. Fails if annotations have other classes."""
    content = sources.read_json(path)
    try:
        names = [image["file_name"] for image in content["images"]]
        labels = [row["category_id"] for row in content["annotations"]]
    except (KeyError, TypeError) as error:
        raise DataError(f"{path} has no images with file_name, or no annotations with category_id") from error
    for number, label in enumerate(labels):
        if type(label) is not int or not 0 <= label < OPENIMAGES.classes:
            raise DataError(f"{path}: the category_id of annotations[{number}] is {label!r}, and classes are 0 to {OPENIMAGES.classes - 1}")
    if not all(isinstance(name, str) for name in names):
        raise DataError(f"{path} has an image whose file_name is not a string")
    return names


def make(form: str, path: Path) -> list[np.ndarray | bytes]:
    """Returns a sample."""
    data, image = images.read(path)
    if form == "jpeg":
        return [data]
    pixels = cv2.resize(image.astype(np.float32), (SIDE, SIDE), interpolation=cv2.INTER_LINEAR)
    if form == "uint8":
        return [np.rint(pixels).astype(np.uint8)]
    return [np.ascontiguousarray((pixels / np.float32(255)).transpose(2, 0, 1))]


def in_coco_form(boxes: Path, classes: Path, pictures: Path) -> dict:
    """Converts OpenImages' CSV files as export_to_coco of the reference's tools/openimages.py does."""
    wanted = sources.lines(NAMES)
    try:
        annotations = pd.read_csv(boxes)
        partial = annotations.index[annotations[COLUMNS].isna().any(axis=1)]
        class_map = pd.read_csv(classes, names=["LabelName", "DisplayName"])
        labels = class_map[np.isin(class_map["DisplayName"], wanted)]["LabelName"]
        ids = annotations[np.isin(annotations["LabelName"], labels)]["ImageID"].unique()
    except (ValueError, KeyError) as error:
        raise DataError(f"{boxes} or {classes} is not OpenImages' table: {error}") from error
    if len(partial):
        raise DataError(f"{boxes}: line {partial[0] + 2} lacks values. Fetch it again")
    sources.all_there([pictures / f"{name}.jpg" for name in ids], boxes)
    sizes = [(name, *images.read(pictures / f"{name}.jpg")[1].shape[:2]) for name in ids]
    sizes = pd.DataFrame(sizes, columns=["image_list", "height", "width"])
    categories = pd.DataFrame(list(enumerate(wanted)), columns=["category_id", "category_name"])
    class_map = class_map.merge(categories, left_on="DisplayName", right_on="category_name", how="inner")
    rows = pd.merge(annotations, sizes, how="inner", left_on="ImageID", right_on="image_list")
    rows = rows.merge(class_map, on="LabelName", how="inner").sort_values(by=["ImageID"])
    rows["image_id"] = pd.factorize(rows["ImageID"].to_numpy())[0]
    return {
        "info": {"dataset": "openimages_mlperf", "version": "v6"},
        "licenses": [],
        "categories": [{"id": number, "name": name, "supercategory": None} for number, name in enumerate(wanted)],
        "images": [
            {"id": int(number + 1), "file_name": f"{name}.jpg", "height": int(row["height"]), "width": int(row["width"]),
             "license": None, "coco_url": None}
            for (number, name), row in rows.groupby(["image_id", "ImageID"]).first().iterrows()],
        "annotations": [annotation(number, row) for number, row in rows.iterrows()],
    }


def annotation(number: int, row: pd.Series) -> dict:
    """Returns the annotation of a box, in pixels."""
    box = [row["XMin"] * row["width"], row["YMin"] * row["height"],
           (row["XMax"] - row["XMin"]) * row["width"], (row["YMax"] - row["YMin"]) * row["height"]]
    flags = {name: int(row[name]) for name in FLAGS}
    return {"id": int(number) + 1, "image_id": int(row["image_id"] + 1), "category_id": int(row["category_id"]), "bbox": box,
            "area": box[2] * box[3], "iscrowd": int(row["IsGroupOf"]), **flags}
