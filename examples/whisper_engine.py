"""Whisper with transformers, greedy: MODEL=FOLDER sut-node --engine python --model examples/whisper_engine.py"""

import os

import numpy as np
import torch
from netdiv_engine import Tensor
from transformers import AutoTokenizer, WhisperFeatureExtractor, WhisperForConditionalGeneration

FOLDER = os.path.abspath(os.environ.get("MODEL", "whisper-large-v3"))
RATE, SECONDS, MAX_TOKENS = 16000, 30, 200
PROMPT = ["<|startoftranscript|>", "<|en|>", "<|transcribe|>", "<|notimestamps|>"]
#: A response is the places of the text's characters here, as the accuracy script of MLPerf reads them. It has no others.
PLACES = {character: place for place, character in enumerate(" abcdefghijklmnopqrstuvwxyz'0123456789$%+-")}


class Whisper:
    inputs = [Tensor("waveform", "int16", ("samples",))]
    outputs = [Tensor("characters", "int8", ("length",))]
    max_lengths = {"samples": SECONDS * RATE, "length": 8192}
    counts_tokens = True
    max_batch = 16
    weights = [FOLDER]

    def load(self, context):
        torch.set_num_threads(context.threads)
        devices = torch.cuda.device_count()
        place = (f"cuda:{context.instance % devices}", torch.bfloat16) if devices else ("cpu", torch.float32)
        self.model = WhisperForConditionalGeneration.from_pretrained(FOLDER).eval().to(*place)
        self.features = WhisperFeatureExtractor.from_pretrained(FOLDER)
        self.tokenizer = AutoTokenizer.from_pretrained(FOLDER)

    @torch.inference_mode()
    def infer(self, batch):
        # The features are those of 30 s: the waveforms are padded.
        waveforms = [waveform.astype(np.float32) / 32768 for waveform in batch["waveform"]]
        features = self.features(waveforms, sampling_rate=RATE, return_tensors="pt").input_features
        outputs = self.decode(features)
        texts = self.tokenizer.batch_decode(outputs, skip_special_tokens=True)
        places = [[PLACES[one] for one in text.lower().strip() if one in PLACES] for text in texts]
        return [np.array(row, np.int8) for row in places], [len(tokens) for tokens in outputs]

    def decode(self, features):
        """Returns the tokens of each sample, with the last one, which ends the text."""
        model, end, tokens, cache = self.model, self.tokenizer.eos_token_id, [], None
        encoded = model.model.encoder(features.to(model.device, model.dtype))
        ids = torch.tensor([self.tokenizer.convert_tokens_to_ids(PROMPT)] * len(features), device=model.device)
        is_done = torch.zeros(len(features), dtype=torch.bool, device=model.device)
        while len(tokens) < MAX_TOKENS and not is_done.all():
            output = model(encoder_outputs=encoded, decoder_input_ids=ids, past_key_values=cache, use_cache=True)
            ids, cache = output.logits[:, -1:].argmax(-1), output.past_key_values
            tokens.append(ids)
            is_done |= ids[:, 0] == end
        rows = torch.cat(tokens, 1).tolist()
        return [row[:row.index(end) + 1] if end in row else row for row in rows]
