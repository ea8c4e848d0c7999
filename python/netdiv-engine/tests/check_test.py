"""`python -m netdiv_engine FILE --check`: files that pass, and faults with file and line."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TENSORS = """
import numpy as np
from netdiv_engine import Tensor

class Sum:
    inputs = [Tensor("sample", "uint8", (8,))]
    outputs = [Tensor("sum", "int64", ())]
    max_batch = 4

    def infer(self, batch):
        return batch["sample"].sum(axis=1, dtype=np.int64)
"""

TOKENS = """
class Count:
    vocabulary, max_input_tokens, max_tokens, eos = 100, 8, 4, [2]

    async def generate(self, request):
        yield 5
        yield [6, 2]
"""


class CheckTest(unittest.TestCase):
    def check(self, source):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "engine.py"
            file.write_text(source.lstrip())
            sources = pathlib.Path(__file__).parents[1] / "src"
            done = subprocess.run(
                [sys.executable, "-m", "netdiv_engine", file, "--check"], capture_output=True, text=True,
                env={**os.environ, "PYTHONPATH": str(sources)},
            )
        return done.returncode, done.stdout + done.stderr

    def test_engines_that_work(self):
        code, text = self.check(TENSORS)
        self.assertEqual(code, 0, text)
        self.assertIn("a batch of 4 zeros", text)
        for source in (TOKENS, TOKENS.replace("async def", "def")):
            code, text = self.check(source)
            self.assertEqual(code, 0, text)
            self.assertIn("a prompt of 8 tokens: 3 tokens", text)

    def test_faults(self):
        for source, words in [
            (TENSORS.replace("return batch", "return 1 / 0 or batch"), "engine.py, line 10: ZeroDivisionError"),
            (TENSORS.replace("int64", "int32", 1), "the output has the dtype int64"),
            (TOKENS.replace("yield 5", "yield 500"), "the id 500; ids go from 0 to 99"),
            ("", "no class has infer(self, batch)"),
            ("class Base:\n    def infer(self, batch): pass\n" + TENSORS.replace("class Sum", "class Sum(Base)"), ""),
        ]:
            code, text = self.check(source)
            self.assertEqual(code, 1 if words else 0, text)
            self.assertIn(words, text)
            self.assertNotIn("Traceback", text)


if __name__ == "__main__":
    unittest.main()
