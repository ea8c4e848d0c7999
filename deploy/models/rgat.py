"""R-GAT, MLPerf's graph neural network, which classifies a paper by its neighbourhood in IGBH.

Sizes, sampling and layers: mlcommons/inference v5.0.1, graph/R-GAT (backend_dgl.py, dgl_utilities/components.py and
pyg_sampler.py), with DGL's GATConv. Veličković et al., "Graph Attention Networks", <https://arxiv.org/abs/1710.10903>.
The TorchScript file includes sampling and reading features: rgat_graph.py.
"""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rgat_graph import FANOUTS, RELATIONS, TYPES, Graph, Subgraphs, write_random_graph

NAME = "rgat"
PAPERS = 269_346_174
SMALL_PAPERS = 300
SLOPE = 0.2  # slope of GATConv's leaky ReLU


class Matrix(nn.Module):
    """Weight of a layer. With nn.Linear, files would differ between runs, since its constants are written in any order."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(hidden, width))


class Dense(Matrix):
    """Weight and bias of a layer."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__(width, hidden)
        self.bias = nn.Parameter(torch.zeros(hidden))


class Attention(nn.Module):
    """DGL's GATConv for one relation.

    It sums source features, with a head's weights, before multiplying by `fc` instead of afterwards. The result is the same up to
    rounding, and there are far fewer targets than sources.
    """

    def __init__(self, width: int, hidden: int, heads: int) -> None:
        super().__init__()
        self.heads, self.slope = heads, SLOPE
        self.fc = Matrix(width, hidden)
        self.attn_l = nn.Parameter(torch.empty(1, heads, hidden // heads))
        self.attn_r = nn.Parameter(torch.empty(1, heads, hidden // heads))
        self.bias = nn.Parameter(torch.zeros(hidden))

    def forward(self, sources: Tensor, targets: Tensor, neighbours: Tensor, starts: Tensor) -> Tensor:
        """Returns [m, hidden] for features [n, width] and [m, width]. `starts` [m + 1] holds the first neighbour of each target."""
        edges, m, heads = neighbours.size(0), targets.size(0), self.heads
        if edges == 0:
            return self.bias.expand(m, -1)
        weight = self.fc.weight.view(heads, -1, sources.size(1))
        left, right = ((weight * a[0].unsqueeze(2)).sum(1) for a in (self.attn_l, self.attn_r))
        degrees, every, begin = starts[1:] - starts[:-1], torch.arange(edges, device=starts.device), starts[:-1]
        own = F.linear(targets, right).repeat_interleave(degrees, 0, output_size=edges)
        scores = F.leaky_relu(F.linear(sources, left)[neighbours] + own, self.slope).to(torch.float32)
        largest = F.embedding_bag(every, scores, begin, mode="max")
        shares = (scores - largest.repeat_interleave(degrees, 0, output_size=edges)).exp()
        total = F.embedding_bag(every, shares, begin, mode="sum")
        shares = shares / total.repeat_interleave(degrees, 0, output_size=edges)
        begins = (torch.arange(heads, device=starts.device).unsqueeze(1) * edges + begin).flatten()
        sums = F.embedding_bag(neighbours.repeat(heads), sources, begins, mode="sum",
                               per_sample_weights=shares.t().flatten().to(sources.dtype))
        return torch.bmm(sums.view(heads, m, -1), weight.transpose(1, 2)).transpose(0, 1).flatten(1) + self.bias


class Layer(nn.Module):
    """Attention over every relation; sums the results of a node's relations."""

    def __init__(self, width: int, hidden: int, heads: int) -> None:
        super().__init__()
        self.mods = nn.ModuleDict({name: Attention(width, hidden, heads) for name, _, _ in RELATIONS})
        self.comes_from = [TYPES.index(source) for _, source, _ in RELATIONS]
        self.ends_in = [TYPES.index(target) for _, _, target in RELATIONS]

    def forward(self, features: list[Tensor], counts: list[int], neighbours: list[Tensor],
                starts: list[Tensor]) -> list[Tensor]:
        """Maps features of all nodes, by type, to features of the first `counts` nodes of each type."""
        sums: list[Tensor] = []
        for of in range(len(counts)):
            sums.append(torch.empty(0))
        relation = 0
        for attention in self.mods.values():
            target = self.ends_in[relation]
            begin = starts[relation][:counts[target] + 1]
            out = attention(features[self.comes_from[relation]], features[target][:counts[target]],
                            neighbours[relation][:int(begin[-1])], begin)
            sums[target] = sums[target] + out if sums[target].dim() == 2 else out
            relation += 1
        return sums


class Network(nn.Module):
    """Part with weights. Its inputs are on the CPU."""

    def __init__(self, width: int, hidden: int, classes: int, heads: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Layer(width if i == 0 else hidden, hidden, heads) for i in range(len(FANOUTS))])
        self.linear = Dense(hidden, classes)

    def forward(self, features: list[Tensor], ends: list[list[int]], neighbours: list[Tensor],
                starts: list[Tensor]) -> Tensor:
        features = [x.to(self.linear.weight) for x in features]
        device = features[0].device
        neighbours, starts = [x.to(device) for x in neighbours], [x.to(device) for x in starts]
        hops = len(self.layers)
        for layer in self.layers:
            hops -= 1
            features = layer(features, [count[hops] for count in ends], neighbours, starts)
            if hops > 0:
                features = [F.leaky_relu(x) for x in features]
        return F.linear(features[0], self.linear.weight, self.linear.bias)


class Rgat(nn.Module):
    """Network from numbers of papers, int64 [n, 1], to logits, float32 [n, classes].

    The working directory contains the graph in `folder`.
    """

    def __init__(self, papers: int = PAPERS, width: int = 1024, hidden: int = 512, classes: int = 2983, heads: int = 4,
                 folder: str = "igbh") -> None:
        super().__init__()
        self.papers, self.classes = papers, classes
        self.graph = Graph(folder, width)
        self.subgraphs = Subgraphs(self.graph)
        self.network = Network(width, hidden, classes, heads)

    def forward(self, papers: Tensor) -> Tensor:
        nodes, ends, neighbours, starts = self.subgraphs(papers.cpu()[:, 0].to(torch.int64))
        features = [self.graph.tables[of].index_select(0, each) for of, each in enumerate(nodes)]
        return self.network(features, ends, neighbours, starts).to(torch.float32)


@torch.no_grad()
def build(small: bool = False) -> Rgat:
    """Returns the network with random weights from torch's global generator."""
    model = Rgat(SMALL_PAPERS, 16, 16, 20, 4) if small else Rgat()
    for name, weight in model.network.named_parameters():
        if name.endswith("bias"):
            nn.init.zeros_(weight)
        else:
            nn.init.xavier_uniform_(weight)
    return model


@contextlib.contextmanager
def surroundings(model: Rgat) -> Iterator[None]:
    """Changes to a working directory with a small graph instead of IGBH."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        nodes, edges = [60, 50, 3, 20, 4, 5], [600, 150, 60, 200, 50, 50]
        write_random_graph(Path(model.graph.folder), model.graph.width, nodes, edges, 1)
        model.graph.open()
        yield


def prepare(model: Rgat) -> None:
    """Prepares the network for inference: this one needs no changes."""


def examples(model: Rgat, n: int) -> tuple[Tensor, ...]:
    """Returns the first `n` papers."""
    return (torch.arange(n).unsqueeze(1),)


def rename(key: str) -> str | None:
    """Returns the name in `network` of the reference's key; its checkpoint contains the layers twice."""
    return key.removeprefix("model.")


def manifests(model: Rgat) -> dict[str, dict]:
    """Returns the manifest. A sample is the number of a paper."""
    return {NAME: {
        "workload": "node-classification",
        "inputs": [("nodes", "int64", [1])],
        "outputs": [("logits", "float32", [model.classes])],
        "parameters": {"nodes": model.papers},
    }}
