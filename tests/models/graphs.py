"""Makes rgat* of tests/models: the small network, a graph, and the classes of some papers.

A node that runs the network must have this folder as its working directory, since the file maps `rgat-graph`.
"""

import contextlib
import sys
from pathlib import Path

import torch

import rgat
from fixtures import save, seeds, written
from rgat_graph import write_random_graph


@torch.no_grad()
def make_rgat(folder: Path) -> None:
    """Makes the network, a graph, forty of its papers, and their classes, which lead by a large margin."""
    folder = folder.absolute()
    seed, model = next(seeds(rgat))
    model.graph.folder = "rgat-graph"
    nodes = [model.papers, 240, 6, 60, 15, 9]
    write_random_graph(folder / model.graph.folder, model.graph.width, nodes, [2400, 700, 300, 700, 250, 200], 6)
    papers = torch.randperm(model.papers, generator=torch.Generator().manual_seed(6)).unsqueeze(1)
    with contextlib.chdir(folder):
        model.graph.open()
        logits, last = model(papers), model.network.linear
        scale = 4 / (logits - logits.mean(0)).std()
        last.weight.mul_(scale)
        last.bias.sub_(logits.mean(0)).mul_(scale)
        best = model(papers).topk(2).values
        papers = papers[best[:, 0] - best[:, 1] > 1][:40]
    with contextlib.chdir(folder):
        logits = written(rgat, model, folder, seed)(papers)
    best = logits.topk(2).values
    answers = logits.argmax(1).to(torch.int32)
    assert len(papers) == 40 and len(answers.unique()) > 8, "another seed is needed"
    save(folder, "rgat-nodes", papers)
    save(folder, "rgat-answers", answers)
    print(f"rgat: seed {seed}, classes {answers.tolist()}, minimum margin {float((best[:, 0] - best[:, 1]).min()):.2f}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    make_rgat(Path(sys.argv[1]))
