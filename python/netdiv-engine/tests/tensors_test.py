"""Tensors in the shared memory: views without copies, and outputs that do not fit."""

import mmap
import unittest

import numpy as np

from netdiv_engine import Tensor
from netdiv_engine.declaration import declare
from netdiv_engine.errors import EngineError
from netdiv_engine.tensors import Slots


class Pairs:
    inputs = [Tensor("image", "uint8", (2, 3)), Tensor("ids", "int32", ("n",))]
    outputs = [Tensor("sum", "float32", ("n",))]
    max_lengths = {"n": 4}
    max_batch = 3

    def infer(self, batch):
        raise NotImplementedError


class Speech:
    inputs = [Tensor("waveform", "int16", ("samples",))]
    outputs = [Tensor("characters", "int8", ("length",))]
    max_lengths = {"samples": 8, "length": 4}
    counts_tokens = True
    max_batch = 2

    def infer(self, batch):
        raise NotImplementedError


class CountsTest(unittest.TestCase):
    def setUp(self):
        declaration = declare(Speech, __file__, 1)
        self.slots = Slots(mmap.mmap(-1, Slots.size(declaration)), declaration)

    def test_numbers_of_tokens_follow_the_lengths(self):
        texts = [np.array(text, np.int8) for text in ([1, 2, 3], [])]
        for counts in ([5, 2], np.array([5, 2]), (5, np.int32(2))):
            self.assertEqual(self.slots.put(0, 2, (texts, counts)), [3, 0, 5, 2])
        self.assertEqual(self.slots.put(0, 1, ({"characters": texts[1:]}, [1])), [0, 1])

    def test_wrong_numbers_of_tokens_are_refused(self):
        texts = [np.zeros(1, np.int8)] * 2
        for returned, words in [
            (texts, "infer returned no counts: with counts_tokens, write `return outputs, counts`"),
            ((texts, [2, 2], []), "infer returned no counts"),
            ((texts, [2]), "the counts [2]; expected a whole number for each of 2 samples"),
            ((texts, [2.0, 2.0]), "the counts [2.0, 2.0]; expected a whole number"),
            ((texts, [2, 0]), "infer counted 0 tokens for sample 1 of the batch; expected 1 to 1048576"),
            ((texts, [-1, 2]), "infer counted -1 tokens for sample 0"),
            ((texts[:1], [2, 2]), "1 output for 2 samples"),
        ]:
            with self.assertRaises(EngineError) as refused:
                self.slots.put(0, 2, returned)
            self.assertIn(words, str(refused.exception))

    def test_the_declaration_says_so(self):
        self.assertTrue(declare(Speech, __file__, 1).attributes()["counts_tokens"])
        self.assertFalse(declare(Pairs, __file__, 1).counts_tokens)
        for change, words in [
            ({"counts_tokens": 1}, "counts_tokens = 1: write True or False"),
            ({"max_batch": 4096, "outputs": [Tensor("x", "int8", ("length",) * 4)]}, "outputs has 5 named lengths and counts; with"),
        ]:
            with self.assertRaises(EngineError) as refused:
                declare(type("Wrong", (Speech,), change), __file__, 1)
            self.assertIn(words, str(refused.exception))


class SlotsTest(unittest.TestCase):
    def setUp(self):
        self.declaration = declare(Pairs, __file__, 1)
        self.slots = Slots(mmap.mmap(-1, 2 * Slots.size(self.declaration)), self.declaration)

    def write(self, at, array):
        self.slots.memory[at:at + array.nbytes] = array.tobytes()

    def test_a_batch_is_a_view_of_the_memory(self):
        begin = self.slots.slot_bytes
        self.write(begin, np.arange(18, dtype=np.uint8))
        batch = self.slots.batch(1, 3, [2, 2, 2])
        np.testing.assert_array_equal(batch["image"], np.arange(18, dtype=np.uint8).reshape(3, 2, 3))
        self.assertEqual(batch["ids"].shape, (3, 2))
        self.write(begin, np.array([7], np.uint8))
        self.assertEqual(batch["image"][0, 0, 0], 7)

    def test_samples_of_different_lengths_are_a_list(self):
        begin = self.slots.inputs[0].size
        self.write(begin, np.arange(6, dtype=np.int32))
        rows = self.slots.batch(0, 3, [1, 4, 1])["ids"]
        self.assertEqual([row.tolist() for row in rows], [[0], [1, 2, 3, 4], [5]])

    def test_a_batch_that_is_tried_has_rows_of_zeros_or_of_the_example(self):
        self.write(0, np.full(8, 9, np.uint8))
        batch = self.slots.batch(0, 2, self.slots.fill(0, 2, None, True))
        self.assertEqual([row.shape for row in batch["ids"]], [(4,), (2,)])
        self.assertFalse(batch["image"].any())
        example = {"image": np.full((2, 3), 5, np.uint8), "ids": np.array([7], np.int32)}
        batch = self.slots.batch(1, 3, self.slots.fill(1, 3, example, True))
        np.testing.assert_array_equal(batch["ids"], [[7]] * 3)
        self.assertTrue((batch["image"] == 5).all())
        for wrong, words in [
            ({"image": example["image"]}, "example has no array 'ids'"),
            ({**example, "ids": [7]}, "the example has the dtype int64; ids is declared as int32"),
            ({**example, "image": example["image"][0]}, "the example has the shape [3]"),
        ]:
            with self.assertRaises(EngineError) as refused:
                self.slots.fill(0, 1, wrong, False)
            self.assertIn(words, str(refused.exception))

    def test_outputs_are_written_one_after_the_other(self):
        at = sum(region.size for region in self.slots.inputs)
        rows = [np.full(length, length, np.float32) for length in (1, 3)]
        self.assertEqual(self.slots.put(0, 2, rows), [1, 3])
        written = np.frombuffer(self.slots.memory, np.float32, 4, at)
        self.assertEqual(written.tolist(), [1, 3, 3, 3])
        self.assertEqual(self.slots.put(0, 2, np.zeros((2, 4), np.float32)), [4, 4])
        self.assertEqual(self.slots.put(0, 2, {"sum": np.zeros((2, 4), np.float32)}), [4, 4])

    def test_outputs_that_do_not_fit_are_refused(self):
        for returned, words in [
            (np.zeros((3, 4), np.float32), "3 outputs for 2 samples"),
            (np.zeros((2, 4)), "the dtype float64; sum is declared as float32"),
            (np.zeros((2, 5), np.float32), "the shape [5]; sum is declared as ['n']"),
            ([np.zeros(0, np.float32)] * 2, "the output for sample 0 of the batch has the shape [0]"),
            ([np.zeros(1, np.float32), np.zeros((1, 1), np.float32)], "sample 1 of the batch has the shape [1, 1]"),
            (3.0, "one value; expected one for each sample"),
            ({"total": 0}, "expected 'sum'"),
        ]:
            with self.assertRaises(EngineError) as refused:
                self.slots.put(0, 2, returned)
            self.assertIn(words, str(refused.exception))


if __name__ == "__main__":
    unittest.main()
