"""Models and samples, made on demand; and the answers of Python's torch to them on the same device."""

import os
import re
from pathlib import Path

import numpy as np

from kit.programs import called
from kit.settings import KIT, Settings, own_python

ROWS = 40_000  # maximum for each of DLRM's tables
# Maximum difference of a tensor, as a share of its largest element: it adds the same numbers in another order.
TOLERANCE = {"fp32": 1e-4, "tf32": 5e-3, "fp16": 1e-2, "bf16": 5e-2}


def exported(s: Settings, network: str, precision: str = "fp32", *options: str) -> Path:
    """Returns the folder of a network's manifests. tf32 uses the weights of fp32, and lets the device round."""
    weights = "fp32" if precision == "tf32" else precision
    folder = s.folder("models") / f"{network}-{weights}{''.join(options)}"
    if not (folder / f"{network}.toml").exists():
        words = own_python(str(KIT / "models" / "export.py"), network, "--output", str(folder), "--precision", weights)
        words += [*options, "--check-on", s.device, *(["--small"] if s.small else ["--rows", str(ROWS)])]
        called(words, (0,), 400, dict(os.environ))
    if precision == "tf32":
        for manifest in list(folder.glob(f"{network}*.toml")):
            if "-tf32" not in manifest.stem:
                variant(manifest, "tf32", precision="tf32")
    return folder


def manifest_of(s: Settings, network: str, precision: str = "fp32", kind: str = "") -> Path:
    """Returns a manifest of a network; `kind` is the end of its name, such as `-jpeg`."""
    ending = "-tf32" if precision == "tf32" else ""
    return exported(s, network, precision) / f"{network}{kind}{ending}.toml"


def variant(manifest: Path, ending: str, **head: str) -> Path:
    """Writes a copy of a manifest with other values of its top-level keys; returns its path."""
    text = manifest.read_text()
    for key, value in head.items():
        text, count = re.subn(rf'^{key} = ".*"$', f'{key} = "{value}"', text, count=1, flags=re.MULTILINE)
        if count != 1:
            raise ValueError(f"{manifest} has no key {key}")
    file = manifest.with_name(f"{manifest.stem}-{ending}.toml")
    file.write_text(text)
    return file


def saved(s: Settings, name: str, array: np.ndarray) -> Path:
    """Writes a data set as a file whose first dimension is the samples; returns its path."""
    file = s.folder("data") / f"{name}.npy"
    np.save(file, np.ascontiguousarray(array))
    return file


def saved_each(s: Settings, name: str, arrays: list[np.ndarray]) -> Path:
    """Writes a data set as a folder with a file for each sample; returns its path."""
    folder = s.folder(f"data/{name}")
    for number, array in enumerate(arrays):
        np.save(folder / f"{number:05}.npy", np.ascontiguousarray(array))
    return folder


def ones_of_bert(s: Settings, batch: int, length: int) -> str:
    """Writes two batches of BERT's samples of one length; returns the data set."""
    rows = np.ones((batch * 2, length), np.int32)
    return "+".join(str(saved(s, f"bert-{name}", rows)) for name in ("ones", "mask", "segments"))


def size_of(manifest: Path) -> int:
    """Returns the side of a network's images, or of 3D-UNet's windows."""
    return int(re.search(r"^shape = \[(?:1, |3, )?(\d+)", manifest.read_text(), re.MULTILINE)[1])


def pixels(s: Settings, name: str, manifest: Path, count: int) -> tuple[Path, np.ndarray]:
    """Writes images of random pixels; returns the file and the images. They have blocks, to differ in more than noise."""
    rng, size = np.random.default_rng(7), size_of(manifest)
    coarse = rng.integers(0, 256, (count, 8, 8, 3), dtype=np.uint8)
    scale = -(-size // 8)
    images = coarse.repeat(scale, 1).repeat(scale, 2)[:, :size, :size]
    images = (images // 2 + rng.integers(0, 128, images.shape, dtype=np.uint8)).astype(np.uint8)
    return saved(s, name, images), images


class Reference:
    """Model in Python on the kit's device, without fused kernels, at the node's precision."""

    def __init__(self, s: Settings, manifest: Path, precision: str) -> None:
        import torch

        self.torch, self.device = torch, s.device
        rounds = precision == "tf32"
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = rounds
        torch.backends.cudnn.benchmark = True  # chooses algorithms as the node does
        torch.backends.cuda.enable_cudnn_sdp(False)
        torch._C._jit_override_can_fuse_on_cpu(False)
        torch._C._jit_override_can_fuse_on_gpu(False)
        model = re.search(r'^model = "(.*)"$', manifest.read_text(), re.MULTILINE)[1]
        self.module = torch.jit.load(str(manifest.with_name(model)), map_location=s.device).eval()

    def __call__(self, *inputs: np.ndarray) -> list[np.ndarray]:
        """Returns the outputs for one batch."""
        with self.torch.inference_mode():
            outputs = self.module(*(self.torch.from_numpy(np.ascontiguousarray(x)).to(self.device) for x in inputs))
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        return [output.cpu().numpy() for output in outputs]

    def each(self, batch: int, *inputs: np.ndarray) -> list[np.ndarray]:
        """Returns the outputs for all samples, computed in batches."""
        parts = [self(*(x[at:at + batch] for x in inputs)) for at in range(0, len(inputs[0]), batch)]
        return [np.concatenate(output) for output in zip(*parts)]
