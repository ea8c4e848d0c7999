"""Reads Hugging Face's files of a language model: config.json, and weights as safetensors."""

import json
import math
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from torchscript import ExportError, some

# Tensors that checkpoints may contain, but that follow from the configuration.
FOLLOWS = ("rotary_emb.inv_freq", ".attn.bias", ".attn.masked_bias")

# Keys with which Llama 3.1 stretches the rotary embedding.
STRETCH = ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")


@dataclass
class Shape:
    """Shape of a decoder, from its configuration."""

    gptj: bool
    vocabulary: int
    hidden: int
    layers: int
    heads: int
    groups: int  # heads of keys and values
    width: int  # width of a head
    inner: int
    experts: int  # number of experts, or 0
    chosen: int  # number of experts of a token
    rotary: int  # part of a head's width that rotates
    theta: float
    scaling: dict | None  # Llama 3.1's scaling of the rotary embedding
    epsilon: float
    longest: int  # maximum number of positions
    tied: bool  # set if the head is the embedding
    spread: float  # standard deviation of random weights
    ends: list[int]

    def frequencies(self) -> Tensor:
        """Returns the frequencies of the rotary embedding, fp32 [rotary / 2]. Llama 3.1 lowers the low ones."""
        fast = 1.0 / self.theta ** (torch.arange(0, self.rotary, 2).to(torch.float32) / self.rotary)
        if self.scaling is None:
            return fast
        s = self.scaling
        slow, turns = fast / s["factor"], s["original_max_position_embeddings"] * fast / (2 * math.pi)
        between = (turns - s["low_freq_factor"]) / (s["high_freq_factor"] - s["low_freq_factor"])
        share = between.clamp(0, 1)
        return (1 - share) * slow + share * fast


def read_shape(path: Path) -> Shape:
    """Reads a config.json."""
    try:
        return shape_of(json.loads(path.read_text()), str(path))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ExportError(f"{path}: not JSON: {error}") from error
    except KeyError as error:
        raise ExportError(f"{path}: not a configuration of a language model: it has no {error}") from error
    except (TypeError, AttributeError) as error:
        raise ExportError(f"{path}: not a configuration of a language model: {error}") from error


def shape_of(config: dict, path: str) -> Shape:
    """Returns the shape that a configuration describes."""
    kind = config["model_type"]

    def only(key: str, *allowed: object) -> None:
        if config.get(key, allowed[0]) not in allowed:
            raise ExportError(f"{path}: {key} = {config[key]} is not supported; it must be {allowed[0]}")

    ends = config.get("eos_token_id")
    ends = ends if isinstance(ends, list) else [] if ends is None else [ends]
    spread = config.get("initializer_range", 0.02)
    if kind == "gptj":
        only("activation_function", "gelu_new")
        hidden, heads = config["n_embd"], config["n_head"]
        return Shape(
            gptj=True, vocabulary=config["vocab_size"], hidden=hidden, layers=config["n_layer"], heads=heads, groups=heads,
            width=hidden // heads, inner=config.get("n_inner") or 4 * hidden, experts=0, chosen=0,
            rotary=config.get("rotary_dim") or hidden // heads, theta=10000.0, scaling=None,
            epsilon=config.get("layer_norm_epsilon", 1e-5), longest=config["n_positions"],
            tied=config.get("tie_word_embeddings", False), spread=spread, ends=ends)
    if kind not in ("llama", "mistral", "mixtral"):
        raise ExportError(f"{path}: model_type {kind} is not supported; it must be llama, mistral, mixtral or gptj")
    only("hidden_act", "silu")
    only("attention_bias", False)
    only("mlp_bias", False)
    # Before transformers 5 these keys were in two tables.
    rope = {"rope_theta": config.get("rope_theta", 10000.0)} | (config.get("rope_scaling") or {})
    rope = rope | (config.get("rope_parameters") or {})
    scaling, type_ = None, rope.get("rope_type", rope.get("type", "default"))
    if type_ == "llama3":
        scaling = {key: float(rope[key]) for key in STRETCH}
    elif type_ != "default":
        raise ExportError(f"{path}: a rotary embedding of type {type_} is not supported; it must be llama3 or default")
    hidden, heads, longest = config["hidden_size"], config["num_attention_heads"], config["max_position_embeddings"]
    width = config.get("head_dim") or hidden // heads
    return Shape(
        gptj=False, vocabulary=config["vocab_size"], hidden=hidden, layers=config["num_hidden_layers"], heads=heads,
        groups=config.get("num_key_value_heads") or heads, width=width, inner=config["intermediate_size"],
        experts=config["num_local_experts"] if kind == "mixtral" else 0,
        chosen=config["num_experts_per_tok"] if kind == "mixtral" else 0,
        rotary=width, theta=float(rope["rope_theta"]), scaling=scaling, epsilon=config["rms_norm_eps"],
        # Up to the window's length, attention to the window is full attention.
        longest=min(longest, config.get("sliding_window") or longest),
        tied=config.get("tie_word_embeddings", False), spread=spread, ends=ends)


def read_weights(folder: Path, places: dict[str, Tensor]) -> None:
    """Copies the tensors of a folder's safetensors into `places`, one file and tensor after the other."""
    from safetensors import SafetensorError, safe_open  # not needed for random weights

    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise ExportError(f"{folder}: no *.safetensors; download the model's files, or pass only config.json for random weights")
    left, strange = dict(places), []
    for path in files:
        try:
            with safe_open(path, framework="pt") as file:
                for name in file.keys():
                    if name in left:
                        fill(left.pop(name), file.get_tensor(name), f"{path}: {name}")
                    elif not name.endswith(FOLLOWS) and not (name == "lm_head.weight" and name not in places):
                        strange.append(name)
        except SafetensorError as error:
            raise ExportError(f"{path}: {error}; download it again") from error
    faults = [f"{what} {some(names)}" for what, names in (("missing:", list(left)), ("unexpected:", strange)) if names]
    if faults:
        raise ExportError(f"{folder}: the weights do not match config.json; " + "; ".join(faults))


def fill(place: Tensor, tensor: Tensor, what: str) -> None:
    """Copies a tensor into `place`, converted to its precision."""
    if tensor.shape != place.shape:
        raise ExportError(f"{what} is {list(tensor.shape)}, but must be {list(place.shape)} according to config.json")
    place.copy_(tensor)


def draw_weights(places: dict[str, Tensor], spread: float) -> None:
    """Draws weights from torch's global generator, equal at every precision. Norms become 1, biases 0."""
    for name, place in places.items():
        if place.dim() > 1:
            place.copy_(torch.randn(place.shape) * spread)
        else:
            place.fill_(0.0 if name.endswith("bias") else 1.0)
