"""Engine without a model: it hears the transcript of the made-up data in every clip, and seldom a word more.

Like those of GPUs, the responses of two runs differ, so that TEST01 needs the scores of both.
"""

import random
import time

import numpy as np
from netdiv_engine import Tensor

TRANSCRIPT = "made up words of a rehearsal"
PLACES = {character: place for place, character in enumerate(" abcdefghijklmnopqrstuvwxyz'0123456789$%+-")}
RATE = 16000
SECONDS = 0.05  # of a batch


class Speech:
    inputs = [Tensor("waveform", "int16", ("samples",))]
    outputs = [Tensor("characters", "int8", ("length",))]
    counts_tokens = True
    max_batch = 16
    max_lengths = {"samples": 30 * RATE, "length": 64}

    def infer(self, batch):
        time.sleep(SECONDS)
        texts = ["today " * (random.random() < 0.01) + TRANSCRIPT for _ in batch["waveform"]]
        return [np.array([PLACES[one] for one in text], np.int8) for text in texts], [len(text.split()) + 1 for text in texts]
