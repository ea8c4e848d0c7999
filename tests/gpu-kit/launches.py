"""Counts the kernels that a decoding step launches on a GPU if it is compiled ahead of time, without a GPU.

TorchInductor lowers the step for a simulated H100 and writes the code that launches its kernels; nothing is compiled or run. Fails if a
layer launches more than LIMIT kernels: those that Inductor generates, and those of libraries.

    PYTHONPATH=deploy/models python tests/gpu-kit/launches.py
"""

import collections
import re
import sys
import types
import warnings
from collections.abc import Callable

import torch
import torch._inductor.config
import triton
from torch import Tensor
from torch._dynamo.device_interface import CudaInterface
from torch._inductor import decomposition
from torch._inductor.fx_passes.post_grad import post_grad_passes
from torch._inductor.graph import GraphLowering
from torch._inductor.virtualized import V
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.passes.fake_tensor_prop import FakeTensorProp

from hugging_face import shape_of
from language_model import LanguageModel, Step

LIMIT = 12  # TorchScript launches some 20
ROWS, SLOTS, ROOM, LENGTH = 8, 17, 512, 256
LLAMA = {
    "model_type": "llama", "vocab_size": 4096, "hidden_size": 1024, "intermediate_size": 2048, "num_attention_heads": 8,
    "num_key_value_heads": 2, "head_dim": 128, "hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
    "max_position_embeddings": 1024, "tie_word_embeddings": False, "initializer_range": 0.02, "eos_token_id": 2,
}
H100 = types.SimpleNamespace(
    name="NVIDIA H100", type="cuda", index=0, major=9, minor=0, multi_processor_count=132, total_memory=80 << 30, warp_size=32,
    max_threads_per_multi_processor=2048, max_threads_per_block=1024, regs_per_multiprocessor=65536, L2_cache_size=50 << 20,
    shared_memory_per_block=49152, shared_memory_per_block_optin=232448, gcnArchName="")


class Ignoring:
    """Object whose functions ignore their arguments and return None."""

    def __getattr__(self, _: str) -> Callable:
        return lambda *args, **named: None


class Driver(Ignoring):
    """Triton's driver of the simulated GPU."""

    def get_current_target(self) -> object:
        return triton.backends.compiler.GPUTarget("cuda", 90, 32)

    def get_current_device(self) -> int:
        return 0


def simulate_gpu() -> None:
    """Lets torch and Triton find the simulated GPU, for the rest of this process."""
    answers = {
        "is_available": True, "device_count": 1, "current_device": 0, "get_device_properties": H100, "is_initialized": True,
        "get_device_capability": (9, 0), "get_compute_capability": 90, "is_triton_capable": True, "is_bf16_supported": True,
        "_lazy_init": None, "synchronize": None, "set_device": None, "raise_if_triton_unavailable": None, "get_raw_stream": 0,
        "_exchange_device": 0, "_maybe_exchange_device": 0, "exchange_device": 0, "maybe_exchange_device": 0,
    }
    for name, answer in answers.items():
        for place in (torch.cuda, CudaInterface):
            if hasattr(place, name):
                given = lambda *args, answer=answer: answer  # noqa: E731
                setattr(place, name, given if place is torch.cuda else staticmethod(given))
    for name in ("_cuda_getDevice", "_cuda_exchangeDevice", "_cuda_maybeExchangeDevice"):
        setattr(torch._C, name, lambda *args: 0)
    torch._subclasses.fake_tensor.init_gpu_context = lambda *args: None
    CudaInterface.Worker.get_device_properties = staticmethod(lambda *args: H100)
    CudaInterface.Worker.current_device = staticmethod(lambda: 0)
    type(triton.runtime.driver).active = property(lambda _: Driver())
    torch._inductor.config.compile_threads = 1
    torch._inductor.config.triton.autotune_at_compile_time = False


def exported(layers: int) -> tuple[torch.export.ExportedProgram, tuple[Tensor, ...]]:
    """Returns the decoding step of a model with this number of layers, and its inputs."""
    model = LanguageModel(shape_of(LLAMA | {"num_hidden_layers": layers}, "LLAMA"), torch.bfloat16).eval().requires_grad_(False)
    caches = [torch.zeros(SLOTS, ROOM, 2 * model.groups, model.width, dtype=torch.bfloat16) for _ in range(layers)]
    inputs = torch.arange(ROWS), torch.arange(ROWS), torch.empty(LENGTH), *caches
    return torch.export.export(Step(model, True), inputs).run_decompositions(decomposition.select_decomp_table()), inputs


def lowered(program: torch.export.ExportedProgram, inputs: tuple[Tensor, ...]) -> str:
    """Returns the code with which Inductor runs a program on the GPU."""
    held, given = {**program.state_dict, **program.constants}, iter(inputs)
    tensors = [next(given) if spec.target is None else held[spec.target] for spec in program.graph_signature.input_specs]
    graph = program.graph_module
    for node in graph.graph.nodes:
        if "device" in node.kwargs:
            node.kwargs = {**node.kwargs, "device": torch.device("cuda:0")}
    graph.recompile()
    mode = FakeTensorMode()
    with mode, V.set_fake_mode(mode):
        there = [torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="cuda:0") for x in tensors]
        FakeTensorProp(graph, mode).propagate_dont_convert_inputs(*there)
        post_grad_passes(graph, True)
        FakeTensorProp(graph, mode).propagate_dont_convert_inputs(*there)
        lowering = GraphLowering(graph, example_inputs=there, is_inference=True)
        with V.set_graph_handler(lowering), V.set_debug_handler(Ignoring()):
            lowering.run(*there)
            code = lowering.codegen()[0]
    return getattr(code, "value", code)


def launches(code: str) -> collections.Counter:
    """Returns the kernels that Inductor's code launches, by kind."""
    body = code[code.index("def call("):]
    kernels = re.findall(r"(triton)_\w+\.run\(|extern_kernels\.(\w+)\(|torch\.ops\.aten\.(\w+)\.\w+\(", body)
    return collections.Counter("".join(each) for each in kernels)


def main() -> None:
    """Compares the launches of a layer with the limit."""
    warnings.filterwarnings("ignore")
    programs = [exported(layers) for layers in (2, 3)]
    simulate_gpu()
    two, three = (launches(lowered(*program)) for program in programs)
    layer = sum(three.values()) - sum(two.values())
    print(f"launches of a layer: {layer}, of which {dict(three - two)}; of the rest: {sum(two.values()) - 2 * layer}")
    if not 4 < layer <= LIMIT:
        sys.exit(f"a layer of the compiled decoder launches {layer} kernels; expected at most {LIMIT}")


if __name__ == "__main__":
    main()
