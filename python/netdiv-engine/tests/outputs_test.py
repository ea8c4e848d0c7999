"""Outputs of language models, checked id by id."""

import unittest

import numpy as np

from netdiv_engine.declaration import declare
from netdiv_engine.engine import Request
from netdiv_engine.errors import EngineError
from netdiv_engine.language import MAX_IDS, parts
from netdiv_engine.outputs import Output
from netdiv_engine.protocol import PART


class Model:
    vocabulary, max_input_tokens, max_tokens, min_tokens, eos = 100, 8, 4, 2, [7]

    def generate(self, request):
        raise NotImplementedError


class OutputTest(unittest.TestCase):
    def setUp(self):
        declared = declare(Model, __file__, 1)
        self.output = Output(Request(np.zeros(1, np.int32), declared), declared.vocabulary)

    def test_ids_come_alone_or_in_lists(self):
        self.assertEqual(self.output.take(5), [5])
        self.assertEqual(self.output.take(np.int64(6)), [6])
        self.assertEqual(self.output.take(np.array([8, 7])), [8, 7])
        self.output.finish()

    def test_an_output_without_an_end_has_all_of_its_ids(self):
        self.output.take([1, 2, 3, 4])
        self.output.finish()

    def test_a_request_may_have_a_lower_limit(self):
        request = Request(np.zeros(1, np.int32), declare(Model, __file__, 1), 1, 5)
        self.assertEqual((request.max_tokens, request.min_tokens, request.seed), (1, 1, 5))
        output = Output(request, 100)
        output.take(3)
        output.finish()
        with self.assertRaisesRegex(EngineError, "more than max_tokens = 1 ids"):
            output.take(3)

    def test_faults_are_named(self):
        for yielded, words in [
            ([[1, 2, 3, 4, 5]], "more than max_tokens = 4 ids"),
            ([100], "the id 100; ids go from 0 to 99"),
            ([-1], "the id -1"),
            ([1, 7, 2], "2 after the id that ends the output"),
            ([7], "ended at id 1; min_tokens is 2"),
            (["a"], "expected an id, or a list of ids"),
            ([None], "expected an id, or a list of ids"),
            ([1, 2], "ended after 2 of 4 ids"),
            ([], "ended after 0 ids; min_tokens is 2"),
        ]:
            self.setUp()
            with self.assertRaises(EngineError) as refused:
                for one in yielded:
                    self.output.take(one)
                self.output.finish()
            self.assertIn(words, str(refused.exception))

    def test_long_lists_are_sent_in_parts(self):
        ids = list(range(MAX_IDS + 1))
        first, second = parts(3, ids)
        self.assertEqual(PART.unpack_from(first), (3, MAX_IDS))
        self.assertEqual(PART.unpack_from(second), (3, 1))
        self.assertEqual(len(first), PART.size + 4 * MAX_IDS)


if __name__ == "__main__":
    unittest.main()
