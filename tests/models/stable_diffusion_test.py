"""Tests that the exported file makes the same images as the reference with the same checkpoint, at any batch size."""

import argparse
import json
import unittest
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from diffusers import EulerDiscreteScheduler, StableDiffusionXLPipeline
from transformers import CLIPTokenizer

import export_stable_diffusion
import images
import stable_diffusion
from torchscript import PRECISIONS, ExportError

SIZE = stable_diffusion.SMALL_TEXT["vocab_size"]
START, END = "<|startoftext|>", "<|endoftext|>"


def tokenizer(folder: Path, padding: str) -> CLIPTokenizer:
    """Returns a tokenizer of CLIP's kind in which every letter is a token."""
    folder.mkdir()
    letters = [chr(ord("a") + i) for i in range(26)] + [","]
    tokens = ["!", *letters, *(letter + "</w>" for letter in letters)]
    tokens += [f"<{i}>" for i in range(len(tokens), SIZE - 2)] + [START, END]
    (folder / "vocab.json").write_text(json.dumps({token: i for i, token in enumerate(tokens)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    return CLIPTokenizer(folder / "vocab.json", folder / "merges.txt", pad_token=padding, model_max_length=77)


def checkpoint(folder: Path) -> Path:
    """Saves a small pipeline in the form of the reference's checkpoints; returns its folder."""
    pipe = images.pipeline(2)
    pipe.register_modules(tokenizer=tokenizer(folder / "1", END), tokenizer_2=tokenizer(folder / "2", "!"))
    pipe.save_pretrained(folder / "model" / "checkpoint_pipe")
    pipe.scheduler.save_pretrained(folder / "model" / "checkpoint_scheduler" / "scheduler")
    return folder / "model"


def export(model: Path | None, output: Path, precision: str, latents: Path | None = None) -> torch.jit.ScriptModule:
    """Runs the script; returns the file that it writes."""
    args = argparse.Namespace(weights=model, latents=latents, precision=precision, small=True, seed=1)
    return torch.jit.load(export_stable_diffusion.write(*export_stable_diffusion.build(args), output, precision)[0])


def tokens(pipe: StableDiffusionXLPipeline, texts: list[str]) -> list[torch.Tensor]:
    """Returns the reference's ids of prompts from both tokenizers, int64 [n, 77]."""
    return [one(texts, padding="max_length", max_length=77, truncation=True, return_tensors="pt").input_ids
            for one in (pipe.tokenizer, pipe.tokenizer_2)]


class StableDiffusionTest(unittest.TestCase):
    def setUp(self) -> None:
        torch.set_num_threads(1)
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("ignore")  # about deprecations, and about values that a trace regards as constant
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_images_are_the_reference_s(self) -> None:
        model = checkpoint(self.folder)
        torch.save(images.LATENTS, self.folder / "latents.pt")
        texts = ["a cat", "two dogs, asleep", "nothing " * 20]
        for precision in PRECISIONS:
            pipe = StableDiffusionXLPipeline.from_pretrained(
                model / "checkpoint_pipe", torch_dtype=PRECISIONS[precision], add_watermarker=False,
                scheduler=EulerDiscreteScheduler.from_pretrained(model / "checkpoint_scheduler", subfolder="scheduler"))
            pipe.set_progress_bar_config(disable=True)
            both = tokens(pipe, texts)
            wanted = images.reference(pipe, tokens(pipe, [stable_diffusion.NEGATIVE]), *both).astype(int)
            for latents in (self.folder / "latents.pt", None):
                file = export(model, self.folder / "out", precision, latents)
                for rows in ([0], [1], [2], [1, 0], [0, 1, 2], [2, 1, 0]):
                    with self.subTest(precision=precision, rows=rows):
                        found = file(*(ids[rows].int() for ids in both))
                        self.assertEqual((found.dtype, found.shape[1:]), (torch.uint8, (64, 64, 3)))
                        most = 2 if precision == "bf16" else 1  # as much as the reference's own images differ with other batches
                        self.assertLessEqual(np.abs(found.numpy() - wanted[rows]).max(), most)
            for one in (0, 1):
                self.assertGreater(np.abs(wanted[one] - wanted[one + 1]).mean(), 2, "prompts do not change the images")

    def test_the_second_tokenizer_differs_in_its_padding(self) -> None:
        pipe = StableDiffusionXLPipeline.from_pretrained(checkpoint(self.folder) / "checkpoint_pipe")
        first, second = tokens(pipe, ["", "a cat", "nothing " * 20])
        self.assertTrue(torch.equal(images.second(first), second))
        first, second = tokens(pipe, ["a cat!"])  # the second tokenizer's padding, which is also a token
        self.assertFalse(torch.equal(images.second(first), second))

    def test_other_folders_and_latents_are_refused(self) -> None:
        torch.save(torch.zeros(1, 4, 16, 16), self.folder / "large.pt")
        (self.folder / "text.pt").write_text("text")
        model = checkpoint(self.folder)
        (model / "checkpoint_scheduler").rename(self.folder / "elsewhere")
        pipe = images.pipeline(2)
        pipe.register_modules(text_encoder_2=None)
        pipe.save_pretrained(self.folder / "half")
        for model, latents, words in (
            (self.folder, None, "not Stable Diffusion XL"), (model, None, "checkpoint_scheduler"),
            (self.folder / "half", None, "text_encoder_2 missing"),
            (None, self.folder / "large.pt", "8, 8"), (None, self.folder / "text.pt", "not a tensor"),
        ):
            with self.subTest(words=words), self.assertRaisesRegex(ExportError, words):
                export(model, self.folder / "out", "fp32", latents)


if __name__ == "__main__":
    unittest.main()
