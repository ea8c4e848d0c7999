"""Stable Diffusion XL from modules of diffusers and transformers, with the settings of MLPerf Inference v5.0.

Podell et al., <https://arxiv.org/abs/2307.01952>. Sizes from stabilityai/stable-diffusion-xl-base-1.0; steps, guidance
and negative prompt from mlcommons/inference, text_to_image/backend_pytorch.py, tag v5.0.1.
"""

from pathlib import Path

import torch
from diffusers import AutoencoderKL, EulerDiscreteScheduler, StableDiffusionXLPipeline, UNet2DConditionModel
from torch import Tensor, nn
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTextModelWithProjection

from torchscript import ExportError

NAME = "stable-diffusion-xl"
STEPS, GUIDANCE, TOKENS = 20, 8, 77
NEGATIVE = "normal quality, low quality, worst quality, low res, blurry, nsfw, nude"
# NEGATIVE as ids of CLIP's tokenizer, without start and end.
NEGATIVE_IDS = [5967, 3027, 267, 1042, 3027, 267, 5719, 3027, 267, 1042, 934, 267, 21977, 267, 19847, 267, 16630]

TEXT = {
    "vocab_size": 49408, "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12,
    "num_attention_heads": 12, "hidden_act": "quick_gelu", "projection_dim": 768, "bos_token_id": 0, "eos_token_id": 2,
}
TEXT_2 = TEXT | {
    "hidden_size": 1280, "intermediate_size": 5120, "num_hidden_layers": 32, "num_attention_heads": 20,
    "hidden_act": "gelu", "projection_dim": 1280,
}
UNET = {
    "sample_size": 128, "block_out_channels": [320, 640, 1280], "transformer_layers_per_block": [1, 2, 10],
    "attention_head_dim": [5, 10, 20], "cross_attention_dim": 2048, "use_linear_projection": True,
    "down_block_types": ["DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"],
    "up_block_types": ["CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"],
    "addition_embed_type": "text_time", "addition_time_embed_dim": 256, "projection_class_embeddings_input_dim": 2816,
}
VAE = {
    "sample_size": 1024, "block_out_channels": [128, 256, 512, 512], "layers_per_block": 2, "latent_channels": 4,
    "down_block_types": ["DownEncoderBlock2D"] * 4, "up_block_types": ["UpDecoderBlock2D"] * 4,
    "scaling_factor": 0.13025, "force_upcast": True,
}
SCHEDULER = {
    "beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear", "timestep_spacing": "leading",
    "steps_offset": 1,
}

SMALL_TEXT = {"vocab_size": 64, "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 2,
              "num_attention_heads": 2, "projection_dim": 8}
SMALL_UNET = {
    "sample_size": 8, "block_out_channels": [4, 8, 12], "transformer_layers_per_block": [1, 1, 2],
    "attention_head_dim": [1, 2, 3], "cross_attention_dim": 16, "layers_per_block": 1, "norm_num_groups": 4,
    "addition_time_embed_dim": 4, "projection_class_embeddings_input_dim": 32,
}
SMALL_VAE = {"sample_size": 64, "block_out_channels": [4, 8, 8, 8], "layers_per_block": 1, "norm_num_groups": 4}


class Encoder(nn.Module):
    """Text encoder of ids, int64 [n, 77]. Returns its first output (the second encoder: the projection), and the last state but one."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        found = self.encoder(ids, output_hidden_states=True)
        return found[0], found.hidden_states[-2]


class Denoiser(nn.Module):
    """Denoiser that returns the noise in latents, from a time, and from the text's states, projection and sizes."""

    def __init__(self, unet: UNet2DConditionModel) -> None:
        super().__init__()
        self.unet = unet

    def forward(self, latents: Tensor, time: Tensor, states: Tensor, projection: Tensor, sizes: Tensor) -> Tensor:
        further = {"text_embeds": projection, "time_ids": sizes}
        return self.unet(latents, time, states, added_cond_kwargs=further, return_dict=False)[0]


class Decoder(nn.Module):
    """Decoder from latents, [n, 4, h/8, w/8], to images, uint8 [n, h, w, 3]."""

    def __init__(self, vae: AutoencoderKL) -> None:
        super().__init__()
        overflows = vae.dtype == torch.float16 and vae.config.force_upcast
        self.vae = vae.to(torch.float32) if overflows else vae

    def forward(self, latents: Tensor) -> Tensor:
        image = self.vae.decode(latents.to(self.vae.dtype) / self.vae.config.scaling_factor, return_dict=False)[0]
        image = (image * 0.5 + 0.5).clamp(0, 1).permute(0, 2, 3, 1)
        return (image.to(torch.float32) * 255).round().to(torch.uint8)


class StableDiffusion(nn.Module):
    """Network from a prompt's ids of both tokenizers, int32 [n, 77] each, to images, uint8 [n, h, w, 3].

    It repeats diffusers' pipeline with Euler's method, guidance and equal latents for all images, operation by operation. But it
    decodes images one by one, which needs less memory.
    """

    def __init__(self, pipe: StableDiffusionXLPipeline, negative: list[Tensor], latents: Tensor) -> None:
        super().__init__()
        self.encoder, self.encoder_2 = Encoder(pipe.text_encoder), Encoder(pipe.text_encoder_2)
        self.denoiser, self.decoder = Denoiser(pipe.unet), Decoder(pipe.vae)
        self.vocabulary = pipe.text_encoder.config.vocab_size
        self.side = pipe.unet.config.sample_size * pipe.vae_scale_factor
        self.guidance, dtype = GUIDANCE, pipe.unet.dtype
        pipe.scheduler.set_timesteps(STEPS)
        self.sigmas = pipe.scheduler.sigmas.tolist()
        self.register_buffer("times", pipe.scheduler.timesteps)
        self.register_buffer("latents", latents.to(dtype) * pipe.scheduler.init_noise_sigma)
        self.register_buffer("sizes", torch.tensor([[self.side, self.side, 0, 0, self.side, self.side]], dtype=dtype))
        self.register_buffer("negative", negative[0])
        self.register_buffer("negative_2", negative[1])

    def doubled(self, x: Tensor) -> Tensor:
        """Returns a copy of the first row, of the negative prompt, for each other row, followed by the other rows."""
        return torch.cat([x[:1].expand_as(x[1:]), x[1:]])

    def forward(self, ids: Tensor, ids_2: Tensor) -> Tensor:
        first = self.encoder(torch.cat([self.negative, ids.to(torch.int64)]))
        second = self.encoder_2(torch.cat([self.negative_2, ids_2.to(torch.int64)]))
        states = self.doubled(torch.cat([first[1], second[1]], dim=-1))
        projection = self.doubled(second[0])
        sizes = self.sizes.repeat(states.shape[0], 1)
        latents = self.latents.repeat(ids.shape[0], 1, 1, 1)
        for i in range(self.times.shape[0]):
            # Tensors on the CPU, as in diffusers: numbers, or tensors on a GPU, would change the rounding of half precision.
            sigma, following = torch.tensor(self.sigmas[i]), torch.tensor(self.sigmas[i + 1])
            doubled = torch.cat([latents, latents]) / (sigma ** 2 + 1) ** 0.5
            unwanted, wanted = self.denoiser(doubled, self.times[i], states, projection, sizes).chunk(2)
            noise = unwanted + self.guidance * (wanted - unwanted)
            before = latents.to(torch.float32)
            clean = before - sigma * noise
            latents = (before + (before - clean) / sigma * (following - sigma)).to(noise.dtype)
        images: list[Tensor] = []
        for i in range(ids.shape[0]):
            images.append(self.decoder(latents[i:i + 1]))
        return torch.cat(images)


def negative(pipe: StableDiffusionXLPipeline) -> list[Tensor]:
    """Returns the negative prompt's ids, int64 [1, 77], for each text encoder."""
    if pipe.tokenizer is not None:
        return [one(NEGATIVE, padding="max_length", max_length=TOKENS, truncation=True, return_tensors="pt").input_ids
                for one in (pipe.tokenizer, pipe.tokenizer_2)]
    start = pipe.text_encoder.config.vocab_size - 2
    ids = [start, *(i % start for i in NEGATIVE_IDS), start + 1]
    return [torch.tensor([ids + (TOKENS - len(ids)) * [padding]]) for padding in (start + 1, 0)]


def draw(small: bool = False) -> StableDiffusionXLPipeline:
    """Returns the pipeline with random weights from torch's global generator, without tokenizers."""
    text, text_2, unet, vae = TEXT, TEXT_2, UNET, VAE
    if small:
        text, text_2, unet, vae = text | SMALL_TEXT, text_2 | SMALL_TEXT, unet | SMALL_UNET, vae | SMALL_VAE
    return StableDiffusionXLPipeline(
        text_encoder=CLIPTextModel(CLIPTextConfig(**text)), tokenizer=None,
        text_encoder_2=CLIPTextModelWithProjection(CLIPTextConfig(**text_2)), tokenizer_2=None,
        unet=UNet2DConditionModel(**unet), vae=AutoencoderKL(**vae),
        scheduler=EulerDiscreteScheduler(**SCHEDULER), add_watermarker=False,
    )


def read(folder: Path, dtype: torch.dtype) -> StableDiffusionXLPipeline:
    """Reads the pipeline of a folder in the form of MLPerf's reference, or of Hugging Face."""
    where, scheduler = folder / "checkpoint_pipe", folder / "checkpoint_scheduler"
    if not where.is_dir():
        where = scheduler = folder
    half = dtype == torch.float16 and (where / "unet" / "diffusion_pytorch_model.fp16.safetensors").is_file()
    try:
        pipe = StableDiffusionXLPipeline.from_pretrained(
            where, scheduler=EulerDiscreteScheduler.from_pretrained(scheduler, subfolder="scheduler"),
            variant="fp16" if half else None, torch_dtype=dtype, add_watermarker=False, local_files_only=True)
    except Exception as error:  # other folders cause exceptions of many types
        raise ExportError(f"{folder}: not Stable Diffusion XL in diffusers' form: {error}") from error
    parts = "text_encoder", "text_encoder_2", "tokenizer", "tokenizer_2"
    missing = [name for name in parts if getattr(pipe, name) is None]
    if missing:
        raise ExportError(f"{folder}: not Stable Diffusion XL: {', '.join(missing)} missing")
    unusual = [name for name, value in (
        ("prediction_type", pipe.scheduler.config.prediction_type != "epsilon"),
        ("time_cond_proj_dim", pipe.unet.config.time_cond_proj_dim is not None),
        ("latents_mean", pipe.vae.config.latents_mean is not None),
    ) if value]
    if unusual:
        raise ExportError(f"{folder}: its configuration of {', '.join(unusual)} is not supported")
    return pipe


def manifests(model: StableDiffusion) -> dict[str, dict]:
    """Returns two manifests: samples of both tokenizers' ids, and of the first one's, from which the node makes the others."""
    parameters = {"vocabulary": model.vocabulary, "end": model.vocabulary - 1}
    full = {
        "workload": "text-to-image",
        "inputs": [(name, "int32", [TOKENS]) for name in ("ids", "ids_2")],
        "outputs": [("image", "uint8", [model.side, model.side, 3])],
        "parameters": parameters,
    }
    return {NAME: full, f"{NAME}-ids": full | {"parameters": {"samples": "ids"} | parameters}}
