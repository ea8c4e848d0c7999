"""Makes the small networks, samples and answers of tests/models. Repeated runs write identical files.

The networks are those of `export.py --small`. Random weights are adapted to the samples, and seeds are tried until no answer depends on
rounding: another decoder, order of sums or processor then does not change labels, detections and classes.
"""

import argparse
import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from torchvision.models.resnet import Bottleneck

import bert
import digits
import dlrm
import export
import resnet50
import retinanet
import unet3d
from language_models import make_language_models
from layers import Normalise, calibrate
from processing import crop, detections, picture, segment

Array = np.ndarray


def save(folder: Path, name: str, arrays: list[Array] | Array) -> None:
    """Writes an array to NAME.npy, or a list to NAME/0.npy and so on."""
    if isinstance(arrays, list):
        for i, array in enumerate(arrays):
            save(folder, f"{name}/{i}", array)
        return
    path = folder / f"{name}.npy"
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:
        np.lib.format.write_array(file, np.ascontiguousarray(array_of(arrays)), version=(1, 0))


def array_of(x: Array | Tensor) -> Array:
    """Returns an array of a tensor's numbers."""
    return x.numpy() if isinstance(x, Tensor) else x


def seeds(network: ModuleType) -> Iterator[tuple[int, nn.Module]]:
    """Yields the small network with one seed after the other."""
    for seed in range(1, 200):
        torch.manual_seed(seed)
        yield seed, network.build(True)
    raise RuntimeError(f"no seed results in clear answers of {network.NAME}")


def written(network: ModuleType, model: nn.Module, folder: Path, seed: int, adapted: bool = True) -> nn.Module:
    """Writes the network, and returns it as read from its file."""
    words = f"random, seed {seed}" + ", adapted to the samples" * adapted
    return torch.jit.load(str(export.write(network, model, folder, "fp32", words)[0]))


@torch.no_grad()
def make_resnet50(folder: Path) -> None:
    """Makes ResNet50, eight JPEG files, one of them grey, their pixels and their labels."""
    rng = np.random.default_rng(1)
    (folder / "resnet50-jpeg").mkdir(parents=True, exist_ok=True)
    files = [folder / "resnet50-jpeg" / f"{i}.jpg" for i in range(8)]
    for i, file in enumerate(files):
        long, short = int(rng.integers(140, 200)), int(rng.integers(96, 130))
        image = picture(rng, *((long, short) if i % 2 else (short, long)))
        # Half of the files have chroma at half the resolution, as cameras' files do.
        (image.convert("L") if i == 7 else image).save(file, quality=92, subsampling="4:2:0" if i < 4 else "4:4:4")
    torch.manual_seed(1)
    seed, model = 1, resnet50.build(True)
    short = resnet50.manifests(model)["resnet50-jpeg"]["parameters"]["resize"]
    pixels, *others = (torch.tensor(np.stack([crop(Image.open(f), short, model.size, how) for f in files]))
                       for how in (Image.Resampling.BILINEAR, Image.Resampling.BICUBIC, Image.Resampling.HAMMING))
    noise = torch.Generator().manual_seed(1)
    others += [(pixels + 3 * torch.randn(pixels.shape, generator=noise)).clamp(0, 255).to(torch.uint8)
               for _ in range(16)]
    calm(model)
    calibrate(model, pixels)
    teach(model, [pixels, *others], torch.tensor([11, 3, 17, 3, 0, 8, 19, 5]))
    for each in (pixels, *others):
        best = model(each).topk(2).values
        assert (best[:, 0] - best[:, 1]).min() > 1, "labels depend on small differences"
    model = written(resnet50, model, folder, seed)
    logits = model(pixels)
    save(folder, "resnet50-uint8", pixels)
    save(folder, "resnet50-fp32", Normalise()(pixels))
    save(folder, "resnet50-logits", logits)
    save(folder, "resnet50-answers", logits.argmax(1).to(torch.int32))
    print(f"resnet50: seed {seed}, labels {logits.argmax(1).tolist()}")


def teach(model: nn.Module, versions: list[Tensor], labels: Tensor) -> None:
    """Fits the last layer (ridge regression) so that all versions of picture i get labels[i], with a large margin."""
    layer, model.network.fc = model.network.fc, nn.Identity()
    features = torch.cat([model(version) for version in versions]).double()
    wanted = 8 * nn.functional.one_hot(labels, layer.out_features).repeat(len(versions), 1).double()
    middle, level = features.mean(0), wanted.mean(0)
    features = features - middle
    square = features.T @ features + 1e-2 * len(features) * torch.eye(features.shape[1], dtype=torch.float64)
    weights = torch.linalg.solve(square, features.T @ (wanted - level)).T
    layer.weight.copy_(weights)
    layer.bias.copy_(level - weights @ middle)
    model.network.fc = layer


def centre(layer: nn.Conv3d, outputs: Tensor, deviation: float) -> None:
    """Scales a last layer so that each of its outputs (dimension 1) has mean 0, and all together have this deviation."""
    outputs = outputs.transpose(0, 1).flatten(1)
    scale = deviation / (outputs - outputs.mean(1, keepdim=True)).std()
    layer.weight.mul_(scale)
    layer.bias.sub_(outputs.mean(1)).mul_(scale)


def calm(model: nn.Module) -> None:
    """Lets each residual block change little, as after training: random blocks would amplify small differences."""
    for module in model.modules():
        if isinstance(module, Bottleneck):
            nn.init.constant_(module.bn3.weight, 0.2)


@torch.no_grad()
def make_retinanet(folder: Path) -> None:
    """Makes RetinaNet, four images, and their detections after non-maximum suppression."""
    for seed, model in seeds(retinanet):
        rng = np.random.default_rng(2)
        pixels = torch.tensor(np.stack([np.asarray(picture(rng, model.size, model.size)) for _ in range(4)]))
        calm(model)
        calibrate(model.network, model.normalise(pixels))
        last = model.network.head["classification_head"].cls_logits
        levels = model.network(model.normalise(pixels))
        logits, moves = (torch.cat([level[i].flatten() for level in levels]) for i in (0, 1))
        model.network.head["regression_head"].bbox_reg.weight.mul_(0.2 / moves.std())
        spread = 1.5 / (logits - last.bias[0]).std()
        last.weight.mul_(spread)
        few = ((logits - last.bias[0]) * spread).topk(160).values[-1]  # 40 for each image
        last.bias.fill_(float(torch.logit(torch.tensor(retinanet.SCORE)) - few))
        fields = retinanet.manifests(model)["retinanet"]["parameters"]
        outputs = model(pixels)
        ends = list(itertools.accumulate(model.tops))
        whole = bool((outputs[1][:, [end - 1 for end in ends]] == 0).all())  # no level has more candidates than the model returns
        found = [detections(*image, model.size, fields) for image in zip(*outputs)]
        if whole and all(clear and 3 <= len(rows) <= 50 and len(set(rows[:, 6])) >= 3 for rows, clear in found):
            break
    model = written(retinanet, model, folder, seed)
    answers = [detections(*image, pixels.shape[1], fields)[0] for image in zip(*model(pixels))]
    save(folder, "retinanet-uint8", pixels)
    save(folder, "retinanet-answers", answers)
    print(f"retinanet: seed {seed}, detections {[len(rows) for rows in answers]}")


@torch.no_grad()
def make_bert(folder: Path) -> None:
    """Makes BERT, six questions of different lengths, and their logits."""
    rng = np.random.default_rng(3)
    seed, model = next(seeds(bert))
    ids, masks, segments, answers = [], [], [], []
    for tokens in (7, 12, 18, 25, 33, 40):
        row = rng.integers(10, model.vocabulary, tokens).astype(np.int32)
        question = tokens // 3
        row[[0, question, -1]] = 2, bert.SMALL_SEPARATOR, bert.SMALL_SEPARATOR
        ids.append(row)
        masks.append(np.ones_like(row))
        segments.append((np.arange(tokens) > question).astype(np.int32))
    model = written(bert, model, folder, seed, False)
    for sample in zip(ids, masks, segments):
        start, end = model(*(torch.from_numpy(part)[None] for part in sample))
        answers.append(torch.stack([start[0], end[0]], 1).numpy())
    for name, arrays in (("ids", ids), ("mask", masks), ("segments", segments), ("answers", answers)):
        save(folder, f"bert-{name}", arrays)
    print(f"bert: seed {seed}, logits within {max(float(np.abs(a).max()) for a in answers):.2f}")


@torch.no_grad()
def make_unet3d(folder: Path) -> None:
    """Makes 3D-UNet, two volumes with a few blobs, and their voxels' classes."""
    rng = np.random.default_rng(4)
    volumes = []
    for shape in ((32, 40, 24), (16, 24, 32)):
        place = np.stack(np.meshgrid(*(np.arange(n) for n in shape), indexing="ij"), -1)
        volume = rng.normal(-1, 0.1, shape)
        for _ in range(6):
            middle, radius = rng.uniform(0, 1, 3) * shape, rng.uniform(3, 7)
            volume += rng.uniform(1, 3) * np.exp(-(((place - middle) / radius) ** 2).sum(-1))
        volumes.append(volume.clip(-2.34, 2.64).astype(np.float32)[None])
    for seed, model in seeds(unet3d):
        r = model.window
        windows = torch.from_numpy(np.stack([v[:, :r, :r, :r] for v in volumes]))
        centre(model.network.output["conv"][0], model(windows), 4.0)
        results = [segment(model, volume, r) for volume in volumes]
        shares = [np.bincount(classes.flatten(), minlength=3) / classes.size for classes, _ in results]
        least = min(float(ahead.min()) for _, ahead in results)
        if least > 1e-4 and all((share > 0.05).all() for share in shares):
            break
    model = written(unet3d, model, folder, seed)
    save(folder, "unet3d-volumes", volumes)
    save(folder, "unet3d-answers", [segment(model, volume, r)[0] for volume in volumes])
    print(f"unet3d: seed {seed}, shares {[s.round(2).tolist() for s in shares]}, minimum margin {least:.1e}")


@torch.no_grad()
def make_dlrm(folder: Path) -> None:
    """Makes DLRM, four samples of several pairs each, and their probabilities."""
    seed, model = next(seeds(dlrm))
    torch.manual_seed(5)
    samples = [dlrm.examples(model, pairs) for pairs in (5, 9, 1, 16)]
    model = written(dlrm, model, folder, seed, False)
    save(folder, "dlrm-dense", [dense.numpy() for dense, _ in samples])
    save(folder, "dlrm-sparse", [sparse.numpy() for _, sparse in samples])
    answers = [model(*sample).numpy() for sample in samples]
    save(folder, "dlrm-answers", answers)
    print(f"dlrm: seed {seed}, probabilities {np.sort(np.concatenate(answers)).round(3)}")


def make_digits(folder: Path) -> None:
    """Makes the demo's network at two precisions; its samples are the demo's."""
    words = "deploy/digits/digits.onnx"
    export.write(digits, digits.build(), folder, "fp32", words)
    export.write(digits, digits.build(), folder, "bf16", words, "digits-bf16")


def main() -> None:
    """Makes everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(__file__).parent
    parser.add_argument("--output", type=Path, default=default, help="folder to write to (default: the script's)")
    folder = parser.parse_args().output
    torch.set_num_threads(1)  # the same order of sums on all machines
    folder.mkdir(parents=True, exist_ok=True)
    for make in (make_digits, make_resnet50, make_retinanet, make_bert, make_unet3d, make_dlrm,
                 make_language_models):
        make(folder)
    for script in ("images.py", "graphs.py"):
        # In a separate process, since types in a TorchScript file are numbered by the process.
        subprocess.run([sys.executable, Path(__file__).with_name(script), folder], check=True)


if __name__ == "__main__":
    main()
