"""Tiny models of transformers with random weights, one for each model type, and the mask that each of
their layers applies: the cells where a softmax weight of eager attention is not zero.

    tiny_models.py DIR [TYPE|CONFIG.json...]    (all types without one) writes DIR/TYPE.json: the config as saved, the keys that were given
                                    to its class, and the mask of each layer as rows of 0 and 1
"""
import json
import os
import signal
import sys
import warnings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
warnings.filterwarnings("ignore")

import torch
import transformers
from transformers import AutoModel, AutoModelForCausalLM, AutoModelForMaskedLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import (MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
                                                    MODEL_FOR_MASKED_LM_MAPPING_NAMES,
                                                    MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES)

TOKENS = 40
MOST_PARAMETERS = 20_000_000
# Small values for the keys of sizes. Keys that decide the mask keep the default of the class,
# except windows larger than TOKENS.
SMALL = {
    "vocab_size": 64, "hidden_size": 32, "n_embd": 32, "d_model": 32, "dim": 32, "emb_dim": 32,
    "intermediate_size": 48, "ffn_dim": 48, "d_ff": 48, "n_inner": 48, "hidden_dim": 48,
    "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "moe_intermediate_size": 16,
    "shared_expert_intermediate_size": 16, "dense_intermediate_size": 48, "mlp_hidden_size": 48,
    "num_attention_heads": 4, "n_head": 4, "num_heads": 4, "n_heads": 4, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "d_kv": 8, "d_head": 8,
    "global_head_dim": 8, "num_experts": 4, "num_local_experts": 4, "n_routed_experts": 4,
    "num_experts_per_tok": 2, "top_k_experts": 2, "n_group": 1, "topk_group": 1,
    "hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": 64, "lru_width": 32,
    "embedding_size": 32, "max_position_embeddings": 128, "n_positions": 128, "n_ctx": 128,
    "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8,
    "v_head_dim": 8, "rotary_dim": 4, "pad_token_id": 0, "type_vocab_size": 2,
    "linear_num_value_heads": 4, "linear_num_key_heads": 4, "linear_key_head_dim": 8,
    "linear_value_head_dim": 8, "mamba_d_state": 8, "mamba_n_heads": 4, "mamba_d_head": 16,
    "mamba_expand": 2, "mamba_d_ssm": 64, "attention_dropout": 0.0, "hidden_dropout": 0.0,
}
WINDOWS = {"sliding_window": 6, "attention_chunk_size": 8, "local_attention": 12, "window_size": 6,
           "attention_window_size": 6, "attention_window": 8, "block_size": 4}
# Model types with keys that change their masks from the default of the class.
VARIANTS = [
    ("gemma3_text", {"use_bidirectional_attention": True}), ("llama", {"is_causal": False}),
    ("mistral", {"is_causal": False}), ("gemma2", {"is_causal": False}),
    ("bert", {"is_decoder": True}), ("roberta", {"is_decoder": True}),
    ("qwen2", {"use_sliding_window": True, "sliding_window": 6, "max_window_layers": 3}),
    ("qwen3", {"use_sliding_window": True, "sliding_window": 6}),
    ("qwen2_moe", {"use_sliding_window": True, "sliding_window": 6, "max_window_layers": 5}),
    ("qwen3_moe", {"use_sliding_window": True, "sliding_window": 6}),
    ("smollm3", {"use_sliding_window": True, "sliding_window": 6}),
    ("smollm3", {"use_sliding_window": True, "sliding_window": 6, "no_rope_layer_interval": 3}),
    ("phi3", {"sliding_window": 6}), ("mixtral", {"sliding_window": 6}),
    ("starcoder2", {"sliding_window": 6}), ("ministral3", {"sliding_window": 6}),
    ("phimoe", {"sliding_window": 6}), ("doge", {"sliding_window": 6}),
    ("mistral", {"sliding_window": None}), ("llama4_text", {"no_rope_layer_interval": 3}),
    ("cohere2", {"sliding_window_pattern": 3}), ("gemma3_text", {"sliding_window_pattern": 3}),
    ("exaone4", {"sliding_window_pattern": 2}), ("afmoe", {"global_attn_every_n_layers": 3}),
    ("modernbert", {"global_attn_every_n_layers": 2}),
    ("gpt_neo", {"attention_types": [[["global", "local"], 4]]}),
    ("llama", {"sliding_window": 6}), ("cwm", {"sliding_window": 9}), ("olmo3", {"sliding_window": 9}),
]
# Keys that most classes ignore: each type runs once with them, so that the masks show which types
# read them.
UNREAD = {"layer_types": ["sliding_attention", "full_attention"], "sliding_window": 6}
LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers",
          "decoder_layers", "num_decoder_layers", "num_encoder_layers")


def overrides(config, layers):
    """The keys that make a model of this class small."""
    out = {}
    for key, value in config.to_dict().items():
        if key in SMALL and value is not None:
            out[key] = SMALL[key]
        elif key in WINDOWS and isinstance(value, int) and not isinstance(value, bool) and value > 0:
            out[key] = WINDOWS[key]
        elif key in LAYERS and isinstance(value, int):
            out[key] = layers
    return out


def masks_of(model, tokens):
    """The mask of each layer that returns attention weights: a cell is open where any head's weight
    is not 0."""
    extra = {}
    if model.config.is_encoder_decoder:
        extra["decoder_input_ids"] = tokens
    with torch.no_grad():
        out = model(input_ids=tokens, output_attentions=True, use_cache=False, **extra)
    kinds = {}
    for name in ("attentions", "encoder_attentions", "decoder_attentions", "cross_attentions"):
        got = out.get(name)
        if got is None:
            continue
        layers = []
        for weights in got:
            # One more column is a sink. Longformer's weights belong to a band, not to keys, and are
            # left out.
            if weights is None or weights.ndim != 4 or weights.shape[-1] > TOKENS + 1:
                layers.append(None)
                continue
            keys = weights[0][:, :, :TOKENS]
            layers.append((keys > 0).any(0).int().tolist() if keys.shape[1] == TOKENS else None)
        kinds[name] = layers
    return kinds


def made(model_type, layers, extra, most=MOST_PARAMETERS):
    """Makes a tiny model, also of the text part of a larger one; returns it with the keys that its
    class got."""
    given = {**overrides(CONFIG_MAPPING[model_type](), layers), **extra}
    torch.manual_seed(0)
    for drop in ((), ("head_dim",), ("num_key_value_heads",)):
        keys = {key: value for key, value in given.items() if key not in drop}
        try:
            config = CONFIG_MAPPING[model_type](**keys)
            config._attn_implementation = "eager"
            for auto in (AutoModelForCausalLM, AutoModelForMaskedLM, AutoModel):
                if type(config) in auto._model_mapping:
                    with torch.device("meta"):
                        size = sum(p.numel() for p in auto.from_config(config).parameters())
                    if size > most:
                        raise ValueError(f"{size} parameters: what makes it small is not known")
                    return auto.from_config(config, attn_implementation="eager").eval(), keys
            raise LookupError("no text model")
        except LookupError:
            raise
        except Exception as error:  # the next try leaves a key out
            last = error
    raise last


def of_file(path):
    """The model type of a config.json, and the keys of its text part, made small."""
    with open(path) as file:
        keys = json.load(file)
    text = keys.get("text_config", keys)
    model_type = text.get("model_type", keys["model_type"])
    model_type = model_type if model_type in CONFIG_MAPPING else model_type + "_text"
    kept = {}
    for key, value in text.items():
        number = isinstance(value, int) and not isinstance(value, bool)
        kept[key] = (SMALL[key] if key in SMALL and number else
                     WINDOWS[key] if key in WINDOWS and number and value > 0 else value)
    for key in ("architectures", "model_type", "vocab_size", "torch_dtype", "dtype", "rope_scaling",
                "rope_parameters", "transformers_version", "quantization_config"):
        kept.pop(key, None)
    return model_type, kept


def too_long(*_):
    raise TimeoutError("more than 60 s")


def main():
    where = sys.argv[1]
    os.makedirs(where, exist_ok=True)
    torch.set_num_threads(1)
    signal.signal(signal.SIGALRM, too_long)
    done = failed = 0
    types = {**MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, **MODEL_FOR_MASKED_LM_MAPPING_NAMES,
             **MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES}
    files = [name for name in sys.argv[2:] if name.endswith(".json")]
    names = [name for name in sys.argv[2:] if name not in files]
    names = names if sys.argv[2:] else sorted(types)
    jobs = [(name, {}) for name in names] + [one for one in VARIANTS if one[0] in names]
    jobs += [(name, UNREAD) for name in names] + [of_file(name) for name in files]
    for number, (model_type, extra) in enumerate(jobs):
        name = model_type + (f"-{number}" if extra else "") + ".json"
        if os.path.exists(os.path.join(where, name)):
            done += 1
            continue
        try:
            signal.alarm(60)
            default = CONFIG_MAPPING[model_type]().to_dict()
            layers = 30 if "max_window_layers" in default else 8
            layers = max([layers] + [extra[key] for key in LAYERS if isinstance(extra.get(key), int)])
            if extra is UNREAD:
                layers = min(layers, 8)
                extra = dict(UNREAD, layer_types=UNREAD["layer_types"] * (layers // 2))
            model, given = made(model_type, layers, extra)
            tokens = torch.randint(3, 60, (1, TOKENS))
            kinds = masks_of(model, tokens)
            saved = json.loads(model.config.to_json_string(use_diff=False))
            with open(os.path.join(where, name), "w") as file:
                json.dump({"model_type": model_type, "given": given, "saved": saved,
                           "masks": kinds}, file)
            done += 1
        except Exception as error:  # report it and try the next type
            failed += 1
            print(f"{model_type}: {type(error).__name__}: {str(error)[:100]}", flush=True)
        finally:
            signal.alarm(0)
    print(f"transformers {transformers.__version__}, torch {torch.__version__}: {done} models, "
          f"{failed} without")


if __name__ == "__main__":
    main()
