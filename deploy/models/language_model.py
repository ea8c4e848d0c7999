"""Decoders of language models for continuous batching: those of Llama's type, Mixtral's experts too, and GPT-J.

Keys and values of all samples lie in caches that the caller owns: for each layer a tensor [rows, heads, length, width],
changed in place. A sample has a row of its own, or with beams several in succession. The entries are

- `prefill`: a chunk of one prompt into its rows; the last token's state
- `decode`: one further token in each of the first rows; their states
- `choose`: the likeliest token after each state
- `candidates`, `reorder`: for beam search, the best continuations of each group of rows, and rows that others replace
- `sizes`: what a caller has to know to make the caches

`layers.py` and `export.py` are for networks whose samples are tensors.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.jit import Final

from hugging_face import Shape


def weight(*size: int, dtype: torch.dtype) -> nn.Parameter:
    """Room for a weight."""
    return nn.Parameter(torch.empty(size, dtype=dtype), requires_grad=False)


def attend(q: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """Queries [n, heads, tokens, width] to [n, tokens, heads * width]; `keys` and `values` may have fewer heads, each for a group."""
    n, heads, tokens, width = q.shape
    groups = heads // keys.size(1)
    if groups > 1:  # the group becomes part of the queries' length: keys and values are not repeated
        q = q.reshape(n, keys.size(1), groups * tokens, width)
        if tokens > 1:
            mask = mask.repeat(1, 1, groups, 1)
    mixed = F.scaled_dot_product_attention(q, keys, values, mask)
    return mixed.reshape(n, heads, tokens, width).transpose(1, 2).reshape(n, tokens, heads * width)


def rms_norm(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    """Root mean square normalisation, computed at fp32."""
    wide = x.to(torch.float32)
    wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + epsilon)
    return weight * wide.to(x.dtype)


class Mlp(nn.Module):
    """SwiGLU."""

    def __init__(self, shape: Shape, dtype: torch.dtype) -> None:
        super().__init__()
        self.inner = shape.inner
        self.up = weight(2 * shape.inner, shape.hidden, dtype=dtype)  # gate, then up
        self.down = weight(shape.hidden, shape.inner, dtype=dtype)

    def forward(self, x: Tensor, dense: bool) -> Tensor:
        gate, up = F.linear(x, self.up).chunk(2, -1)
        return F.linear(F.silu(gate) * up, self.down)

    @torch.jit.unused
    def places(self, prefix: str) -> dict[str, Tensor]:
        p = f"{prefix}mlp."
        return {f"{p}gate_proj.weight": self.up[:self.inner], f"{p}up_proj.weight": self.up[self.inner:],
                f"{p}down_proj.weight": self.down}


class Experts(nn.Module):
    """Several SwiGLU, of which each token takes the few that its router prefers."""

    experts: Final[int]
    chosen: Final[int]

    def __init__(self, shape: Shape, dtype: torch.dtype) -> None:
        super().__init__()
        self.experts, self.chosen, self.inner = shape.experts, shape.chosen, shape.inner
        self.router = weight(shape.experts, shape.hidden, dtype=dtype)
        self.up = weight(shape.experts, 2 * shape.inner, shape.hidden, dtype=dtype)
        self.down = weight(shape.experts, shape.hidden, shape.inner, dtype=dtype)

    def forward(self, x: Tensor, dense: bool) -> Tensor:
        shares, which = F.softmax(F.linear(x, self.router), 1, dtype=torch.float32).topk(self.chosen, -1)
        shares = (shares / shares.sum(-1, keepdim=True)).to(x.dtype)
        if dense:  # all experts for all tokens: the shapes say nothing of the tokens, so that a device need not report
            gate, up = torch.matmul(x.unsqueeze(0), self.up.transpose(1, 2)).chunk(2, -1)
            y = torch.matmul(F.silu(gate) * up, self.down.transpose(1, 2))
            share = torch.zeros(x.size(0), self.experts, dtype=x.dtype, device=x.device).scatter(1, which, shares)
            share = share.t().unsqueeze(-1)
            return torch.where(share > 0, y * share, torch.zeros_like(y)).sum(0)
        total = torch.zeros_like(x)
        for expert in range(self.experts):
            token, rank = torch.where(which == expert)
            gate, up = F.linear(x[token], self.up[expert]).chunk(2, -1)
            y = F.linear(F.silu(gate) * up, self.down[expert])
            total.index_add_(0, token, y * shares[token, rank].unsqueeze(-1))
        return total

    @torch.jit.unused
    def places(self, prefix: str) -> dict[str, Tensor]:
        p = f"{prefix}block_sparse_moe."
        places = {f"{p}gate.weight": self.router}
        for expert in range(self.experts):
            q = f"{p}experts.{expert}."
            places |= {f"{q}w1.weight": self.up[expert, :self.inner], f"{q}w3.weight": self.up[expert, self.inner:],
                       f"{q}w2.weight": self.down[expert]}
        return places


def projections(fused: Tensor, shape: Shape, prefix: str) -> dict[str, Tensor]:
    """Where queries, keys and values have their parts of one weight."""
    parts = fused.split([shape.heads * shape.width, shape.groups * shape.width, shape.groups * shape.width])
    return {f"{prefix}{name}_proj.weight": part for name, part in zip("qkv", parts, strict=True)}


class LlamaLayer(nn.Module):
    """A layer of Llama's: attention, then the MLP, each after a norm."""

    heads: Final[int]
    groups: Final[int]
    width: Final[int]
    epsilon: Final[float]

    def __init__(self, shape: Shape, dtype: torch.dtype) -> None:
        super().__init__()
        self.shape = shape
        self.heads, self.groups, self.width, self.epsilon = shape.heads, shape.groups, shape.width, shape.epsilon
        self.norm1, self.norm2 = weight(shape.hidden, dtype=dtype), weight(shape.hidden, dtype=dtype)
        self.qkv = weight((shape.heads + 2 * shape.groups) * shape.width, shape.hidden, dtype=dtype)
        self.out = weight(shape.hidden, shape.heads * shape.width, dtype=dtype)
        self.mlp = (Experts if shape.experts else Mlp)(shape, dtype)

    def project(self, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        h = rms_norm(x, self.norm1, self.epsilon)
        y = F.linear(h, self.qkv).view(x.size(0), self.heads + 2 * self.groups, self.width)
        qk, v = y.split([self.heads + self.groups, self.groups], 1)
        half = self.width // 2
        qk = qk * cos + torch.cat([-qk[..., half:], qk[..., :half]], -1) * sin
        return qk[:, :self.heads], qk[:, self.heads:], v, h

    def finish(self, x: Tensor, mixed: Tensor, h: Tensor, dense: bool) -> Tensor:
        x = x + F.linear(mixed, self.out)
        return x + self.mlp(rms_norm(x, self.norm2, self.epsilon), dense)

    @torch.jit.unused
    def places(self, number: int) -> dict[str, Tensor]:
        p = f"model.layers.{number}."
        return {f"{p}input_layernorm.weight": self.norm1, f"{p}post_attention_layernorm.weight": self.norm2,
                f"{p}self_attn.o_proj.weight": self.out} | projections(self.qkv, self.shape, f"{p}self_attn.") \
            | self.mlp.places(p)


class GptjLayer(nn.Module):
    """A layer of GPT-J's: attention and MLP side by side, after one norm."""

    heads: Final[int]
    width: Final[int]
    rotary: Final[int]
    epsilon: Final[float]

    def __init__(self, shape: Shape, dtype: torch.dtype) -> None:
        super().__init__()
        self.shape = shape
        self.heads, self.width, self.rotary, self.epsilon = shape.heads, shape.width, shape.rotary, shape.epsilon
        self.norm, self.norm_bias = weight(shape.hidden, dtype=dtype), weight(shape.hidden, dtype=dtype)
        self.qkv = weight(3 * shape.heads * shape.width, shape.hidden, dtype=dtype)
        self.out = weight(shape.hidden, shape.heads * shape.width, dtype=dtype)
        self.up, self.up_bias = weight(shape.inner, shape.hidden, dtype=dtype), weight(shape.inner, dtype=dtype)
        self.down, self.down_bias = weight(shape.hidden, shape.inner, dtype=dtype), weight(shape.hidden, dtype=dtype)

    def project(self, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        h = F.layer_norm(x, self.norm.shape, self.norm, self.norm_bias, self.epsilon)
        y = F.linear(h, self.qkv).view(x.size(0), 3 * self.heads, self.width)
        qk, v = y.split([2 * self.heads, self.heads], 1)
        turned = qk[..., :self.rotary]
        other = torch.stack([-turned[..., 1::2], turned[..., ::2]], -1).flatten(-2)
        qk = torch.cat([turned * cos + other * sin, qk[..., self.rotary:]], -1)
        return qk[:, :self.heads], qk[:, self.heads:], v, h

    def finish(self, x: Tensor, mixed: Tensor, h: Tensor, dense: bool) -> Tensor:
        inner = F.gelu(F.linear(h, self.up, self.up_bias), approximate="tanh")
        return F.linear(mixed, self.out) + F.linear(inner, self.down, self.down_bias) + x

    @torch.jit.unused
    def places(self, number: int) -> dict[str, Tensor]:
        p = f"transformer.h.{number}."
        return {f"{p}ln_1.weight": self.norm, f"{p}ln_1.bias": self.norm_bias, f"{p}attn.out_proj.weight": self.out,
                f"{p}mlp.fc_in.weight": self.up, f"{p}mlp.fc_in.bias": self.up_bias,
                f"{p}mlp.fc_out.weight": self.down, f"{p}mlp.fc_out.bias": self.down_bias,
                } | projections(self.qkv, self.shape, f"{p}attn.")


class LanguageModel(nn.Module):
    """The whole decoder."""

    gptj: Final[bool]
    epsilon: Final[float]
    layer_count: Final[int]
    groups: Final[int]
    width: Final[int]
    longest: Final[int]
    vocabulary: Final[int]

    def __init__(self, shape: Shape, dtype: torch.dtype) -> None:
        super().__init__()
        self.gptj, self.epsilon, self.tied = shape.gptj, shape.epsilon, shape.tied
        self.layer_count, self.groups, self.width = shape.layers, shape.groups, shape.width
        self.longest, self.vocabulary = shape.longest, shape.vocabulary
        self.embedding = weight(shape.vocabulary, shape.hidden, dtype=dtype)
        self.layers = nn.ModuleList([(GptjLayer if shape.gptj else LlamaLayer)(shape, dtype) for _ in range(shape.layers)])
        self.norm = weight(shape.hidden, dtype=dtype)
        self.head = self.embedding if shape.tied else weight(shape.vocabulary, shape.hidden, dtype=dtype)
        if shape.gptj:
            self.norm_bias, self.head_bias = weight(shape.hidden, dtype=dtype), weight(shape.vocabulary, dtype=dtype)
        self.register_buffer("frequencies", shape.frequencies())  # fp32 at every precision

    @torch.jit.unused
    def places(self) -> dict[str, Tensor]:
        """Where each tensor of a checkpoint belongs, by Hugging Face's names."""
        if self.gptj:
            places = {"transformer.wte.weight": self.embedding, "transformer.ln_f.weight": self.norm,
                      "transformer.ln_f.bias": self.norm_bias, "lm_head.bias": self.head_bias}
        else:
            places = {"model.embed_tokens.weight": self.embedding, "model.norm.weight": self.norm}
        if not self.tied:
            places["lm_head.weight"] = self.head
        for number, layer in enumerate(self.layers):
            places |= layer.places(number)
        return places

    def turns(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines of the rotary embedding, each [n, 1, rotary]."""
        angles = positions.to(torch.float32).unsqueeze(1) * self.frequencies
        angles = angles.repeat_interleave(2, 1) if self.gptj else torch.cat([angles, angles], 1)
        angles = angles.unsqueeze(1)
        return angles.cos().to(self.embedding.dtype), angles.sin().to(self.embedding.dtype)

    def final(self, x: Tensor) -> Tensor:
        if self.gptj:
            return F.layer_norm(x, self.norm.shape, self.norm, self.norm_bias, self.epsilon)
        else:
            return rms_norm(x, self.norm, self.epsilon)

    @torch.jit.export
    def prefill(self, ids: Tensor, row: int, width: int, start: int, keys: list[Tensor], values: list[Tensor]) -> Tensor:
        """Tokens `start` and on of a prompt, int64 [n], into `width` rows from `row` on: the last one's state, [1, hidden]."""
        x = F.embedding(ids, self.embedding)
        end = start + ids.size(0)
        cos, sin = self.turns(torch.arange(start, end, device=x.device))
        mask = torch.full([ids.size(0), end], float("-inf"), dtype=x.dtype, device=x.device).triu(start + 1)[None, None]
        for i, layer in enumerate(self.layers):
            q, k, v, h = layer.project(x, cos, sin)
            keys[i][row:row + width, :, start:end] = k.transpose(0, 1)
            values[i][row:row + width, :, start:end] = v.transpose(0, 1)
            seen = keys[i][row:row + 1, :, :end], values[i][row:row + 1, :, :end]
            mixed = attend(q.transpose(0, 1).unsqueeze(0), seen[0], seen[1], mask)
            x = layer.finish(x, mixed[0], h, False)
        return self.final(x[-1:])

    @torch.jit.export
    def decode(self, ids: Tensor, positions: Tensor, length: int, keys: list[Tensor], values: list[Tensor]) -> Tensor:
        """A token in each of the first rows, int64 [n], at its position below `length`: their states, [n, hidden]."""
        x = F.embedding(ids, self.embedding)
        cos, sin = self.turns(positions)
        rows = torch.arange(ids.size(0), device=x.device)
        hidden = torch.arange(length, device=x.device) > positions.unsqueeze(1)
        mask = torch.zeros(hidden.shape, dtype=x.dtype, device=x.device).masked_fill(hidden, float("-inf"))[:, None, None]
        for i, layer in enumerate(self.layers):
            q, k, v, h = layer.project(x, cos, sin)
            keys[i][rows, :, positions] = k
            values[i][rows, :, positions] = v
            mixed = attend(q.unsqueeze(2), keys[i][:ids.size(0), :, :length], values[i][:ids.size(0), :, :length], mask)
            x = layer.finish(x, mixed[:, 0], h, True)
        return self.final(x)

    def logits(self, states: Tensor) -> Tensor:
        if self.gptj:
            return F.linear(states, self.head, self.head_bias)
        else:
            return F.linear(states, self.head)

    def bar(self, scores: Tensor, early: Tensor, ends: Tensor) -> Tensor:
        """Bar the rows that are `early`, bool [n], from tokens that end an output."""
        never = torch.zeros(early.shape, dtype=scores.dtype, device=scores.device).masked_fill(early, float("-inf"))
        return scores.index_add_(1, ends, never.unsqueeze(1).expand(-1, ends.size(0)))

    @torch.jit.export
    def choose(self, states: Tensor, early: Tensor, ends: Tensor) -> Tensor:
        """The likeliest token after each state, int64 [n]."""
        return self.bar(self.logits(states), early, ends).argmax(-1)

    @torch.jit.export
    def candidates(self, states: Tensor, scores: Tensor, early: Tensor, ends: Tensor, width: int, keep: int) -> Tensor:
        """The `keep` best continuations of each `width` rows, best first: float64 [2, n / width, keep], of which first the
        sums of log-probabilities, `scores` (fp32 [n]) included, then row in the group * vocabulary + token."""
        each = self.bar(F.log_softmax(self.logits(states).to(torch.float32), -1), early, ends) + scores.unsqueeze(1)
        best, which = each.view(states.size(0) // width, width * self.vocabulary).topk(keep)
        return torch.stack([best.to(torch.float64), which.to(torch.float64)])

    @torch.jit.export
    def reorder(self, source: Tensor, start: int, end: int, keys: list[Tensor], values: list[Tensor]) -> None:
        """Each of the first rows becomes that of `source`, int64 [n], from position `start` to `end`."""
        for i in range(self.layer_count):
            for cache in (keys[i], values[i]):
                cache[:source.size(0), :, start:end] = cache[:, :, start:end].index_select(0, source)

    @torch.jit.export
    def sizes(self) -> dict[str, int]:
        """What a caller has to know; `groups` are the heads of keys and values, `longest` counts positions."""
        return {"layers": self.layer_count, "groups": self.groups, "width": self.width, "longest": self.longest,
                "vocabulary": self.vocabulary}
