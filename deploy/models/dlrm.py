"""DLRM-DCNv2, MLPerf's recommender: 13 dense features, 26 multi-hot features, and a low-rank cross network.

Sizes: mlcommons/inference v5.0.1, recommendation/dlrm_v2/pytorch/python/main.py; multi-hot sizes: mlcommons/training,
recommendation_v2/torchrec_dlrm/README.MD. Layers as in torchrec (models/dlrm.py, modules/crossnet.py); Wang et al.,
"DCN V2", <https://arxiv.org/abs/2008.13535>.
"""

import re

import torch
import torch.nn.functional as F
from torch import Tensor, nn

NAME = "dlrm"
DENSE = 13
ROWS = [
    40_000_000, 39_060, 17_295, 7_424, 20_265, 3, 7_122, 1_543, 63, 40_000_000, 3_067_956, 405_282, 10,
    2_209, 11_938, 155, 4, 976, 14, 40_000_000, 40_000_000, 40_000_000, 590_152, 12_973, 108, 36,
]
HOT = [3, 2, 1, 2, 6, 1, 1, 1, 1, 7, 3, 8, 1, 6, 9, 5, 1, 1, 1, 12, 100, 27, 10, 3, 1, 1]  # indices of each table; 214 in all


class Table(nn.Module):
    """Table that maps indices, int [t, hot], to the sum of their rows, [t, width]. Takes indices modulo the number of rows."""

    def __init__(self, rows: int, width: int) -> None:
        super().__init__()
        self.rows = rows
        self.weight = nn.Parameter(torch.empty(rows, width))

    def forward(self, indices: Tensor) -> Tensor:
        return F.embedding_bag(torch.remainder(indices, self.rows), self.weight, mode="sum")


class Cross(nn.Module):
    """Cross layer: x0 * (W V x + b) + x, all [t, width]."""

    def __init__(self, width: int, rank: int) -> None:
        super().__init__()
        self.W = nn.Parameter(torch.empty(width, rank))
        self.V = nn.Parameter(torch.empty(rank, width))
        self.bias = nn.Parameter(torch.zeros(width, 1))

    def forward(self, first: Tensor, x: Tensor) -> Tensor:
        return first * F.linear(F.linear(x, self.V), self.W, self.bias[:, 0]) + x


def mlp(sizes: list[int]) -> nn.Sequential:
    """Returns dense layers with a ReLU after each."""
    layers: list[nn.Module] = []
    for before, after in zip(sizes, sizes[1:]):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers)


class Ranker(nn.Module):
    """Part with weights: from dense features, float [t, 13], and indices, int [t, 214], to logits [t, 1]."""

    def __init__(self, rows: list[int], bottom: list[int], rank: int, crosses: int, top: list[int]) -> None:
        super().__init__()
        self.hot = HOT
        self.bottom = mlp([DENSE, *bottom])
        self.tables = nn.ModuleList([Table(count, bottom[-1]) for count in rows])
        width = (len(rows) + 1) * bottom[-1]
        self.crosses = nn.ModuleList([Cross(width, rank) for _ in range(crosses)])
        self.top = mlp([width, *top])
        self.last = nn.Linear(top[-1], 1)

    def forward(self, dense: Tensor, sparse: Tensor) -> Tensor:
        parts = [self.bottom(dense)]
        at = 0
        for i, table in enumerate(self.tables):
            parts.append(table(sparse[:, at:at + self.hot[i]]))
            at += self.hot[i]
        first = torch.cat(parts, 1)
        x = first
        for cross in self.crosses:
            x = cross(first, x)
        return self.last(self.top(x))


class Dlrm(nn.Module):
    """Network from dense features, float32 [t, 13], and indices, int32 or int64 [t, 214], to probabilities, float32 [t]."""

    def __init__(self, rows: int = 0, bottom: tuple[int, ...] = (512, 256, 128), rank: int = 512, crosses: int = 3,
                 top: tuple[int, ...] = (1024, 1024, 512, 256)) -> None:
        super().__init__()
        counts = [min(count, rows) if rows else count for count in ROWS]
        self.network = Ranker(counts, list(bottom), rank, crosses, list(top))

    def forward(self, dense: Tensor, sparse: Tensor) -> Tensor:
        logits = self.network(dense.to(self.network.last.weight.dtype), sparse)
        return logits[:, 0].to(torch.float32).sigmoid()


@torch.no_grad()
def build(small: bool = False, rows: int = 0) -> Dlrm:
    """Returns the network with random weights from torch's global generator, scaled so that probabilities vary.

    `rows` is the maximum for each table; 0 means no limit: the tables have 105 GB at fp32.
    """
    model = Dlrm(20, (32, 16, 8), 8, 3, (32, 32, 16, 8)) if small else Dlrm(rows)
    network = model.network.eval()
    for module in network.modules():
        if isinstance(module, nn.Linear):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            nn.init.zeros_(module.bias)
        elif isinstance(module, Cross):
            nn.init.xavier_normal_(module.W)
            nn.init.xavier_normal_(module.V)
    for table, hot in zip(network.tables, HOT):
        nn.init.normal_(table.weight, std=0.5 / hot**0.5)
    logits = network(*examples(model, 256))
    network.last.weight.mul_(1.5 / logits.std())
    network.last.bias.sub_(logits.mean() * 1.5 / logits.std())
    return model


def prepare(model: Dlrm) -> None:
    """Prepares the network for inference: this one needs no changes."""


def examples(model: Dlrm, n: int) -> tuple[Tensor, ...]:
    """Returns `n` pairs of noise: log-scaled counts and indices into the tables."""
    columns = [torch.randint(0, table.rows, (n, hot)) for table, hot in zip(model.network.tables, HOT)]
    return torch.rand(n, DENSE) * 6, torch.cat(columns, 1).to(torch.int32)


RENAMES = [
    (r"^(?:.*\.)?sparse_arch\.embedding_bag_collection\.embedding_bags\.t_cat_(\d+)\.", r"tables.\1."),
    (r"^(?:.*\.)?inter_arch\.crossnet\.([WV])_kernels\.(\d+)$", r"crosses.\2.\1"),
    (r"^(?:.*\.)?inter_arch\.crossnet\.bias\.(\d+)$", r"crosses.\1.bias"),
    (r"^(?:.*\.)?over_arch\.model\.1\.", "last."),
]


def rename(key: str) -> str | None:
    """Returns the name in `network` of a torchrec key. Layer numbers differ, since a ReLU follows each layer of the MLPs here."""
    for pattern, name in RENAMES:
        if re.match(pattern, key):
            return re.sub(pattern, name, key)
    layer = re.match(r"^(?:.*\.)?(dense|over)_arch\.model(?:\.0)?\._mlp\.(\d+)\._linear\.(\w+)$", key)
    if layer:
        return f"{'bottom' if layer[1] == 'dense' else 'top'}.{2 * int(layer[2])}.{layer[3]}"
    return key


def manifests(model: Dlrm) -> dict[str, dict]:
    """Returns the manifest. A sample is many pairs of user and item; a batch joins their rows."""
    return {NAME: {
        "workload": "recommendation",
        "inputs": [("dense", "float32", [DENSE]), ("sparse", "int32", [sum(HOT)])],
        "outputs": [("probabilities", "float32", [])],
    }}
