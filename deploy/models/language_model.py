"""Decoders of language models for continuous batching: Llama, Mistral, Mixtral and GPT-J.

Caches that the caller owns hold keys and values of all samples. Each layer has a tensor [rows, positions, heads, width], which is
changed in place; the heads of keys come before the heads of values. A sample has one row, or with beams several consecutive rows. The
entries are

- `prefill`: computes chunks of prompts into their rows; returns the state of the last token of each
- `decode`: computes one token in each of the first rows; returns their states
- `choose`: returns the likeliest token after each state
- `candidates`, `reorder`: for beam search, returns the best continuations of each group of rows, and replaces rows by others
- `sizes`: returns the sizes that a caller needs to make the caches
- `constants`: returns the tensors beside the weights, which a package uses too

`layers.py` and `export.py` are for networks whose samples are tensors.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.jit import Final

from hugging_face import Shape


def weight(*size: int, dtype: torch.dtype) -> nn.Parameter:
    """Returns an uninitialised weight."""
    return nn.Parameter(torch.empty(size, dtype=dtype), requires_grad=False)


def causal(positions: Tensor, length: int, dtype: torch.dtype) -> Tensor:
    """Returns a mask for queries at `positions`, int64 [n], over keys at positions below `length`: [n, length]."""
    later = torch.arange(length, device=positions.device) > positions.unsqueeze(1)
    return later.to(dtype).masked_fill(later, float("-inf"))


class Mlp(nn.Module):
    """SwiGLU of `h`, added to `x`."""

    def __init__(self, shape: Shape, dtype: torch.dtype) -> None:
        super().__init__()
        self.inner = shape.inner
        self.up = weight(2 * shape.inner, shape.hidden, dtype=dtype)  # gate, then up
        self.down = weight(shape.hidden, shape.inner, dtype=dtype)

    def forward(self, x: Tensor, h: Tensor, dense: bool) -> Tensor:
        gate, up = F.linear(h, self.up).chunk(2, -1)
        return x.addmm_(F.silu(gate) * up, self.down.t())

    @torch.jit.unused
    def places(self, prefix: str) -> dict[str, Tensor]:
        p = f"{prefix}mlp."
        return {f"{p}gate_proj.weight": self.up[:self.inner], f"{p}up_proj.weight": self.up[self.inner:],
                f"{p}down_proj.weight": self.down}


class Experts(nn.Module):
    """SwiGLU experts of `h`, added to `x`. A router chooses a few experts for each token."""

    experts: Final[int]
    chosen: Final[int]

    def __init__(self, shape: Shape, dtype: torch.dtype) -> None:
        super().__init__()
        self.experts, self.chosen, self.inner = shape.experts, shape.chosen, shape.inner
        self.router = weight(shape.experts, shape.hidden, dtype=dtype)
        self.up = weight(shape.experts, 2 * shape.inner, shape.hidden, dtype=dtype)
        self.down = weight(shape.experts, shape.hidden, shape.inner, dtype=dtype)

    def forward(self, x: Tensor, h: Tensor, dense: bool) -> Tensor:
        shares, which = F.softmax(F.linear(h, self.router), 1, dtype=torch.float32).topk(self.chosen, -1)
        shares = (shares / shares.sum(-1, keepdim=True)).to(h.dtype)
        if dense:  # all experts for all tokens: shapes do not depend on the routing, so that the host need not wait for it
            gate, up = torch.matmul(h.unsqueeze(0), self.up.transpose(1, 2)).chunk(2, -1)
            y = torch.matmul(F.silu(gate) * up, self.down.transpose(1, 2))
            share = torch.zeros(h.size(0), self.experts, dtype=h.dtype, device=h.device).scatter(1, which, shares)
            share = share.t().unsqueeze(-1)
            return x + torch.where(share > 0, y * share, torch.zeros_like(y)).sum(0)
        total = torch.zeros_like(h)
        for expert in range(self.experts):
            token, rank = torch.where(which == expert)
            gate, up = F.linear(h[token], self.up[expert]).chunk(2, -1)
            y = F.linear(F.silu(gate) * up, self.down[expert])
            total.index_add_(0, token, y * shares[token, rank].unsqueeze(-1))
        return x + total

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
    """Returns the parts of one weight for queries, keys and values, by name."""
    parts = fused.split([shape.heads * shape.width, shape.groups * shape.width, shape.groups * shape.width])
    return {f"{prefix}{name}_proj.weight": part for name, part in zip("qkv", parts, strict=True)}


class LlamaLayer(nn.Module):
    """Layer of Llama: attention, then the MLP, each after a norm."""

    width: Final[int]
    epsilon: Final[float]

    def __init__(self, shape: Shape, dtype: torch.dtype) -> None:
        super().__init__()
        self.shape = shape
        self.width, self.epsilon = shape.width, shape.epsilon
        self.norm1, self.norm2 = weight(shape.hidden, dtype=dtype), weight(shape.hidden, dtype=dtype)
        self.qkv = weight((shape.heads + 2 * shape.groups) * shape.width, shape.hidden, dtype=dtype)
        self.out = weight(shape.hidden, shape.heads * shape.width, dtype=dtype)
        self.mlp = (Experts if shape.experts else Mlp)(shape, dtype)

    def project(self, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
        h = torch.rms_norm(x, self.norm1.shape, self.norm1, self.epsilon)
        y = F.linear(h, self.qkv).view(x.size(0), -1, self.width)
        first, second = y.chunk(2, -1)
        return torch.addcmul(y * cos, torch.cat([second, first], -1), sin), h

    def finish(self, x: Tensor, mixed: Tensor, h: Tensor, dense: bool) -> Tensor:
        x = x.addmm_(mixed, self.out.t())  # in place, which saves a kernel for the sum
        return self.mlp(x, torch.rms_norm(x, self.norm2.shape, self.norm2, self.epsilon), dense)

    @torch.jit.unused
    def places(self, number: int) -> dict[str, Tensor]:
        p = f"model.layers.{number}."
        return {f"{p}input_layernorm.weight": self.norm1, f"{p}post_attention_layernorm.weight": self.norm2,
                f"{p}self_attn.o_proj.weight": self.out} | projections(self.qkv, self.shape, f"{p}self_attn.") \
            | self.mlp.places(p)


class GptjLayer(nn.Module):
    """Layer of GPT-J: attention and MLP in parallel, after one norm."""

    width: Final[int]
    epsilon: Final[float]

    def __init__(self, shape: Shape, dtype: torch.dtype) -> None:
        super().__init__()
        self.shape = shape
        self.width, self.epsilon = shape.width, shape.epsilon
        self.norm, self.norm_bias = weight(shape.hidden, dtype=dtype), weight(shape.hidden, dtype=dtype)
        self.qkv = weight(3 * shape.heads * shape.width, shape.hidden, dtype=dtype)
        self.out = weight(shape.hidden, shape.heads * shape.width, dtype=dtype)
        self.up, self.up_bias = weight(shape.inner, shape.hidden, dtype=dtype), weight(shape.inner, dtype=dtype)
        self.down, self.down_bias = weight(shape.hidden, shape.inner, dtype=dtype), weight(shape.hidden, dtype=dtype)

    def project(self, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
        h = F.layer_norm(x, self.norm.shape, self.norm, self.norm_bias, self.epsilon)
        y = F.linear(h, self.qkv).view(x.size(0), -1, self.width)
        other = torch.stack([y[..., 1::2], y[..., ::2]], -1).flatten(-2)
        return torch.addcmul(y * cos, other, sin), h

    def finish(self, x: Tensor, mixed: Tensor, h: Tensor, dense: bool) -> Tensor:
        inner = F.gelu(F.linear(h, self.up, self.up_bias), approximate="tanh")
        return x.addmm_(mixed, self.out.t()).addmm_(inner, self.down.t()).add_(self.down_bias)

    @torch.jit.unused
    def places(self, number: int) -> dict[str, Tensor]:
        p = f"transformer.h.{number}."
        return {f"{p}ln_1.weight": self.norm, f"{p}ln_1.bias": self.norm_bias, f"{p}attn.out_proj.weight": self.out,
                f"{p}mlp.fc_in.weight": self.up, f"{p}mlp.fc_in.bias": self.up_bias,
                f"{p}mlp.fc_out.weight": self.down, f"{p}mlp.fc_out.bias": self.down_bias,
                } | projections(self.qkv, self.shape, f"{p}attn.")


def turning(shape: Shape) -> Tensor:
    """Returns the angle by which each element of queries, keys and values rotates per position, [heads, width].

    Its sign is the sign of the element that is mixed in. Values, and elements beyond `rotary`, do not rotate.
    """
    angles = shape.frequencies()
    signed = torch.stack([-angles, angles], -1).flatten() if shape.gptj else torch.cat([-angles, angles])
    turned = torch.zeros(shape.heads + 2 * shape.groups, shape.width)
    turned[:shape.heads + shape.groups, :shape.rotary] = signed
    return turned


class LanguageModel(nn.Module):
    """Decoder of a language model."""

    gptj: Final[bool]
    epsilon: Final[float]
    layer_count: Final[int]
    heads: Final[int]
    groups: Final[int]
    sharing: Final[int]
    width: Final[int]
    longest: Final[int]
    vocabulary: Final[int]

    def __init__(self, shape: Shape, dtype: torch.dtype) -> None:
        super().__init__()
        self.gptj, self.epsilon, self.tied = shape.gptj, shape.epsilon, shape.tied
        self.layer_count, self.groups, self.width = shape.layers, shape.groups, shape.width
        self.heads, self.sharing = shape.heads, shape.heads // shape.groups
        self.longest, self.vocabulary = shape.longest, shape.vocabulary
        self.embedding = weight(shape.vocabulary, shape.hidden, dtype=dtype)
        self.layers = nn.ModuleList([(GptjLayer if shape.gptj else LlamaLayer)(shape, dtype) for _ in range(shape.layers)])
        self.norm = weight(shape.hidden, dtype=dtype)
        self.head = self.embedding if shape.tied else weight(shape.vocabulary, shape.hidden, dtype=dtype)
        if shape.gptj:
            self.norm_bias, self.head_bias = weight(shape.hidden, dtype=dtype), weight(shape.vocabulary, dtype=dtype)
        self.register_buffer("turning", turning(shape))  # fp32 at every precision

    @torch.jit.unused
    def places(self) -> dict[str, Tensor]:
        """Returns the weights by Hugging Face's names, as views to copy a checkpoint into."""
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
        """Returns cosines and sines of the rotary embedding, each [n, heads of queries, keys and values, width]."""
        angles = positions.to(torch.float32).view(-1, 1, 1) * self.turning
        return angles.cos().to(self.embedding.dtype), angles.sin().to(self.embedding.dtype)

    def final(self, x: Tensor) -> Tensor:
        if self.gptj:
            return F.layer_norm(x, self.norm.shape, self.norm, self.norm_bias, self.epsilon)
        else:
            return torch.rms_norm(x, self.norm.shape, self.norm, self.epsilon)

    def attend(self, q: Tensor, seen: Tensor, mask: Tensor) -> Tensor:
        """Returns attention for queries [n, groups, queries of a group, width], in the same shape.

        `seen`, [n, positions, heads, width], is a part of the cache. Heads that share keys and values are queries of one group, so
        that keys and values are not repeated.
        """
        keys, values = seen.transpose(1, 2).chunk(2, 1)
        return F.scaled_dot_product_attention(q, keys, values, mask)

    def attend_to_itself(self, q: Tensor, kv: Tensor) -> Tensor:
        """Returns attention for the first chunk of a prompt, [groups, queries of a group, tokens, width].

        `q` is [heads, tokens, width], and `kv` [tokens, heads of keys and then of values, width]. Without a mask, faster kernels
        compute it. Groups are batches here, so that heads share keys and values without copies.
        """
        keys, values = kv.transpose(0, 1).unsqueeze(1).expand(-1, self.sharing, -1, -1).chunk(2, 0)
        return F.scaled_dot_product_attention(q.unflatten(0, [self.groups, self.sharing]), keys, values, is_causal=True)

    @torch.jit.export
    def prefill(self, ids: Tensor, positions: Tensor, rows: list[int], starts: list[int], counts: list[int], width: int,
                caches: list[Tensor]) -> Tensor:
        """Computes chunks of prompts, of `counts` tokens each; returns the states of their last tokens, [chunks, hidden].

        A chunk fills `width` rows from its entry of `rows`, at positions from its entry of `starts`. `ids` and `positions`, int64
        [n], contain all chunks one after the other.
        """
        x = F.embedding(ids, self.embedding)
        cos, sin = self.turns(positions)
        masks, begins, ends, begin = [x for _ in rows], [0 for _ in rows], [0 for _ in rows], 0
        for chunk, count in enumerate(counts):
            begins[chunk] = begin
            if starts[chunk] > 0:
                # Rounding keeps the number of different shapes small, as in `decode`.
                ends[chunk] = min((starts[chunk] + count + 63) // 64 * 64, caches[0].size(1))
                masks[chunk] = causal(positions[begin:begin + count], ends[chunk], x.dtype).repeat(self.sharing, 1)
            begin += count
        for i, layer in enumerate(self.layers):
            y, h = layer.project(x, cos, sin)
            mixed = [x for _ in rows]
            for chunk, count in enumerate(counts):
                q, kv = y.narrow(0, begins[chunk], count).split([self.heads, 2 * self.groups], 1)
                start, row = starts[chunk], rows[chunk]
                caches[i][row:row + width, start:start + count] = kv
                q = q.transpose(0, 1)
                if start == 0:
                    one = self.attend_to_itself(q, kv)
                else:
                    q = q.reshape(1, self.groups, self.sharing * count, self.width)
                    one = self.attend(q, caches[i][row:row + 1, :ends[chunk]], masks[chunk])
                mixed[chunk] = one.reshape(self.heads, count, self.width).transpose(0, 1).reshape(count, -1)
            x = layer.finish(x, torch.cat(mixed), h, False)
        lasts = [x[begins[chunk] + count - 1] for chunk, count in enumerate(counts)]
        return self.final(torch.stack(lasts))

    @torch.jit.export
    def decode(self, ids: Tensor, positions: Tensor, length: int, caches: list[Tensor]) -> Tensor:
        """Computes a token in each of the first rows, int64 [n], at its position below `length`; returns the states, [n, hidden]."""
        x = F.embedding(ids, self.embedding)
        n = ids.size(0)
        cos, sin = self.turns(positions)
        rows = torch.arange(n, device=x.device)
        mask = causal(positions, length, x.dtype).view(n, 1, 1, length)
        for i, layer in enumerate(self.layers):
            y, h = layer.project(x, cos, sin)
            q, kv = y.split([self.heads, 2 * self.groups], 1)
            caches[i][rows, positions] = kv
            q = q.view(n, self.groups, self.sharing, self.width)
            mixed = self.attend(q, caches[i].narrow(0, 0, n).narrow(1, 0, length), mask)
            x = layer.finish(x, mixed.reshape(n, -1), h, True)
        return self.final(x)

    def logits(self, states: Tensor) -> Tensor:
        if self.gptj:
            return F.linear(states, self.head, self.head_bias)
        else:
            return F.linear(states, self.head)

    def bar(self, scores: Tensor, early: Tensor | None, ends: Tensor) -> Tensor:
        """Excludes tokens that end an output from the rows that are `early`, bool [n]."""
        if early is None:
            return scores
        never = torch.zeros(early.shape, dtype=scores.dtype, device=scores.device).masked_fill(early, float("-inf"))
        return scores.index_add_(1, ends, never.unsqueeze(1).expand(-1, ends.size(0)))

    @torch.jit.export
    def choose(self, states: Tensor, early: Tensor | None, ends: Tensor) -> Tensor:
        """Returns the likeliest token after each state, int64 [n]."""
        return self.bar(self.logits(states), early, ends).argmax(-1)

    @torch.jit.export
    def candidates(self, states: Tensor, scores: Tensor, early: Tensor | None, ends: Tensor, width: int, keep: int) -> Tensor:
        """Returns the `keep` best continuations of each `width` rows, best first: float64 [2, n / width, keep].

        The first part holds sums of log-probabilities, including `scores` (fp32 [n]); the second holds row in the group *
        vocabulary + token.
        """
        each = self.bar(F.log_softmax(self.logits(states).to(torch.float32), -1), early, ends) + scores.unsqueeze(1)
        best, which = each.view(states.size(0) // width, width * self.vocabulary).topk(keep)
        return torch.stack([best.to(torch.float64), which.to(torch.float64)])

    @torch.jit.export
    def reorder(self, source: Tensor, start: int, end: int, caches: list[Tensor]) -> None:
        """Replaces each of the first rows by its row in `source`, int64 [n], from position `start` to `end`."""
        for i in range(self.layer_count):
            caches[i][:source.size(0), start:end] = caches[i][:, start:end].index_select(0, source)

    @torch.jit.export
    def constants(self) -> dict[str, Tensor]:
        """Returns the tensors that are not weights, for a package of `Step`."""
        return {"turning": self.turning}

    @torch.jit.export
    def sizes(self) -> dict[str, int]:
        """Returns the sizes that a caller needs.

        `entries` is the version of the entries, `groups` the number of heads of keys and values, `longest` the maximum number of
        positions.
        """
        return {"entries": 2, "layers": self.layer_count, "groups": self.groups, "width": self.width,
                "longest": self.longest, "vocabulary": self.vocabulary}


class Step(nn.Module):
    """`decode` with only tensors as arguments: `length` is the length of `seen`. Without beams it also chooses the likeliest tokens."""

    def __init__(self, model: LanguageModel, chooses: bool) -> None:
        super().__init__()
        self.model, self.chooses = model, chooses

    def forward(self, ids: Tensor, positions: Tensor, seen: Tensor, *caches: Tensor) -> tuple[Tensor, ...]:
        states = self.model.decode(ids, positions, seen.size(0), list(caches))
        return (states, self.model.logits(states).argmax(-1)) if self.chooses else (states,)
