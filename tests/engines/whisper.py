"""Makes a tiny Whisper with random weights, and waveforms of different lengths.

Usage: whisper.py FOLDER

FOLDER/model is for `examples/whisper_engine.py`, FOLDER/waveforms a data set.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, WhisperConfig, WhisperFeatureExtractor, WhisperForConditionalGeneration

SPECIAL = ["<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|transcribe|>", "<|notimestamps|>"]
WAVEFORMS, RATE, SEED = 8, 16000, 58


def make_model(folder):
    # A token for each byte.
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({text: number for number, text in enumerate(alphabet)}, []))
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(SPECIAL)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=SPECIAL[0]).save_pretrained(folder)
    WhisperFeatureExtractor(feature_size=8).save_pretrained(folder)
    torch.manual_seed(SEED)
    end = len(alphabet)
    config = WhisperConfig(
        vocab_size=end + len(SPECIAL), num_mel_bins=8, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_target_positions=256, init_std=1.0,
        pad_token_id=end, bos_token_id=end, eos_token_id=end, decoder_start_token_id=end + 1,
    )
    WhisperForConditionalGeneration(config).save_pretrained(folder)


def make_waveforms(folder):
    folder.mkdir()
    generator = np.random.default_rng(SEED)
    for number in range(WAVEFORMS):
        length = generator.integers(RATE, 30 * RATE, endpoint=True)
        np.save(folder / f"{number}.npy", generator.integers(-2000, 2000, length).astype(np.int16))


if __name__ == "__main__":
    make_model(Path(sys.argv[1]) / "model")
    make_waveforms(Path(sys.argv[1]) / "waveforms")
