"""Makes a tiny Llama with random weights in the formats of all engines, and its expected answers.

Usage: model.py FOLDER

FOLDER/llama is the model for vLLM, FOLDER/llama.gguf for llama.cpp. FOLDER/answers.json contains prompts and Transformers' outputs,
which end after the id `eos`.
"""

import json
import random
import sys
from pathlib import Path

import gguf
import torch
from transformers import LlamaConfig, LlamaForCausalLM

IDS, WIDTH, HIDDEN, LAYERS, HEADS, KEYS = 2048, 256, 512, 2, 4, 2
BEGIN, TOKENS = 1, 32


def make():
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=IDS, hidden_size=WIDTH, intermediate_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        num_key_value_heads=KEYS, max_position_embeddings=2048, bos_token_id=BEGIN, eos_token_id=None,
        tie_word_embeddings=False,
    )
    model = LlamaForCausalLM(config).float()
    with torch.no_grad():
        for weights in model.parameters():
            if weights.dim() > 1:
                weights.normal_(0, 0.15)
    return model


def answer(model, prompt):
    ids = torch.tensor([prompt])
    output = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=TOKENS)
    return output[0, len(prompt):].tolist()


def until(eos, output):
    return output[: output.index(eos) + 1] if eos in output else output


def write_gguf(model, eos, path):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(2048)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEYS)
    writer.add_layer_norm_rms_eps(model.config.rms_norm_eps)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(IDS)
    # Tokens are whole words, so that no output ends within a character.
    writer.add_tokenizer_model("llama")
    writer.add_token_list([f"t{id}" for id in range(IDS)])
    writer.add_token_scores([0.0] * IDS)
    control, normal = gguf.TokenType.CONTROL, gguf.TokenType.NORMAL
    writer.add_token_types([control if id in (BEGIN, eos) else normal for id in range(IDS)])
    writer.add_bos_token_id(BEGIN)
    writer.add_eos_token_id(eos)
    writer.add_add_bos_token(False)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, LAYERS)
    for name, weights in model.state_dict().items():
        # llama.cpp rotates neighbouring elements, Transformers the halves of a head.
        if heads := {"q_proj": HEADS, "k_proj": KEYS}.get(name.split(".")[-2]):
            weights = weights.reshape(heads, 2, -1, WIDTH).swapaxes(1, 2).reshape(weights.shape)
        writer.add_tensor(names.get_name(name, try_suffixes=[".weight"]), weights.contiguous().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    folder = Path(sys.argv[1])
    model = make()
    chance = random.Random(0)
    prompts = [[chance.randrange(IDS) for _ in range(length)] for length in (1, 2, 3, 7, 16, 33, 64, 100, 128, 200, 257, 300)]
    outputs = [answer(model, prompt) for prompt in prompts]
    # Chosen so that an output ends early.
    eos = outputs[3][9]
    model.config.eos_token_id = model.generation_config.eos_token_id = eos
    model.save_pretrained(folder / "llama")
    write_gguf(model, eos, folder / "llama.gguf")
    answers = {"eos": eos, "prompts": prompts, "outputs": [until(eos, output) for output in outputs]}
    (folder / "answers.json").write_text(json.dumps(answers))


main()
