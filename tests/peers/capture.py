"""maskctl.capture on tiny models with random weights of transformers and torch: the layers and masks that
forward hooks see, outputs that keep every bit, nothing left behind, and what it costs.

    peers/bin/pip install a wheel of maskctl, then
    peers/bin/python tests/peers/capture.py
"""
import os
import statistics
import sys
import tempfile
import time
import types
import warnings

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
warnings.filterwarnings("ignore")

import torch
import transformers
from tiny_models import made
from torch.nn import functional
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import maskctl
from maskctl import Error, Mask

TOKENS = 24
TYPES = ["llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "phi3", "starcoder2", "olmo2", "olmo3",
         "cohere", "cohere2", "granite", "glm", "glm4", "helium", "smollm3", "exaone4", "ministral3", "mixtral",
         "qwen2_moe", "qwen3_moe", "olmoe", "gpt_oss", "arcee", "ernie4_5", "bert", "roberta",
         "electra", "camembert", "gpt2", "gpt_neox", "opt", "biogpt", "persimmon", "stablelm", "phi",
         "modernbert", "seed_oss", "apertus", "lfm2", "bitnet", "cwm"]


def attention_modules(model):
    """The attention modules of a model by name; their output has the weights of a softmax."""
    return {name: module for name, module in model.named_modules()
            if "Attention" in type(module).__name__ and not any("Attention" in type(one).__name__
                                                               for one in list(module.modules())[1:])}


def seen_by_hooks(model, batch):
    """The cells where each layer's weights are not 0, as forward hooks see them."""
    seen, hooks = {}, []
    for name, module in attention_modules(model).items():
        def hook(module, arguments, output, name=name):
            weights = output[1] if isinstance(output, tuple) and len(output) > 1 else None
            if isinstance(weights, torch.Tensor) and weights.ndim == 4:
                seen[name] = weights[..., :TOKENS] > 0  # without the column of a sink
        hooks.append(module.register_forward_hook(hook))
    with torch.no_grad():
        model(**batch, output_attentions=True)
    for hook in hooks:
        hook.remove()
    return seen


def output_of(model, batch):
    with torch.no_grad():
        out = model(**batch)
    return out[0] if not isinstance(out, torch.Tensor) else out


def captured(model, batch):
    """Runs the model inside maskctl.capture; returns what it noted, after checking that the output
    keeps its bits and no function stays replaced."""
    functions = (functional.scaled_dot_product_attention, torch.nn.Module.__call__,
                 dict(transformers.modeling_utils.ALL_ATTENTION_FUNCTIONS._global_mapping))
    before = output_of(model, batch)
    with maskctl.capture(model) as run:
        inside = output_of(model, batch)
    assert torch.equal(before, inside) and torch.equal(before, output_of(model, batch)), type(model).__name__
    assert functions == (functional.scaled_dot_product_attention, torch.nn.Module.__call__,
                         transformers.modeling_utils.ALL_ATTENTION_FUNCTIONS._global_mapping)
    return run


def check_model(model_type):
    model, _ = made(model_type, 3, {})
    torch.manual_seed(1)
    batch = {"input_ids": torch.randint(3, 60, (2, TOKENS)), "attention_mask": torch.ones(2, TOKENS, dtype=torch.long)}
    batch["attention_mask"][1, 15:] = 0
    if "use_cache" in model.config.to_dict():
        batch["use_cache"] = False
    seen = seen_by_hooks(model, batch)
    if not seen:
        raise LookupError("its hooks see no weights")
    layers = 0
    for implementation in ("eager", "sdpa"):
        try:
            model.set_attn_implementation(implementation)
        except ValueError:
            continue  # this model has no sdpa
        run = captured(model, batch)
        assert set(run.layers) == set(seen), (model_type, implementation, run.layers, list(seen))
        for name, cells in seen.items():
            # Rows of padding are left out: they see nothing, and softmax then gives every key a
            # weight.
            rows = batch["attention_mask"].bool()[:, None, :, None]
            mask = torch.from_dlpack(run[name].to("dense")).bool()
            assert torch.equal(mask & rows, cells.any(1, keepdim=True) & rows), (model_type, implementation, name)
            layers += 1
    return layers


def torch_modules():
    """Yields name, module, arguments, and the mask that the module's attention must have."""
    x = torch.randn(2, TOKENS, 32)
    causal = torch.ones(TOKENS, TOKENS).triu(1).bool()
    padding = torch.zeros(2, TOKENS, dtype=torch.bool)
    padding[1, 15:] = True
    keys = Mask.from_key_padding(~padding)
    every = Mask.read(f"gen:full:n={TOKENS}")
    attention = torch.nn.MultiheadAttention(32, 4, batch_first=True).eval()
    layer = torch.nn.TransformerEncoderLayer(32, 4, batch_first=True).eval()
    encoder = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    for weights in (True, False):
        for name, keywords, mask in (("plain", {}, every), ("padding", {"key_padding_mask": padding}, keys),
                                     ("causal", {"attn_mask": causal}, Mask.parse("causal", TOKENS))):
            yield f"MultiheadAttention {name}", attention, (x, x, x), {"need_weights": weights, **keywords}, mask
    yield "TransformerEncoder", encoder, (x,), {}, every
    yield "TransformerEncoder causal", encoder, (x,), {"mask": causal}, Mask.parse("causal", TOKENS)
    yield "TransformerEncoder padding", encoder, (x,), {"src_key_padding_mask": padding}, keys


def same_cells(mask, wanted):
    made, other = (torch.from_dlpack(one.to("dense")).bool() for one in (mask, wanted))
    shape = torch.broadcast_shapes(made.shape, other.shape)
    return torch.equal(made.expand(shape), other.expand(shape))


def check_torch_modules():
    count = 0
    for name, module, arguments, keywords, wanted in torch_modules():
        for grad in (False, True):
            with torch.set_grad_enabled(grad):
                before = module(*arguments, **keywords)
                with maskctl.capture(module) as run:
                    inside = module(*arguments, **keywords)
            first = [one[0] if isinstance(one, tuple) else one for one in (before, inside)]
            assert torch.equal(*first), name
            assert len(run) == 1 and all(same_cells(mask, wanted) for mask in run), (name, grad, run)
        count += 1
    return count


class Other(torch.nn.Module):
    """Runs a call inside a module: for calls that no tiny model makes."""

    def forward(self, call):
        return call()


def stand_in():
    """A module that stands in for flash_attn, with the functions that are called here."""
    module = types.ModuleType("flash_attn")

    def flash_attn_func(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0,
                        alibi_slopes=None, deterministic=False, return_attn_probs=False):
        return q

    def flash_attn_varlen_func(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p=0.0,
                               softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0, alibi_slopes=None,
                               deterministic=False, return_attn_probs=False, block_table=None):
        return q

    def flash_attn_qkvpacked_func(qkv, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1),
                                  softcap=0.0, alibi_slopes=None, deterministic=False, return_attn_probs=False):
        return qkv

    def flash_attn_kvpacked_func(q, kv, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1),
                                 softcap=0.0, alibi_slopes=None, deterministic=False, return_attn_probs=False):
        return q

    def flash_attn_varlen_qkvpacked_func(qkv, cu_seqlens, max_seqlen, dropout_p=0.0, softmax_scale=None, causal=False,
                                         window_size=(-1, -1), softcap=0.0, alibi_slopes=None, deterministic=False,
                                         return_attn_probs=False):
        return qkv

    def flash_attn_varlen_kvpacked_func(q, kv, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p=0.0,
                                        softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0,
                                        alibi_slopes=None, deterministic=False, return_attn_probs=False):
        return q

    def flash_attn_with_kvcache(q, k_cache, v_cache, k=None, v=None, rotary_cos=None, rotary_sin=None,
                                cache_seqlens=None, cache_batch_idx=None, cache_leftpad=None, block_table=None,
                                softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0,
                                rotary_interleaved=True, alibi_slopes=None, num_splits=0, return_softmax_lse=False):
        return q

    for function in (flash_attn_func, flash_attn_varlen_func, flash_attn_qkvpacked_func, flash_attn_kvpacked_func,
                     flash_attn_varlen_qkvpacked_func, flash_attn_varlen_kvpacked_func, flash_attn_with_kvcache):
        setattr(module, function.__name__, function)
    return module


def cached(ends, queries, keys, window=None):
    """Causal masks cell by cell: the keys of each row of the batch end at `ends`, where its last
    query is."""
    cells = torch.zeros(len(ends), 1, queries, keys, dtype=torch.bool)
    for row, end in enumerate(ends):
        for query in range(queries):
            last = end - queries + query
            for key in range(0 if window is None else max(0, last - window), min(last + 1, end)):
                cells[row, 0, query, key] = True
    return Mask(cells, "dense")


def check_calls():
    flash = sys.modules["flash_attn"] = stand_in()
    q, k = torch.randn(2, 7, 4, 8), torch.randn(2, 9, 4, 8)
    cu_q, cu_k = torch.tensor([0, 3, 7], dtype=torch.int32), torch.tensor([0, 4, 9], dtype=torch.int32)
    x = torch.randn(1, 2, 256, 8)
    block_mask = create_block_mask(lambda b, h, q, k: (q >= k) & (q - k < 40), 1, 1, 256, 256, device="cpu")
    heads = torch.rand(4, 7, 9) < 0.5  # [H, Q, K]
    packed = "within:q-lens=3+4,kv-lens=4+5{causal:align=bottom-right}"
    across = (q.transpose(1, 2), k.transpose(1, 2), k.transpose(1, 2))
    for call, wanted in [
        (lambda: flash.flash_attn_func(q, k, k, 0.0, None, True, (3, 0)),
         Mask.parse("causal:align=bottom-right | window:left=3,right=0,align=bottom-right", (7, 9))),
        (lambda: flash.flash_attn_func(q, k, k, window_size=(-1, 2)),
         Mask.parse("window:left=none,right=2,align=bottom-right", (7, 9))),
        (lambda: flash.flash_attn_varlen_func(q[0], k[0], k[0], cu_q, cu_k, 4, 5, causal=True),
         Mask.parse(packed, (7, 9))),
        (lambda: flash.flash_attn_varlen_func(q[0], k[0], k[0], cu_q, cu_k, 4, 5), Mask.from_cu_seqlens(cu_q, cu_k)),
        (lambda: flash.flash_attn_qkvpacked_func(torch.stack([q, q, q], 2), causal=True), Mask.parse("causal", 7)),
        (lambda: flash.flash_attn_kvpacked_func(q, torch.stack([k, k], 2), causal=True),
         Mask.parse("causal:align=bottom-right", (7, 9))),
        (lambda: flash.flash_attn_varlen_qkvpacked_func(torch.stack([q[0]] * 3, 1), cu_q, 4, window_size=(1, 0)),
         Mask.parse("doc:lens=3+4 | window:left=1,right=0", 7)),
        (lambda: flash.flash_attn_varlen_kvpacked_func(q[0], torch.stack([k[0]] * 2, 1), cu_q, cu_k, 4, 5, causal=True),
         Mask.parse(packed, (7, 9))),
        (lambda: flash.flash_attn_with_kvcache(q, k, k, cache_seqlens=torch.tensor([8, 3]), causal=True),
         cached([8, 3], 7, 9)),
        (lambda: flash.flash_attn_with_kvcache(q[:, :2], k, k, q[:, :2], q[:, :2], cache_seqlens=torch.tensor([7, 4]),
                                               causal=True, window_size=(3, 0)), cached([9, 6], 2, 9, 3)),
        (lambda: flash.flash_attn_with_kvcache(q[:, :1], k, k, cache_seqlens=6), cached([6, 6], 1, 9)),
        (lambda: flash.flash_attn_with_kvcache(q, k, k), Mask.read("gen:full:q=7,k=9")),
        (lambda: flex_attention(x, x, x, block_mask=block_mask), Mask.parse("window:keys=40", 256)),
        (lambda: functional.scaled_dot_product_attention(*across, is_causal=True),
         Mask.parse("causal:align=top-left", (7, 9))),
        (lambda: functional.scaled_dot_product_attention(*across, attn_mask=heads), Mask(heads[None], "dense")),
        (lambda: functional.scaled_dot_product_attention(*(one[0] for one in across), attn_mask=heads),
         Mask(heads[:, None], "dense")),
    ]:
        other = Other()
        with maskctl.capture(other) as run:
            other(call)
        assert len(run.calls) == 1 and same_cells(run.calls[0].mask, wanted), (run, wanted)
    del sys.modules["flash_attn"]


def refused(call, words):
    try:
        call()
    except Error as error:
        assert words in str(error), error
    else:
        raise AssertionError(words)


def check_bad_input():
    q = torch.randn(1, 2, 8, 4)
    other = Other()
    refused(lambda: maskctl.capture("llama").__enter__(), "a str is no torch.nn.Module")
    with maskctl.capture(other) as run:
        with maskctl.capture(other) as inner:
            other(lambda: functional.scaled_dot_product_attention(q, q, q))
    assert [call.times for call in run.calls] == [call.times for call in inner.calls] == [1]
    original = functional.scaled_dot_product_attention
    try:
        with maskctl.capture(other) as run:
            other(lambda: functional.scaled_dot_product_attention(q, q, q, is_causal=True))
            raise KeyError("inside")
    except KeyError:
        assert len(run.calls) == 1 and run.calls[0].given == {"is_causal": True}
    assert functional.scaled_dot_product_attention is original

    def freed():
        for shift in (0, 1):  # the second mask often has the first one's address
            mask = torch.ones(8, 8).tril(-shift).bool() | torch.eye(8).bool()
            functional.scaled_dot_product_attention(q, q, q, attn_mask=mask)
            mask.untyped_storage().resize_(0)

    def changed():
        mask = torch.ones(8, 8).tril().bool()
        functional.scaled_dot_product_attention(q, q, q, attn_mask=mask)
        mask[5, 2] = False
        functional.scaled_dot_product_attention(q, q, q, attn_mask=mask)

    for call, wanted in ((freed, 1), (changed, 2)):
        for guard in (torch.no_grad, torch.inference_mode):
            with guard(), maskctl.capture(other) as run:
                other(call)
            assert len(run) == wanted and run.calls[0].times == 3 - wanted, run
    with maskctl.capture(other) as run:
        other(lambda: refused_by_torch(q))
    assert "not read" in str(run) and not run.check()
    try:
        with maskctl.capture(other):
            pass
    except Error as error:
        assert "no attention function that is known ran inside" in str(error)
    else:
        raise AssertionError("silence")


def refused_by_torch(q):
    try:
        functional.scaled_dot_product_attention(q, q, q, attn_mask=torch.ones(5, 5).bool())
    except RuntimeError:
        return


def plant(model_type):
    """Plants a window in one layer; checks that the table of layers shows it, and that a file keeps
    it."""
    model, _ = made(model_type, 4, {})
    model.set_attn_implementation("sdpa")
    layer = next(module for name, module in attention_modules(model).items() if ".2." in name)
    forward = layer.forward

    def windowed(hidden_states, *arguments, attention_mask=None, **keywords):
        length = hidden_states.shape[1]
        near = torch.ones(length, length).tril().triu(-4).bool()
        return forward(hidden_states, *arguments, attention_mask=near[None, None], **keywords)

    layer.forward = windowed
    batch = {"input_ids": torch.randint(3, 60, (1, TOKENS))}
    begin = time.perf_counter()
    with maskctl.capture(model) as run, torch.no_grad():
        model(**batch)
    table = run.table()
    with tempfile.TemporaryDirectory() as folder:
        run.save(f"{folder}/run.npz")
        found = {name: Mask.read(f"{folder}/run.npz:{name}").recognise().pipeline for name in run.layers}
        refused(lambda: run.save(f"{folder}/run.npz"), "exists; give force=True")
    taken = time.perf_counter() - begin
    windows = [name for name, pipeline in found.items() if pipeline == "window:keys=5"]
    assert len(found) == 4 and len(windows) == 1 and ".2." in windows[0] and "window:keys=5" in table, (found, table)
    print(f"{model_type}: window in {windows[0]} found in {taken:.2f} s")


def slower(implementation, rounds=9):
    """How much longer 2048 tokens take inside maskctl.capture: the medians of rounds in turns."""
    config = transformers.AutoConfig.for_model(
        "qwen3", hidden_size=256, intermediate_size=512, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=2, head_dim=64, vocab_size=128)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation=implementation).eval()
    valid = torch.ones(1, 2048, dtype=torch.long)
    valid[0, 2000:] = 0  # padding, so that there is a mask
    batch = {"input_ids": torch.randint(3, 60, (1, 2048)), "attention_mask": valid, "use_cache": False}

    def once(capture):
        begin = time.process_time()
        if not capture:
            output_of(model, batch)
            return time.process_time() - begin
        with maskctl.capture(model):
            output_of(model, batch)
        return time.process_time() - begin

    once(True)
    pairs = [(once(False), once(True)) for _ in range(rounds)]
    plain, inside = (statistics.median(one) for one in zip(*pairs))
    print(f"{implementation}, 2048 tokens, 4 layers: {1000 * plain:.0f} ms, captured {1000 * inside:.0f} ms, "
          f"{100 * (inside / plain - 1):.1f} % more (processor time)")


def main():
    torch.manual_seed(0)
    models = layers = 0
    for model_type in TYPES:
        try:
            layers += check_model(model_type)
            models += 1
        except LookupError as error:
            print(f"{model_type}: left out: {error}")
    modules = check_torch_modules()
    check_calls()
    check_bad_input()
    print(f"torch {torch.__version__}, transformers {transformers.__version__}: {models} models, {layers} layers, "
          f"{modules} modules of torch: what forward hooks see, outputs bit for bit")
    for model_type in ("llama", "qwen3", "phi3"):
        plant(model_type)
    for implementation in ("eager", "sdpa"):
        slower(implementation)


if __name__ == "__main__":
    main()
