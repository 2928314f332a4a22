"""How much of a difference in logits is mask: tiny models of transformers in which a mask is wrong on purpose, so that
the answer is known."""

import copy
import functools

import numpy as np
import pytest

import maskctl
from maskctl import Error, Mask

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

TOKENS = torch.arange(3, 23)[None]


def made(windows, implementation="eager"):
    """A model of four layers with the same weights each time, and the window of each sliding layer."""
    torch.manual_seed(0)
    config = transformers.Gemma3TextConfig(
        vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=4, head_dim=8, num_attention_heads=4,
        num_key_value_heads=2, sliding_window=6, layer_types=["sliding_attention", "full_attention"] * 2)
    config._attn_implementation = implementation
    model = transformers.Gemma3ForCausalLM(config).eval()
    for layer, window in windows.items():
        attention = model.model.layers[layer].self_attn
        usual = attention.forward
        q, k = np.ogrid[:20, :20]
        bias = torch.where(torch.as_tensor((k <= q) & (q - k < window)), 0.0, -1e30)[None, None]

        @functools.wraps(usual)
        def forward(*arguments, usual=usual, bias=bias, **keywords):
            keywords["attention_mask"] = bias[..., -keywords["hidden_states"].shape[1]:, :]
            return usual(*arguments, **keywords)

        attention.forward = forward
    return model


def logits_of(model):
    with torch.no_grad():
        return model(TOKENS, use_cache=False).logits


def captured(model):
    with maskctl.capture(model) as run:
        logits_of(model)
    return run


def rms(a, b):
    return float((a.double() - b.double()).pow(2).mean().sqrt())


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_a_wrong_mask_in_one_layer_makes_all_of_the_difference(implementation):
    a, b = made({}, implementation), made({2: 4})
    logits = logits_of(b)
    split = maskctl.split_logits(a, TOKENS, captured(b), logits=logits)
    assert list(split.layers) == ["model.layers.2.self_attn"] and not split.notes
    whole = rms(logits_of(a), logits)
    assert whole > 1e-3 and split.whole[0] == pytest.approx(whole, rel=1e-6)
    assert split.mask[0] == pytest.approx(whole, rel=1e-3) and split.rest[0] < 1e-3 * whole
    assert split.layers["model.layers.2.self_attn"] == split.mask
    p, q = (torch.log_softmax(one.double(), -1) for one in (logits_of(a), logits))
    assert split.whole[1] == pytest.approx(float((p.exp() * (p - q)).sum(-1).mean()), rel=1e-6)
    assert split.rest[1] < 1e-6 and "and with them" in str(split)


def test_rounding_is_told_from_masks():
    a, b = made({}), made({0: 9})
    noise = 1e-2 * torch.randn(logits_of(b).shape, generator=torch.Generator().manual_seed(1))
    split = maskctl.split_logits(a, TOKENS, captured(b), logits=logits_of(b) + noise)
    assert split.rest[0] == pytest.approx(rms(noise, 0 * noise), rel=1e-3)
    assert split.mask[0] == pytest.approx(rms(logits_of(a), logits_of(b)), rel=1e-3)
    split = maskctl.split_logits(a, TOKENS, captured(a), logits=logits_of(a) + noise)
    assert not split.layers and split.mask == (0, 0) and split.whole == split.rest
    assert "no mask of a layer differs; logits differ by" in str(split)
    half = maskctl.split_logits(a, TOKENS, captured(b), logits=copy.deepcopy(b).half().float()(TOKENS, use_cache=False).logits.detach())
    assert 0 < half.rest[0] < 0.1 * half.mask[0]


def test_each_layer_that_differs_is_asked_alone():
    a, both = made({}), made({0: 3, 2: 3})
    split = maskctl.split_logits(a, TOKENS, captured(both))
    assert list(split.layers) == ["model.layers.0.self_attn", "model.layers.2.self_attn"] and split.whole is split.rest is None
    for layer in (0, 2):
        alone = rms(logits_of(a), logits_of(made({layer: 3})))
        assert split.layers[f"model.layers.{layer}.self_attn"][0] == pytest.approx(alone, rel=1e-3)
    assert "the masks of B change the logits by" in str(split)


def test_a_sampler_that_decodes_and_the_file_of_its_run(tmp_path):
    a, b = made({}), made({})
    for layer in (0, 2):
        b.model.layers[layer].self_attn.sliding_window = 4
    b.config.sliding_window = 4
    with maskctl.capture(b) as run, torch.no_grad():
        cache = transformers.DynamicCache(config=b.config)
        steps = [b(TOKENS[:, begin:end], past_key_values=cache, use_cache=True).logits
                 for begin, end in [(0, 15), *((q, q + 1) for q in range(15, 20))]]
    run.save(tmp_path / "sampler.npz")
    logits = torch.cat(steps, 1)
    trainer = captured(a)
    answer = trainer.diff(run)
    assert not answer and answer.differences[0].layers == ["model.layers.0.self_attn", "model.layers.2.self_attn"]
    assert answer.differences[0].cause.text == "B = A with window left 3 instead of 5"
    assert captured(b).diff(run) and captured(b).diff(tmp_path / "sampler.npz")
    split = maskctl.split_logits(a, {"input_ids": TOKENS}, tmp_path / "sampler.npz", logits=logits)
    assert split.rest[0] < 1e-3 * split.whole[0] and len(split.layers) == 2


def decoded(model, cache, prompt=15):
    """A run of a prompt and of single tokens behind it, in a cache."""
    with maskctl.capture(model) as run, torch.no_grad():
        for begin, end in [(0, prompt), *((q, q + 1) for q in range(prompt, 20))]:
            model(TOKENS[:, begin:end], past_key_values=cache, use_cache=True)
    return run


def test_slots_of_caches_are_positions():
    a = made({})
    trainer = captured(a)
    for cache in (transformers.StaticCache(config=a.config, max_cache_len=32), transformers.DynamicCache(config=a.config),
                  transformers.DynamicCache()):
        assert trainer.diff(decoded(a, cache)), str(trainer.diff(decoded(a, cache)))
    # A cache that had tokens before, and one that was cropped, are not followed: what keys are is not known then.
    cache = transformers.DynamicCache(config=a.config)
    with torch.no_grad():
        a(TOKENS[:, :15], past_key_values=cache, use_cache=True)
    with maskctl.capture(a) as late, torch.no_grad():
        a(TOKENS[:, 15:16], past_key_values=cache, use_cache=True)
    assert all(call.held is None for call in late.calls)
    assert "fewer queries than keys are taken for the last tokens" in str(trainer.diff(late))
    cache = transformers.DynamicCache()
    with maskctl.capture(a) as cropped, torch.no_grad():
        a(TOKENS[:, :15], past_key_values=cache, use_cache=True)
        cache.crop(-1)
        a(TOKENS[:, 14:16], past_key_values=cache, use_cache=True)
    assert [call.held is None for call in cropped.calls] == [call.lengths[2] == 2 for call in cropped.calls]


def test_methods_of_caches_are_as_before_when_the_last_capture_has_ended():
    methods = [vars(transformers.Cache)[name] for name in ("update", "crop", "reset")]
    a, run = made({}), []
    one, other = maskctl.capture(a), maskctl.capture(a)
    for step in (one.__enter__, other.__enter__, lambda: run.append(logits_of(a)), lambda: one.__exit__(None, None, None),
                 lambda: run.append(decoded(a, transformers.DynamicCache(config=a.config))),
                 lambda: other.__exit__(None, None, None)):
        assert [vars(transformers.Cache)[name] for name in ("update", "crop", "reset")] != methods or step == one.__enter__
        step()
    assert [vars(transformers.Cache)[name] for name in ("update", "crop", "reset")] == methods
    assert captured(a).diff(run[1])


def test_what_cannot_be_told_is_refused_or_noted():
    a = made({})
    run = captured(a)
    with pytest.raises(Error, match="no layer is in both runs"):
        maskctl.split_logits(a, TOKENS, renamed(run))
    run.unread["model.layers.1.self_attn"] = "a kernel of its own"
    split = maskctl.split_logits(a, TOKENS, run)
    assert split.notes == ["model.layers.1.self_attn keeps its own mask: a kernel of its own"]
    with pytest.raises(Error, match="expected \\(1, 20, 64\\)"):
        maskctl.split_logits(a, TOKENS, run, logits=np.zeros((1, 20, 3)))
    with pytest.raises(Error, match="gives no logits"):
        maskctl.split_logits(a.model, TOKENS, run)
    with pytest.raises(Error, match="is no torch.nn.Module"):
        maskctl.split_logits("model", TOKENS, run)
    deaf = made({0: 6})  # this layer makes its own mask, whatever it is given
    with pytest.raises(Error, match="applied another mask than it was given"):
        maskctl.split_logits(deaf, TOKENS, captured(made({0: 3})))


def renamed(run):
    from maskctl._rows import Run

    out = Run()
    for layer in run.layers:
        out._add("server." + layer, Mask(np.asarray(run[layer]).reshape(run[layer].shape), "dense"))
    return out
