"""A language model with transformers, greedy: MODEL=FOLDER sut-node --engine python --model examples/transformers_greedy.py"""

import os

import torch
from transformers import AutoConfig, AutoModelForCausalLM

FOLDER = os.path.abspath(os.environ.get("MODEL", "llama"))
CONFIG = AutoConfig.from_pretrained(FOLDER)


class Greedy:
    vocabulary, max_input_tokens, max_tokens = CONFIG.vocab_size, 2048, 128
    eos = CONFIG.eos_token_id if isinstance(CONFIG.eos_token_id, list) else [CONFIG.eos_token_id]
    prefix_caching = False
    weights = [FOLDER]

    def load(self, context):
        torch.set_num_threads(context.threads)
        self.model = AutoModelForCausalLM.from_pretrained(FOLDER).eval()

    @torch.inference_mode()
    def generate(self, request):
        ids, cache = torch.from_numpy(request.ids)[None].long(), None
        for _ in range(request.max_tokens):
            output = self.model(input_ids=ids, past_key_values=cache, use_cache=True)
            token, cache = int(output.logits[0, -1].argmax()), output.past_key_values
            yield token
            if token in self.eos:
                return
            ids = torch.tensor([[token]])
