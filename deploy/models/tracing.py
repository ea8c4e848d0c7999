"""Removes two effects of tracing from a graph: named devices, and sizes as tensors, for which the host would wait for a GPU."""

from collections.abc import Iterator

import torch

Graph, Node, Value = torch._C.Graph, torch._C.Node, torch._C.Value
ON_NUMBERS = {"aten::add": "aten::add", "aten::sub": "aten::sub", "aten::mul": "aten::mul",
              "aten::floor_divide": "aten::floordiv"}


def nodes(block: Graph | torch._C.Block) -> Iterator[Node]:
    """Yields all nodes, also within loops and branches."""
    for node in block.nodes():
        yield node
        for inner in node.blocks():
            yield from nodes(inner)


def free(graph: Graph) -> None:
    """Replaces constant devices by the device of the first input."""
    device = graph.create("prim::device", [list(graph.inputs())[1]], 1)
    device.output().setType(torch._C.DeviceObjType.get())
    graph.prependNode(device)
    for node in list(nodes(graph)):
        if node.kind() == "prim::Constant" and node.output().type().kind() == "DeviceObjType":
            node.output().replaceAllUsesWith(device.output())


def scalar(value: Value) -> int | float | None:
    """Returns the number that tracing has turned into a tensor; None for other values."""
    if value.node().kind() != "prim::Constant" or value.type().kind() != "TensorType":
        return None
    found = value.toIValue()
    return found if isinstance(found, (int, float)) else None


def number(graph: Graph, value: Value) -> Value | None:
    """Returns an integer equal to `value`, computed without tensors; None if that is not possible."""
    node = value.node()
    if value.type().kind() == "IntType":
        return value
    if node.kind() == "prim::NumToTensor":
        return node.inputsAt(0)
    with graph.insert_point_guard(node):
        if isinstance(found := scalar(value), int):
            return graph.insertConstant(found)
        if node.kind() not in ON_NUMBERS:
            return None
        parts = [number(graph, node.inputsAt(i)) for i in (0, 1)]
        if None in parts:
            return None
        same = graph.create(ON_NUMBERS[node.kind()], parts, 1)
        same.output().setType(torch._C.IntType.get())
        return graph.insertNode(same).output()


def tidy(graph: Graph) -> None:
    """Computes sizes with numbers, turns constant operands of tensors into numbers, and removes constant devices."""
    free(graph)
    for node in list(nodes(graph)):
        if node.kind() == "aten::Int" and (found := number(graph, node.inputsAt(0))) is not None:
            node.output().replaceAllUsesWith(found)
        elif node.kind() in (*ON_NUMBERS, "aten::div") and (constant := scalar(node.inputsAt(1))) is not None:
            if constant == 1 and node.kind() in ("aten::mul", "aten::div"):
                node.output().replaceAllUsesWith(node.inputsAt(0))
                continue
            with graph.insert_point_guard(node):
                node.replaceInput(1, graph.insertConstant(constant))
    torch._C._jit_pass_cse(graph)
    torch._C._jit_pass_dce(graph)
