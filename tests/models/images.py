"""Makes stable-diffusion-xl* of tests/models: the small network, prompts, and the images of diffusers' pipeline.

The pipeline is called as in MLPerf's reference.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from diffusers import StableDiffusionXLPipeline
from torch import Tensor

import export_stable_diffusion
import stable_diffusion
from stable_diffusion import TOKENS, StableDiffusion

Array = np.ndarray
LATENTS = torch.randn(1, 4, 8, 8, generator=torch.Generator().manual_seed(0))


@torch.no_grad()
def pipeline(seed: int) -> StableDiffusionXLPipeline:
    """Returns the small pipeline with random weights, scaled so that prompts affect the images and images have contrast."""
    torch.manual_seed(seed)
    pipe = stable_diffusion.draw(True)
    pipe.set_progress_bar_config(disable=True)
    for name in ("text_encoder", "text_encoder_2", "unet", "vae"):
        getattr(pipe, name).eval().requires_grad_(False)
    for encoder in (pipe.text_encoder, pipe.text_encoder_2):
        encoder.text_model.embeddings.token_embedding.weight.mul_(50)  # from 0.02 to 1
    for name, module in pipe.unet.named_modules():
        if name.endswith("attn2.to_out.0"):
            module.weight.mul_(4)
    ids = prompts(np.random.default_rng(seed), (5, 30))
    _, states = stable_diffusion.Encoder(pipe.text_encoder)(ids[0])
    projection, states_2 = stable_diffusion.Encoder(pipe.text_encoder_2)(ids[1])
    states, sizes = torch.cat([states, states_2], dim=-1), torch.tensor([[64, 64, 0, 0, 64, 64]]).repeat(2, 1)
    denoise = stable_diffusion.Denoiser(pipe.unet)
    noise = denoise(LATENTS.repeat(2, 1, 1, 1), torch.tensor(951.0), states, projection, sizes)
    pipe.unet.conv_out.weight.div_(noise.std())
    pipe.vae.decoder.conv_out.weight.mul_(0.4 / pipe.vae.decode(LATENTS / 0.13025).sample.std())
    return pipe


def second(ids: Tensor) -> Tensor:
    """Returns the second tokenizer's ids for the first one's, [n, 77]: after the first end, the highest id, padding is 0."""
    ends = (ids == ids.max()).int().argmax(1, keepdim=True)
    return torch.where(torch.arange(TOKENS) <= ends, ids, 0)


def prompts(rng: np.random.Generator, lengths: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Returns prompts of noise with these numbers of ids, including start and end, from both tokenizers: int64 [n, 77] each."""
    end = stable_diffusion.SMALL_TEXT["vocab_size"] - 1
    ids = torch.full((len(lengths), TOKENS), end)
    for row, length in zip(ids, lengths):
        row[0] = end - 1
        row[1:length - 1] = torch.from_numpy(rng.integers(1, end - 1, length - 2))
    return ids, second(ids)


@torch.no_grad()
def reference(pipe: StableDiffusionXLPipeline, negative: list[Tensor], ids: Tensor, ids_2: Tensor) -> Array:
    """Returns images, uint8 [n, h, w, 3], made like in BackendPytorch.predict and PostProcessCoco of mlcommons/inference v5.0.1."""
    def encode(*both: Tensor) -> tuple[Tensor, Tensor]:
        found = [encoder(ids, output_hidden_states=True)
                 for encoder, ids in zip((pipe.text_encoder, pipe.text_encoder_2), both)]
        return torch.concat([one.hidden_states[-2] for one in found], dim=-1), found[-1][0]

    embedded = [(*encode(one[None], two[None]), *encode(*negative)) for one, two in zip(ids, ids_2)]
    prompt, pooled, unwanted, unwanted_pooled = (torch.cat(parts) for parts in zip(*embedded))
    generated = pipe(
        prompt_embeds=prompt, negative_prompt_embeds=unwanted, pooled_prompt_embeds=pooled,
        negative_pooled_prompt_embeds=unwanted_pooled, guidance_scale=8, num_inference_steps=20, output_type="pt",
        latents=torch.cat([LATENTS.to(pipe.unet.dtype)] * len(ids)),
    ).images
    return np.stack([(image.permute(1, 2, 0).float().numpy() * 255).round().astype(np.uint8) for image in generated])


def make_stable_diffusion(folder: Path) -> None:
    """Makes the network, six prompts of different lengths, the last one truncated, and their images from the pipeline."""
    seed = 1
    pipe = pipeline(seed)
    negative = stable_diffusion.negative(pipe)
    ids, ids_2 = prompts(np.random.default_rng(6), (3, 8, 15, 24, 50, 77))
    answers = reference(pipe, negative, ids, ids_2)
    model = StableDiffusion(pipe, negative, LATENTS).eval()
    file = torch.jit.load(export_stable_diffusion.write(model, f"random, seed {seed}, scaled", folder, "fp32")[0])
    images = file(ids.int(), ids_2.int()).numpy()
    off = np.abs(images.astype(int) - answers).max()
    assert off <= 1, f"the file's images differ from the pipeline's by {off}"
    for name, array in (("ids", ids.int().numpy()), ("ids2", ids_2.int().numpy()), ("answers", answers)):
        with open(folder / f"{stable_diffusion.NAME}-{name}.npy", "wb") as out:
            np.lib.format.write_array(out, array, version=(1, 0))
    apart = min(np.abs(answers[i].astype(int) - answers[j]).mean() for i in range(6) for j in range(i))
    print(f"stable-diffusion-xl: seed {seed}, deviation {answers.std():.0f}, images apart by {apart:.1f}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    make_stable_diffusion(Path(sys.argv[1]))
