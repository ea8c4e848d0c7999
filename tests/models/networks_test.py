"""Tests that compare exported networks with other implementations."""

import os
import unittest
from unittest import mock

import torch
from torch import nn

import bert
from layers import MEAN, STD, ConvAddRelu, ConvRelu, Normalise

os.environ["HF_HUB_OFFLINE"] = "1"
from transformers import BertConfig, BertForQuestionAnswering  # noqa: E402


class NetworksTest(unittest.TestCase):
    def test_every_pixel_is_normalised_as_torchvision_does(self) -> None:
        pixels = torch.arange(256, dtype=torch.uint8)[:, None].expand(-1, 3)[None, None]
        plain = (pixels.to(torch.float64) / 255 - torch.tensor(MEAN)) / torch.tensor(STD)
        own = Normalise()(pixels)
        self.assertEqual((own.dtype, own.shape), (torch.float32, (1, 3, 1, 256)))
        self.assertLess((own.permute(0, 2, 3, 1) - plain).abs().max(), 1e-6)

    @torch.no_grad()
    def test_bert_answers_as_that_of_transformers(self) -> None:
        torch.manual_seed(3)
        own = bert.build(True)
        config = BertConfig(vocab_size=200, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
                            max_position_embeddings=64, type_vocab_size=2)
        theirs = BertForQuestionAnswering(config).eval()
        theirs.load_state_dict(own.network.state_dict(), strict=False)
        ids, mask, segments = bert.examples(own, 3)
        wanted = theirs(ids.long(), attention_mask=mask, token_type_ids=segments.long())
        for prepared in (False, True):
            if prepared:
                bert.prepare(own)
            for logits, want in zip(own(ids, mask, segments), (wanted.start_logits, wanted.end_logits), strict=True):
                seen = mask != 0
                self.assertLess((logits - want)[seen].abs().max(), 1e-5, f"prepared: {prepared}")

    def test_convolutions_with_groups_are_not_fused_on_a_gpu(self) -> None:
        for groups, fused in ((1, True), (2, False)):
            conv = nn.Conv2d(4, 4, 3, groups=groups)
            x = mock.Mock(is_cuda=True)
            with mock.patch("torch.cudnn_convolution_relu") as relu, mock.patch("torch.cudnn_convolution_add_relu") as add, \
                    mock.patch("torch.nn.functional.conv2d") as plain, mock.patch("torch.nn.functional.relu"):
                ConvRelu(conv)(x)
                ConvAddRelu(conv)(x, mock.Mock())
            self.assertEqual((relu.called, add.called, plain.called), (fused, fused, not fused))


if __name__ == "__main__":
    unittest.main()
