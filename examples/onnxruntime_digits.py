"""The demo's digits with onnxruntime: sut-node --engine python --model examples/onnxruntime_digits.py"""

import os

import numpy as np
import onnxruntime

from netdiv_engine import Tensor


class Digits:
    inputs = [Tensor("image", "uint8", (1, 8, 8))]
    outputs = [Tensor("label", "int32", ())]
    max_batch = 64
    weights = ["../deploy/digits/digits.onnx"]
    framework = f"onnxruntime {onnxruntime.__version__}"

    def load(self, context):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = context.threads
        path = os.path.join(context.folder, self.weights[0])
        self.session = onnxruntime.InferenceSession(path, options)
        self.input = self.session.get_inputs()[0].name

    def infer(self, batch):
        (scores, *_) = self.session.run(None, {self.input: batch["image"]})
        return scores.argmax(axis=1).astype(np.int32)
