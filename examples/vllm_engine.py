"""vLLM in the worker, without its server. Not run by the tests: it needs a GPU.

MODEL=FOLDER sut-node --engine python --model examples/vllm_engine.py --max-batch 256
"""

import os
import uuid

from transformers import AutoConfig
from vllm import SamplingParams
from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.sampling_params import RequestOutputKind
from vllm.v1.engine.async_llm import AsyncLLM

FOLDER = os.path.abspath(os.environ.get("MODEL", "llama"))
CONFIG = AutoConfig.from_pretrained(FOLDER)


class Vllm:
    vocabulary, max_input_tokens, max_tokens = CONFIG.vocab_size, 2048, 128
    eos = CONFIG.eos_token_id if isinstance(CONFIG.eos_token_id, list) else [CONFIG.eos_token_id]
    max_batch = 256
    prefix_caching = False
    weights = [FOLDER]

    def load(self, context):
        arguments = AsyncEngineArgs(model=FOLDER, enable_prefix_caching=False, max_num_seqs=self.max_batch)
        self.engine = AsyncLLM.from_engine_args(arguments)

    async def generate(self, request):
        settings = SamplingParams(
            temperature=0, max_tokens=request.max_tokens, min_tokens=request.min_tokens, stop_token_ids=list(request.eos),
            detokenize=False, output_kind=RequestOutputKind.DELTA,
        )
        prompt = {"prompt_token_ids": request.ids.tolist()}
        async for output in self.engine.generate(prompt, settings, str(uuid.uuid4())):
            yield output.outputs[0].token_ids

    def close(self):
        self.engine.shutdown()
