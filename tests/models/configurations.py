"""Configurations of the small language models of tests/models, by name."""

LLAMA = {
    "model_type": "llama", "vocab_size": 128, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128, "rms_norm_eps": 1e-5,
    "initializer_range": 0.3, "bos_token_id": None, "pad_token_id": 0, "eos_token_id": [2, 3, 5, 7, 11, 13],
}
SCALING = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
           "original_max_position_embeddings": 96}
MODELS = {
    "tiny-llama": LLAMA,
    "tiny-llama3.1": LLAMA | {"rope_scaling": SCALING, "tie_word_embeddings": True},
    "tiny-mixtral": LLAMA | {"model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2,
                             "intermediate_size": 24},
    "tiny-gptj": {
        "model_type": "gptj", "vocab_size": 128, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 128,
        "rotary_dim": 4, "initializer_range": 0.3, "bos_token_id": None, "pad_token_id": 0, "eos_token_id": 2,
    },
}
