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


RETURNS = """
class Empty:
    vocabulary, max_input_tokens, max_tokens = 100, 8, 4

    {}def generate(self, request): pass
"""


class CheckTest(unittest.TestCase):
    def check(self, source, make=pathlib.Path.write_text):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "engine.py"
            make(file, source.lstrip())
            sources = pathlib.Path(__file__).parents[1] / "src"
            done = subprocess.run(
                [sys.executable, "-m", "netdiv_engine", file, "--check"], capture_output=True, text=True,
                env={**os.environ, "PYTHONPATH": str(sources)},
            )
        return done.returncode, done.stdout + done.stderr

    def test_engines_that_work(self):
        code, text = self.check(TENSORS)
        self.assertEqual(code, 0, text)
        for batch in ("1 zero:", "3 zeros:", "4 zeros:"):
            self.assertIn(f"a batch of {batch}", text)
        # The whole output is longer than the trial of it.
        long = TOKENS.replace("= 100, 8, 4, [2]", "= 100, 8, 999, [2]").replace("yield 5", "for _ in range(500): yield 5")
        example = TOKENS.replace("    async", "    example = [7]\n\n    async")
        for source, words in [
            (TOKENS, "a prompt of 8 tokens: 3 tokens"), (long, "a prompt of 8 tokens: 64 tokens"), (example, "a prompt of 1 token:"),
        ]:
            for source in (source, source.replace("async def", "def")):
                code, text = self.check(source)
                self.assertEqual(code, 0, text)
                self.assertIn(words, text)

    def test_faults(self):
        for source, words in [
            (TENSORS.replace("return batch", "return 1 / 0 or batch"), "engine.py, line 10: ZeroDivisionError"),
            (TENSORS.replace("int64", "int32", 1), "the output has the dtype int64"),
            (TENSORS.replace("(self, batch)", "(batch)"), "engine.py, line 9: TypeError"),
            (TENSORS.replace('batch["sample"]', 'batch["image"]'), "engine.py, line 10: KeyError: 'image'"),
            (TENSORS.replace("return", "assert len(batch['sample']) != 3\n        return"), "engine.py, line 10: AssertionError"),
            (TENSORS.replace("return", "raise KeyboardInterrupt\n        return"), "engine.py, line 10: KeyboardInterrupt"),
            (TENSORS.replace("    def", "    example = {}\n    def"), "engine.py: example has no array 'sample'"),
            (TOKENS.replace("yield 5", "yield 500"), "the id 500; ids go from 0 to 99"),
            (RETURNS.format(""), "engine.py, line 4: generate returned None; expected ids: write `yield` for each id"),
            (RETURNS.format("async "), "engine.py, line 4: generate returned None"),
            (RETURNS.format("").replace("pass", "return 7"), "line 4: generate returned 7"),
            (TENSORS.replace("max_batch = 4", "framework = 'x' * 200_000"), "class Sum: framework has 200002 bytes in JSON, and all"),
            (TENSORS.replace("max_batch = 4", "weights = '/dev/zero'"), "weights: /dev/zero: it is a device; name a regular file"),
            (TOKENS.replace("yield 5", "raise KeyboardInterrupt\n        yield 5"), "engine.py, line 5: KeyboardInterrupt"),
            (TOKENS.replace("    async", "    example = [100]\n    async"), "example = array([100], dtype=int32): write a list of up to 8 ids"),
            (TENSORS.replace("inputs = [", "inputs = {}  # ["), "class Sum: inputs = {}: write inputs = [Tensor(NAME, DTYPE, SHAPE), …]"),
            (TENSORS.replace("max_batch", "max_btch"), "line 4: class Sum: max_btch is not an attribute of engines: write max_batch, or"),
            (TOKENS.replace("max_tokens, eos", "max_token, eos"), "line 1: class Count: max_token is not an attribute of engines: write max_tokens, or"),
            # Attributes of the engine's own.
            (TENSORS.replace("max_batch = 4", "scale, _max_btch, max_batches, max_batch = 1, 2, 3, 4"), ""),
            ("", "no class has infer(self, batch)"),
            ("class Base:\n    def infer(self, batch): pass\n" + TENSORS.replace("class Sum", "class Sum(Base)"), ""),
        ]:
            code, text = self.check(source)
            self.assertEqual(code, 1 if words else 0, text)
            self.assertIn(words, text)
            self.assertNotIn("Traceback", text)

    def test_what_is_not_a_file_is_named_by_its_kind(self):
        for make, kind in [(os.mkfifo, "a pipe"), (os.mkdir, "a folder")]:
            code, text = self.check("", lambda file, _: make(file))
            self.assertEqual(code, 1, text)
            self.assertIn(f"engine.py: it is {kind}; name a regular file", text)


if __name__ == "__main__":
    unittest.main()
