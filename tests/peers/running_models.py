"""maskctl.watch and maskctl.capture on tiny models with random weights of transformers, in the ways in which
their users run them. Each row has to be the mask that the weights of eager attention show, or to say that it
was not read; outputs keep every bit, and nothing stays behind. Faults that are planted are found in their
layer.

    peers/bin/pip install a wheel of maskctl, then
    peers/bin/python tests/peers/running_models.py [TYPE...]
"""
import collections
import os
import random
import sys
import warnings

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
warnings.filterwarnings("ignore")

import torch
import transformers
from tiny_models import made
from torch.nn import functional

import maskctl

DECODERS = ["llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "phi3", "starcoder2", "olmo2",
            "olmo3", "cohere", "cohere2", "granite", "glm", "glm4", "smollm3", "exaone4", "ministral3", "mixtral",
            "qwen2_moe", "qwen3_moe", "olmoe", "gpt_oss", "arcee", "gpt2", "gpt_neox", "gpt_neo", "gptj", "codegen",
            "opt", "biogpt", "persimmon", "stablelm", "phi", "seed_oss", "bloom", "falcon", "mpt", "xglm", "llama4_text",
            "deepseek_v3", "jetmoe", "ctrl", "bitnet", "lfm2", "qwen3_next", "minimax"]
ENCODERS = ["bert", "roberta", "electra", "camembert", "distilbert", "albert", "deberta", "mpnet", "modernbert",
            "longformer", "big_bird", "xlm", "flaubert", "squeezebert", "convbert", "funnel", "xlnet", "nystromformer",
            "yoso", "ibert", "roformer", "rembert", "megatron-bert", "mobilebert", "esm", "layoutlm", "ernie"]
TOKENS = 24


def attention_modules(model):
    """The modules whose output has the weights of a softmax."""
    return {name: module for name, module in model.named_modules() if "Attention" in type(module).__name__
            and not any("Attention" in type(one).__name__ for one in list(module.modules())[1:])}


def weights_of(model, run):
    """The cells that have a weight, call by call of each layer, as forward hooks on eager attention see them."""
    seen, hooks = collections.defaultdict(list), []
    for name, module in attention_modules(model).items():
        def hook(module, arguments, output, name=name):
            for one in output if isinstance(output, tuple) else ():
                if isinstance(one, torch.Tensor) and one.ndim == 4 and one.shape[-2] <= TOKENS + 8:
                    sums = one.float().sum(-1)
                    heads = one.shape[1] <= 4  # XLNet's are [Q, K, B, H]
                    if heads and one.min() >= 0 and (sums < 1.01).all():
                        seen[name].append(one)
        hooks.append(module.register_forward_hook(hook))
    try:
        run(output_attentions=True)
    finally:
        for hook in hooks:
            hook.remove()
    return seen


def dense(mask):
    return torch.from_dlpack(mask).bool().reshape(mask.shape)


def same(one, other, rows):
    """Whether two masks agree in the rows of queries that are no padding."""
    if one.shape[-2:] != other.shape[-2:]:
        return False
    heads = max(one.shape[1], other.shape[1])
    batch = max(one.shape[0], other.shape[0])
    one, other = (cells.expand(batch, heads, -1, -1) for cells in (one, other))
    if rows is not None and len(rows) == batch and one.shape[2] >= rows.shape[1]:
        keep = functional.pad(rows, (0, one.shape[2] - rows.shape[1]), value=1).bool()[:, None, :, None]
        one, other = one & keep, other & keep
    return torch.equal(one, other)


def state():
    """What has to be as before."""
    found = [functional.scaled_dot_product_attention, torch.nn.Module.__call__, torch.softmax, torch.matmul, torch.bmm,
             torch.baddbmm, torch.einsum, torch.cat, torch._ops.OpOverload.__call__, functional.softmax,
             functional.multi_head_attention_forward, *transformers.AttentionInterface._global_mapping.values()]
    found += [key for key in vars(torch.Tensor) if key in ("softmax", "matmul", "bmm", "baddbmm", "__matmul__")]
    for name, module in sys.modules.items():
        if name.startswith("transformers.models.") and hasattr(module, "eager_attention_forward"):
            found.append(module.eager_attention_forward)
    return [id(one) if not isinstance(one, str) else one for one in found]


def tensors_of(output):
    if isinstance(output, torch.Tensor):
        return [output]
    if isinstance(output, dict):
        output = list(output.values())
    if isinstance(output, (list, tuple)):
        return [tensor for one in output for tensor in tensors_of(one)]
    return []


def equal(one, other):
    return len(one) == len(other) and all(torch.equal(a, b) or (a.isnan() == b.isnan()).all() and torch.equal(
        a.nan_to_num(), b.nan_to_num()) for a, b in zip(one, other))


class Tally(collections.Counter):
    def __str__(self):
        return ", ".join(f"{count} {what}" for what, count in sorted(self.items()))


def watched(eye, model, run, tally, what):
    """Runs inside `eye`; checks that nothing is disturbed."""
    before = state()
    torch.manual_seed(3)
    plain = tensors_of(run())
    torch.manual_seed(3)
    with eye(model) as rows:
        inside = tensors_of(run())
    tally["models"] += 1
    if state() != before or not equal(plain, inside):
        tally["DISTURBED"] += 1
        print(f"DISTURBED: {what}, {eye.__name__}")
    return rows


def compare(rows, seen, valid, tally, what):
    """Each row against the weights: true, not read, or false."""
    for call in rows.calls:
        tally["rows"] += 1
        if call.mask is None or call.unread:
            tally["not read"] += 1
            tally[f"  not read: {what.split(',')[0]}: {call.unread[:60]}"] += 1
            continue
        layer = next((name for name in seen if call.layer == name or call.layer.startswith(name + ".")
                      or name.startswith(call.layer + ".")), None)
        if layer is None:
            tally["without weights to compare"] += 1
            tally[f"  without weights: {what.split(',')[0]}: {call.layer}"] += 1
            continue
        mask = dense(call.mask)
        keys = mask.shape[-1]
        if any(same(mask, weights[..., :keys] > 1e-30, valid) for weights in seen[layer]):
            tally["true"] += 1
        else:
            tally["FALSE"] += 1
            print(f"FALSE: {what}: {call.layer} {call.function} {call.lengths} {call.given} {maskctl._seen.pattern(call.mask)}; "
                  f"weights {[tuple(one.shape) for one in seen[layer]]}")
    missing = [name for name in seen if not any(
        call.layer == name or call.layer.startswith(name + ".") or name.startswith(call.layer + ".") for call in rows.calls)]
    if missing:
        tally["OMITTED"] += len(missing)
        print(f"OMITTED: {what}: {missing}")


def batches(model, ids):
    """(name, arguments, rows that are no padding) of the ways to call a text model."""
    valid = torch.ones_like(ids)
    valid[1, 15:] = 0
    cache = {"use_cache": False} if "use_cache" in model.config.to_dict() else {}
    yield "plain", {"input_ids": ids, **cache}, None
    yield "padded right", {"input_ids": ids, "attention_mask": valid, **cache}, valid
    yield "padded left", {"input_ids": ids, "attention_mask": valid.flip(1), **cache}, valid.flip(1)


def packed(ids):
    positions = torch.cat([torch.arange(n) for n in (9, 7, 8)])[None]
    return {"input_ids": ids[:1], "position_ids": positions, "use_cache": False}


def generations(ids):
    """(name, options) of generate()."""
    yield "generate", {}
    yield "generate static", {"cache_implementation": "static"}
    yield "generate beams", {"num_beams": 2}
    yield "generate sampled", {"do_sample": True}
    yield "generate without cache", {"use_cache": False}
    yield "generate assisted", {"prompt_lookup_num_tokens": 2}


def implementations(model):
    for name in ("eager", "sdpa"):
        try:
            model.set_attn_implementation(name)
        except (ValueError, ImportError):
            continue
        if all(getattr(part.config, "_attn_implementation", name) == name for part in model.modules() if hasattr(part, "config")):
            yield name


def check(model_type, tally, is_decoder):
    try:
        model, _ = made(model_type, 3, {})
    except Exception as error:
        print(f"{model_type}: not made: {str(error)[:80]}")
        return
    torch.manual_seed(1)
    ids = torch.randint(3, 60, (2, TOKENS))
    jobs = list(batches(model, ids))
    if is_decoder:
        jobs.append(("packed", packed(ids), None))
    for name, arguments, valid in jobs:
        def run(**more):
            with torch.no_grad():
                return model(**{**arguments, **more})
        each(model, model_type, name, run, valid, tally)
    if not is_decoder or not hasattr(model, "generate"):
        return
    for name, options in generations(ids):
        valid = torch.ones_like(ids)
        valid[1, :9] = 0

        def run(**more):
            if "output_attentions" in more:
                more["return_dict_in_generate"] = True
            rows = 1 if name == "generate assisted" else 2
            return model.generate(ids[-rows:], attention_mask=valid[-rows:], max_new_tokens=3, min_new_tokens=3, pad_token_id=0,
                                  **options, **more)
        each(model, model_type, name, run, valid, tally)


def each(model, model_type, name, run, valid, tally):
    what = f"{model_type}, {name}"
    try:
        model.set_attn_implementation("eager")
        torch.manual_seed(3)
        seen = weights_of(model, run)
    except Exception as error:
        tally["ways that a model refuses"] += 1
        tally[f"  refused: {what}: {type(error).__name__} {str(error)[:50]}"] += 1
        return
    rows = valid
    if valid is not None and "beams" in name:
        rows = valid.repeat_interleave(2, 0)
    if "assisted" in name:
        rows = valid[-1:]
    for implementation in implementations(model):
        for eye in (maskctl.watch, maskctl.capture):
            try:
                found = watched(eye, model, run, tally, f"{what}, {implementation}")
            except maskctl.Error as error:
                tally["nothing seen"] += 1
                print(f"{what}, {implementation}, {eye.__name__}: {error}")
                continue
            compare(found, seen, rows, tally, f"{what}, {implementation}, {eye.__name__}")


SMALL = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4)
TEXT = dict(vocab_size=64, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
            decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48)


def others(ids):
    """(name, model, arguments) of models that are not called with a row of text alone."""
    t5 = dict(vocab_size=64, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4)
    pairs = {"input_ids": ids, "attention_mask": (ids > 20).long(), "decoder_input_ids": ids[:, :7]}
    picture = torch.randn(2, 3, 32, 32)
    swin = dict(image_size=32, window_size=4, depths=[2, 2], embed_dim=8, num_heads=[2, 2])
    stages = transformers.SwinConfig(image_size=32, embed_dim=16, depths=[1, 1, 1, 1], num_heads=[1, 1, 1, 1],
                                     window_size=4, out_features=["stage1", "stage2", "stage3", "stage4"])
    vision = dict(SMALL, image_size=16, patch_size=4)
    for name, make, arguments in [
        ("t5", lambda: transformers.T5Model(transformers.T5Config(**t5)), pairs),
        ("mt5", lambda: transformers.MT5Model(transformers.MT5Config(**t5)), pairs),
        ("umt5", lambda: transformers.UMT5Model(transformers.UMT5Config(**t5)), pairs),
        ("longt5", lambda: transformers.LongT5Model(transformers.LongT5Config(**t5, local_radius=4)), pairs),
        ("bart", lambda: transformers.BartModel(transformers.BartConfig(**TEXT)), pairs),
        ("pegasus", lambda: transformers.PegasusModel(transformers.PegasusConfig(**TEXT)), pairs),
        ("m2m_100", lambda: transformers.M2M100Model(transformers.M2M100Config(**TEXT)), pairs),
        ("led", lambda: transformers.LEDModel(transformers.LEDConfig(**TEXT, attention_window=[8, 8])), pairs),
        ("reformer", lambda: transformers.ReformerModel(transformers.ReformerConfig(
            hidden_size=32, attention_head_size=16, num_attention_heads=2, feed_forward_size=48, vocab_size=64,
            attn_layers=["local", "lsh"], axial_pos_embds=False, is_decoder=False, local_attn_chunk_length=4,
            lsh_attn_chunk_length=4, num_buckets=4)), {"input_ids": ids}),
        ("big_bird sparse", lambda: transformers.BigBirdModel(transformers.BigBirdConfig(
            **SMALL, vocab_size=64, block_size=4, num_random_blocks=1)), {"input_ids": torch.randint(3, 60, (1, 96))}),
        ("swin", lambda: transformers.SwinModel(transformers.SwinConfig(patch_size=1, **swin)), {"pixel_values": picture}),
        ("swinv2", lambda: transformers.Swinv2Model(transformers.Swinv2Config(patch_size=1, **swin)), {"pixel_values": picture}),
        ("vit", lambda: transformers.ViTModel(transformers.ViTConfig(**vision)), {"pixel_values": picture[..., :16, :16]}),
        ("siglip", lambda: transformers.SiglipVisionModel(transformers.SiglipVisionConfig(**vision)),
         {"pixel_values": picture[..., :16, :16]}),
        ("clip", lambda: transformers.CLIPModel(transformers.CLIPConfig(text_config=dict(SMALL, vocab_size=64), vision_config=vision)),
         {"input_ids": ids, "pixel_values": picture[..., :16, :16]}),
        ("sam", lambda: transformers.SamVisionModel(transformers.SamVisionConfig(
            hidden_size=32, output_channels=16, num_hidden_layers=2, num_attention_heads=4, image_size=32, patch_size=4,
            window_size=4, global_attn_indexes=[1], mlp_dim=32)), {"pixel_values": picture}),
        ("mask2former", lambda: transformers.Mask2FormerModel(transformers.Mask2FormerConfig(
            backbone_config=stages, feature_size=32, mask_feature_size=32, hidden_dim=32, encoder_feedforward_dim=32,
            encoder_layers=1, decoder_layers=3, num_attention_heads=4, dim_feedforward=32, num_queries=10)),
         {"pixel_values": torch.randn(1, 3, 64, 64)}),
        ("whisper", lambda: transformers.WhisperModel(transformers.WhisperConfig(
            **TEXT, num_mel_bins=8, max_source_positions=20, decoder_start_token_id=1, pad_token_id=0, bos_token_id=1,
            eos_token_id=2)), {"input_features": torch.randn(2, 8, 40), "decoder_input_ids": ids[:, :5]}),
    ]:
        torch.manual_seed(0)
        yield name, make().eval(), arguments


def check_others(tally, asked):
    torch.manual_seed(1)
    ids = torch.randint(3, 60, (2, TOKENS))
    for name, model, arguments in others(ids):
        if asked and name not in asked:
            continue

        def run(**more):
            with torch.no_grad():
                return model(**arguments, **more)
        each(model, name, "plain", run, None, tally)


def check_training(tally):
    """Checkpointing and autocast: gradients keep their bits, and rows are those of the plain model."""
    ids = torch.randint(3, 60, (2, TOKENS))
    for model_type in ("llama", "gemma3_text", "qwen3_moe", "bloom", "gpt_neox"):
        for implementation in ("eager", "sdpa"):
            model, _ = made(model_type, 3, {})
            try:
                model.set_attn_implementation(implementation)
            except ValueError:
                continue
            model.train()
            model.gradient_checkpointing_enable()
            valid = torch.ones_like(ids)
            valid[1, 15:] = 0

            def run(**more):
                model.zero_grad()
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    out = model(ids, attention_mask=valid, use_cache=False, **more).logits
                out.float().sum().backward()
                return [out, *(p.grad.clone() for p in model.parameters() if p.grad is not None)]
            for eye in (maskctl.watch, maskctl.capture):
                rows = watched(eye, model, run, tally, f"{model_type} in training, {implementation}")
                plain = maskctl.Mask.from_key_padding(valid).apply("causal")
                for call in rows.calls:
                    keep = 6 if call.mask is not None and "window" in str(call.mask.recognise().pipeline) else None
                    wanted = plain.apply(f"window:keys={keep}") if keep else plain
                    right = call.mask is not None and same(dense(call.mask), dense(wanted), valid)
                    tally["rows"] += 1
                    tally["true" if right else "FALSE"] += 1
                    if not right:
                        print(f"FALSE: {model_type} in training, {implementation}: {rows}")


def check_flex(tally):
    """FlexAttention as transformers calls it, with its own compiled kernels left out: they take minutes."""
    import transformers.integrations.flex_attention as home
    from torch.nn.attention.flex_attention import flex_attention

    home.compile_friendly_flex_attention = lambda query, key, value, training=False, **rest: flex_attention(query, key, value, **rest)
    ids = torch.randint(3, 60, (2, TOKENS))
    for model_type in ("llama", "mistral", "qwen3", "gemma3_text", "olmo3", "phi3"):
        model, _ = made(model_type, 3, {})
        for name, arguments, valid in [*batches(model, ids), ("packed", packed(ids), None)]:
            def run(**more):
                with torch.no_grad():
                    return model(**{**arguments, **more})
            model.set_attn_implementation("eager")
            seen = weights_of(model, run)
            model.set_attn_implementation("flex_attention")
            for eye in (maskctl.watch, maskctl.capture):
                rows = watched(eye, model, run, tally, f"{model_type}, {name}, flex")
                compare(rows, seen, valid, tally, f"{model_type}, {name}, flex, {eye.__name__}")


def check_plants(tally, count=200):
    """Opens or closes one cell that is not so in one layer; it has to be found there, and nowhere else."""
    draw = random.Random(5)
    models = {}
    for number in range(count):
        model_type, implementation = draw.choice(["llama", "gemma3_text", "bert", "gpt_neox", "qwen3_moe"]), draw.choice(["eager", "sdpa"])
        if model_type not in models:
            models[model_type] = made(model_type, 4, {})[0]
        model = models[model_type]
        model.set_attn_implementation(implementation)
        layers = sorted(attention_modules(model))
        planted, q, k = draw.choice(layers), draw.randrange(TOKENS), draw.randrange(TOKENS)
        layer = model.get_submodule(planted)
        home = sys.modules[type(layer).__module__]
        ids = torch.randint(3, 60, (1, TOKENS))
        valid = torch.ones_like(ids)
        valid[0, -2:] = 0
        batch = {"input_ids": ids, "attention_mask": valid}
        from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
        table = ALL_ATTENTION_FUNCTIONS
        eager = home.eager_attention_forward
        function = eager if implementation == "eager" else table["sdpa"]

        def faulty(module, query, key, value, attention_mask, **rest):
            if module is layer:
                if attention_mask is None:
                    attention_mask = torch.ones(1, 1, TOKENS, TOKENS).bool() if "bert" in model_type else torch.ones(1, 1, TOKENS, TOKENS).tril().bool()
                attention_mask = attention_mask.expand(1, 1, TOKENS, TOKENS).clone()
                if attention_mask.dtype == torch.bool:
                    attention_mask[0, 0, q, k] ^= True
                else:
                    is_open = attention_mask[0, 0, q, k] == 0
                    attention_mask[0, 0, q, k] = torch.finfo(query.dtype).min if is_open else 0
            return function(module, query, key, value, attention_mask, **rest)

        for eye in (maskctl.watch, maskctl.capture):
            with torch.no_grad(), eye(model) as sound:
                model(**batch)
            if implementation == "eager":
                home.eager_attention_forward = faulty
            else:
                table["sdpa"] = faulty
            try:
                with torch.no_grad(), eye(model) as rows:
                    model(**batch)
            finally:
                home.eager_attention_forward = eager
                if implementation == "sdpa":
                    del table["sdpa"]
            found = [name for name in layers if (dense(rows[name]) != dense(sound[name])).any()]
            cells = {tuple(at) for name in found for at in (dense(rows[name]) != dense(sound[name]))[..., :, :].nonzero()[:, 2:].tolist()}
            tally["plants"] += 1
            right = found == [planted] and cells == {(q, k)}
            tally["plants found" if right else "PLANTS MISSED"] += 1
            if not right:
                print(f"PLANT: {model_type}, {implementation}, {eye.__name__}: {planted} {q},{k}: found {found} {list(cells)[:4]}")


def main():
    torch.set_num_threads(1)
    asked = sys.argv[1:]
    tally = Tally()
    check_others(tally, asked)
    if not asked or "plants" in asked:
        check_plants(tally)
    if not asked or "training" in asked:
        check_training(tally)
    if not asked or "flex" in asked:
        check_flex(tally)
    for types, is_decoder in ((DECODERS, True), (ENCODERS, False)):
        for model_type in types:
            if not asked or model_type in asked:
                check(model_type, tally, is_decoder)
    print(f"torch {torch.__version__}, transformers {transformers.__version__}")
    for what, count in tally.items():
        print(f"{count:6} {what}")


if __name__ == "__main__":
    main()
