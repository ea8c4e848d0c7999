"""3D-UNet: KiTS 2019's CT volumes at one spacing, with sides that windows of 128 and stride 64 cover exactly."""

import gzip
import json
import math
from pathlib import Path

import nibabel
import numpy as np
from scipy.ndimage import zoom

from . import sources
from .errors import DataError
from .facts import KITS19
from .parts import Folder
from .preparation import Preparation

FORMS = ("fp32",)
REFERENCE = "vision/medical_imaging/3d-unet-kits19/preprocess.py: Preprocessor"
# global_vars.py of the reference.
SPACING, WINDOW, STRIDE = (1.6, 1.2, 1.2), 128, 64
LEAST, MOST, MEAN, DEVIATION, PADDING = -79.0, 304.0, 101.0, 76.9, -2.2
COPIES = {"case_00400": "case_00185"}
MOST_VOXELS = 1 << 31
CASES = json.loads(Path(__file__).with_name("kits19_cases.json").read_text(encoding="utf-8"))


def preparation(folder: Path, form: str, incomplete: bool, calibration: Path | None) -> Preparation:
    """Reads KiTS 2019's folder `data`, which contains a folder for each case."""
    cases = CASES["inference"]
    if calibration:
        cases = sources.lines(sources.noted(calibration))
        if cases != CASES["calibration"]:
            raise DataError(f"{calibration} is not calibration_cases.txt of mlcommons/inference, calibration/KiTS")
    if incomplete:
        cases = [case for case in cases if volume_of(folder, case).is_file()]
    paths = [volume_of(folder, case) for case in cases]
    sources.all_there(paths, folder)
    part = Folder("kits19-calibration" if calibration else "kits19")
    return Preparation(
        "3d-unet", KITS19, form, REFERENCE, [part], cases, paths, make, [], calibration=calibration is not None)


def volume_of(folder: Path, case: str) -> Path:
    """Returns the path of a case's volume.

    The reference makes case_00400 as a copy of case_00185 (Makefile: duplicate_kits19_case_00185).
    """
    path = folder / case / "imaging.nii.gz"
    return folder / COPIES[case] / path.name if case in COPIES and not path.exists() else path


def make(path: Path) -> list[np.ndarray]:
    """Returns a volume, float32 [1, D, H, W]."""
    try:
        # This verifies gzip's checksum, which nibabel does not.
        data = gzip.decompress(path.read_bytes())
        image = nibabel.Nifti1Image.from_bytes(data)
        voxels = math.prod(image.shape) * image.get_data_dtype().itemsize
        if len(data) != image.dataobj.offset + voxels:
            raise ValueError(f"voxels of shape {image.shape} take {voxels} bytes, it has {len(data) - image.dataobj.offset}")
        spacing = image.header["pixdim"][1:4].tolist()
        volume = image.get_fdata().astype(np.float32)
    except Exception as error:  # other files cause exceptions of many types
        raise DataError(f"{path}: not a NIfTI volume: {error}. Fetch it again") from error
    usable = volume.ndim == 3 and volume.size and np.isfinite(volume).all() and all(np.isfinite(spacing)) and min(spacing) > 0
    if not usable or volume.size * np.prod(np.array(spacing) / SPACING) > MOST_VOXELS:
        raise DataError(f"{path}: unsupported shape {volume.shape} or spacing {spacing}, or voxels that are not numbers. Fetch it again")
    if spacing != list(SPACING):
        factors = np.array(spacing) / np.array(SPACING)
        volume = zoom(volume, factors, order=1, mode="constant", cval=volume.min(), grid_mode=False)
    volume = (np.clip(volume, LEAST, MOST) - MEAN) / DEVIATION
    lacking = [max(0, WINDOW - side) for side in volume.shape]
    volume = np.pad(volume, halves(lacking), mode="edge")
    surplus = [side % STRIDE if side % STRIDE < STRIDE // 2 else 0 for side in volume.shape]
    cut = tuple(slice(before, side - after) for side, (before, after) in zip(volume.shape, halves(surplus)))
    volume = volume[cut]
    missing = [-side % STRIDE for side in volume.shape]
    missing = [more if side + more >= WINDOW else more + STRIDE for side, more in zip(volume.shape, missing)]
    volume = np.pad(volume, halves(missing), mode="constant", constant_values=PADDING)
    return [volume[None].astype(np.float32)]


def halves(lengths: list[int]) -> list[tuple[int, int]]:
    """Splits each length in two; the second part is the larger one of an odd length."""
    return [(length // 2, length - length // 2) for length in lengths]
