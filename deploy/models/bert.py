"""BERT-large for SQuAD question answering, with the names of Hugging Face's BertForQuestionAnswering.

Devlin et al., <https://arxiv.org/abs/1810.04805>; sizes from mlcommons/inference, language/bert/bert_config.json.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

NAME = "bert"
SEPARATOR, SMALL_SEPARATOR = 102, 3  # id that ends the question: [SEP] of bert-large-uncased; id of the small network
LONGEST = 384  # maximum number of tokens of a sample in MLPerf


class Embeddings(nn.Module):
    """Embeddings of ids and segments, int64 [n, tokens], as float [n, tokens, hidden]."""

    def __init__(self, vocabulary: int, positions: int, hidden: int) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(vocabulary, hidden)
        self.position_embeddings = nn.Embedding(positions, hidden)
        self.token_type_embeddings = nn.Embedding(2, hidden)
        self.LayerNorm = nn.LayerNorm(hidden, eps=1e-12)

    def forward(self, ids: Tensor, segments: Tensor) -> Tensor:
        place = self.position_embeddings.weight[:ids.shape[1]]
        return self.LayerNorm(self.word_embeddings(ids) + self.token_type_embeddings(segments) + place)


class SelfAttention(nn.Module):
    """Attention of [n, tokens, hidden] to a tensor of the same shape. Adds `mask`, [n, 1, 1, tokens], to the scores."""

    def __init__(self, hidden: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(hidden, hidden) for _ in range(3))

    def split(self, x: Tensor) -> Tensor:
        n, tokens, hidden = x.shape
        return x.view(n, tokens, self.heads, hidden // self.heads).transpose(1, 2)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2)


class JoinedAttention(nn.Module):
    """Self-attention that computes queries, keys and values with one matrix."""

    def __init__(self, apart: SelfAttention) -> None:
        super().__init__()
        self.heads = apart.heads
        parts = (apart.query, apart.key, apart.value)
        self.weight = nn.Parameter(torch.cat([part.weight for part in parts]))
        self.bias = nn.Parameter(torch.cat([part.bias for part in parts]))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        n, tokens, hidden = x.shape
        joined = F.linear(x, self.weight, self.bias).view(n, tokens, 3, self.heads, hidden // self.heads)
        q, k, v = joined.permute(2, 0, 3, 1, 4).unbind(0)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2)


class Output(nn.Module):
    """Dense layer whose result is added to `before` and normalised."""

    def __init__(self, inner: int, hidden: int) -> None:
        super().__init__()
        self.dense = nn.Linear(inner, hidden)
        self.LayerNorm = nn.LayerNorm(hidden, eps=1e-12)

    def forward(self, x: Tensor, before: Tensor) -> Tensor:
        return self.LayerNorm(self.dense(x) + before)


class Attention(nn.Module):
    """Self-attention and its output layer."""

    def __init__(self, hidden: int, heads: int) -> None:
        super().__init__()
        self.self = SelfAttention(hidden, heads)
        self.output = Output(hidden, hidden)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return self.output(self.self(x, mask), x)


class Intermediate(nn.Module):
    """Wide layer, with the exact GELU."""

    def __init__(self, hidden: int, inner: int) -> None:
        super().__init__()
        self.dense = nn.Linear(hidden, inner)

    def forward(self, x: Tensor) -> Tensor:
        return F.gelu(self.dense(x))


class Layer(nn.Module):
    """Layer of the encoder."""

    def __init__(self, hidden: int, heads: int, inner: int) -> None:
        super().__init__()
        self.attention = Attention(hidden, heads)
        self.intermediate = Intermediate(hidden, inner)
        self.output = Output(inner, hidden)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = self.attention(x, mask)
        return self.output(self.intermediate(x), x)


class Encoder(nn.Module):
    """Encoder: all layers."""

    def __init__(self, layers: int, hidden: int, heads: int, inner: int) -> None:
        super().__init__()
        self.layer = nn.ModuleList([Layer(hidden, heads, inner) for _ in range(layers)])

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        for layer in self.layer:
            x = layer(x, mask)
        return x


class Body(nn.Module):
    """Embeddings and encoder."""

    def __init__(self, layers: int, hidden: int, heads: int, inner: int, vocabulary: int, positions: int) -> None:
        super().__init__()
        self.embeddings = Embeddings(vocabulary, positions, hidden)
        self.encoder = Encoder(layers, hidden, heads, inner)

    def forward(self, ids: Tensor, mask: Tensor, segments: Tensor) -> Tensor:
        return self.encoder(self.embeddings(ids, segments), mask)


class Answering(nn.Module):
    """Part with weights. Returns [n, tokens, 2]: logits of an answer's start and end at each token."""

    def __init__(self, layers: int, hidden: int, heads: int, inner: int, vocabulary: int, positions: int) -> None:
        super().__init__()
        self.bert = Body(layers, hidden, heads, inner, vocabulary, positions)
        self.qa_outputs = nn.Linear(hidden, 2)

    def forward(self, ids: Tensor, mask: Tensor, segments: Tensor) -> Tensor:
        return self.qa_outputs(self.bert(ids, mask, segments))


class Bert(nn.Module):
    """Network from ids, mask and segments, int32 or int64 [n, tokens], to start and end logits, each float32 [n, tokens].

    A token that `mask` hides (0) changes no other token's logits. At most `positions` tokens.
    """

    def __init__(self, layers: int = 24, hidden: int = 1024, heads: int = 16, inner: int = 4096,
                 vocabulary: int = 30522, positions: int = 512, separator: int = SEPARATOR,
                 longest: int = LONGEST) -> None:
        super().__init__()
        self.vocabulary, self.separator, self.longest = vocabulary, separator, longest
        self.network = Answering(layers, hidden, heads, inner, vocabulary, positions)

    def forward(self, input_ids: Tensor, input_mask: Tensor, segment_ids: Tensor) -> tuple[Tensor, Tensor]:
        hidden = (input_mask == 0)[:, None, None, :]
        weight = self.network.qa_outputs.weight
        mask = torch.zeros(hidden.shape, dtype=weight.dtype, device=hidden.device).masked_fill(hidden, float("-inf"))
        logits = self.network(input_ids.to(torch.int64), mask, segment_ids.to(torch.int64)).to(torch.float32)
        return logits[:, :, 0].contiguous(), logits[:, :, 1].contiguous()


def build(small: bool = False) -> Bert:
    """Returns the network with random weights from torch's global generator."""
    model = Bert(2, 32, 4, 128, 200, 64, SMALL_SEPARATOR, 64) if small else Bert()
    for module in model.modules():
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.2 if small else 0.02)  # BERT uses 0.02
        if isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)
    nn.init.normal_(model.network.qa_outputs.weight, std=0.2)
    return model.eval()


def prepare(model: Bert) -> None:
    """Joins the matrices of attention, in place."""
    for layer in model.network.bert.encoder.layer:
        layer.attention.self = JoinedAttention(layer.attention.self)


def examples(model: Bert, n: int) -> tuple[Tensor, ...]:
    """Returns `n` samples of noise; the last one is shorter and padded."""
    ids = torch.randint(10, model.vocabulary, (n, 24), dtype=torch.int32)
    mask = torch.ones_like(ids)
    segments = (torch.arange(24) > 8).to(torch.int32).expand(n, -1).clone()
    for tensor in (ids, mask, segments):
        tensor[-1, 15:] = 0
    return ids, mask, segments


def rename(key: str) -> str | None:
    """Returns the name in `network` of a weights file's key; None for the pooler, which question answering does not use."""
    return None if key.startswith("bert.pooler.") or key.endswith(".position_ids") else key


def manifests(model: Bert) -> dict[str, dict]:
    """Returns two manifests: samples with all three tensors, and samples of ids, from which the node makes the other two."""
    longest = {"max_tokens": model.longest, "vocabulary": model.vocabulary}
    full = {
        "workload": "question-answering",
        "inputs": [(name, "int32", ["tokens"]) for name in ("input_ids", "input_mask", "segment_ids")],
        "outputs": [(name, "float32", ["tokens"]) for name in ("start_logits", "end_logits")],
        "parameters": longest,
    }
    ids = {"samples": "ids", "separator": model.separator}
    return {NAME: full, f"{NAME}-ids": full | {"parameters": ids | longest}}
