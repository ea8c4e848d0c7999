"""TensorRT-LLM's LLM in the worker. Not run by the tests: it needs a GPU.

MODEL=FOLDER sut-node --engine python --model examples/tensorrt_llm_engine.py --max-batch 256
"""

import os

from tensorrt_llm import LLM, SamplingParams
from tensorrt_llm.llmapi import KvCacheConfig
from transformers import AutoConfig

FOLDER = os.path.abspath(os.environ.get("MODEL", "llama"))
CONFIG = AutoConfig.from_pretrained(FOLDER)


class TensorRt:
    vocabulary, max_input_tokens, max_tokens = CONFIG.vocab_size, 2048, 128
    eos = CONFIG.eos_token_id if isinstance(CONFIG.eos_token_id, list) else [CONFIG.eos_token_id]
    max_batch = 256
    prefix_caching = False
    weights = [FOLDER]

    def load(self, context):
        self.llm = LLM(model=FOLDER, kv_cache_config=KvCacheConfig(enable_block_reuse=False), max_batch_size=self.max_batch)

    async def generate(self, request):
        settings = SamplingParams(temperature=0, max_tokens=request.max_tokens, end_id=request.eos[0], detokenize=False)
        known = 0
        async for output in self.llm.generate_async(request.ids.tolist(), settings, streaming=True):
            ids = output.outputs[0].token_ids
            yield ids[known:]
            known = len(ids)

    def close(self):
        self.llm.shutdown()
