"""maskctl.phases: of caches that are arrays and functions of numpy, in which public faults are rebuilt; and of tiny
models of transformers with caches that are wrong on purpose, where it is installed."""

import inspect

import numpy as np
import pytest

import maskctl
from maskctl import Error, Mask

N = 24


def causal(n=N, window=None, sinks=0):
    q, k = np.ogrid[:n, :n]
    return Mask((k <= q) & ((q - k < (window or n)) | (k < sinks)))


def first(answer):
    return answer.caches[0].phases[0].first


def test_a_chain_in_the_caches_of_a_library():
    answer = maskctl.phases("causal | window:keys=8", cache="vllm", length=64)
    assert answer and answer.caches[0].cache.startswith("SlidingWindowManager")
    assert not maskctl.phases("causal | window:keys=8", cache="sliding:last=6", length=64, chunks=(4, 16))
    assert maskctl.phases(causal(window=8), cache=["sliding:window=8", "rotating:window=8,rollback=exact"])
    assert causal().phases(cache="dynamic")


def test_the_token_of_each_slot_as_an_array():
    steps = np.full((N, 8), -1)
    for step in range(N):  # a ring of eight slots
        for token in range(max(step - 7, 0), step + 1):
            steps[step, token % 8] = token
    assert maskctl.phases(causal(window=8), cache=steps)
    answer = maskctl.phases(causal(window=9), cache=steps)
    assert not answer and (first(answer).step, first(answer).key) == (8, 0)
    assert "key 0 is in no slot" in str(answer)


def by_kept(last, reads_kept=True):
    def cache(cached, queries):
        seen = cached if reads_kept else cached + queries
        return np.arange(max(seen - last, 0), cached + queries)

    return cache


def test_a_cache_as_a_function():
    assert maskctl.phases(causal(window=8), cache=by_kept(7))
    assert not maskctl.phases(causal(window=8), cache=by_kept(6))
    assert maskctl.phases(causal(window=8), cache=by_kept(8, False), chunks=(1,))
    answer = maskctl.phases("causal | window:keys=8", cache=by_kept(8, False), chunks=(5,), length=N)
    assert not answer and first(answer).kind == "dropped"
    assert maskctl.phases("gen:window:keys=8,n=24", cache=by_kept(7))


def opened(rule):
    """A cache that keeps all tokens, and opens rule(query in the step, slot, cached)."""

    def cache(cached, queries):
        i, slot = np.arange(queries)[:, None], np.arange(cached + queries)[None]
        return slot[0], rule(i, slot, cached)

    return cache


# Threads, whose masks are rebuilt: (mask, as it was, as it was fixed, kind of the first fault).
FAULTS = {
    "lalamo#200: the left side of a window counts from the rows of a step": (
        causal(window=6), lambda i, s, t: (s <= t + i) & (i - s < 6), lambda i, s, t: (s <= t + i) & (t + i - s < 6), "extra"),
    "pytorch#108108: is_causal aligned with the first key": (
        causal(), lambda i, s, t: s <= i, lambda i, s, t: s <= t + i, "closed"),
    "mobius#260: the tokens of a chunk see all of it": (
        causal(), lambda i, s, t: s < s.max() + 1 + 0 * i, lambda i, s, t: s <= t + i, "extra"),
    "PaddleFormers#4536: a mask of the prompt is not cut to the cache": (
        causal(), lambda i, s, t: s <= i if t else s <= t + i, lambda i, s, t: s <= t + i, "closed"),
    "vllm#40106: an image of a prompt is causal": (
        Mask(np.tri(N, dtype=bool) | (np.arange(N) < 5)[:, None] & (np.arange(N) < 5)),
        lambda i, s, t: s <= t + i, lambda i, s, t: (s <= t + i) | (t + i < 5) & (s < 5), "closed"),
    "mlxcel#75: the offset of a mask leaves out what was padded": (
        causal(), lambda i, s, t: s <= np.maximum(t - 3, 0) + i, lambda i, s, t: s <= t + i, "closed"),
}


@pytest.mark.parametrize("thread", FAULTS)
def test_faults_of_threads_are_found_and_their_fixes_are_silent(thread):
    mask, wrong, fixed, kind = FAULTS[thread]
    chunks = (N, 7) if "vllm#40106" not in thread else (N, 8)
    answer = maskctl.phases(mask, cache=opened(wrong), chunks=chunks)
    assert not answer and first(answer).kind == kind
    assert maskctl.phases(mask, cache=opened(fixed), chunks=chunks)


def test_a_wrapped_ring_that_is_cut_by_its_length():
    """mlx-vlm#1748: a prefix is taken of a ring that has wrapped, by the number of its tokens."""
    ring = np.array([8, 9, 10, 11, 4, 5, 6, 7])  # 12 tokens in 8 slots
    kept = ring[:6]  # of what the prefix of 6 tokens should have been
    answer = maskctl.phases(causal(window=8), positions=np.concatenate([kept, [6]])[None], queries=[[6]])
    assert not answer and first(answer).key == 0


def test_a_token_in_two_slots_and_an_empty_slot():
    answer = maskctl.phases(causal(), cache=np.array([[0, 1, 1]]))
    assert "key 1 is open in slots 1 and 2" in str(answer)
    answer = maskctl.phases(causal(), cache=np.array([[0, 1, -1]]), open=np.ones((1, 1, 1, 3), bool))
    assert "slot 2 holds no token and is open" in str(answer)


@pytest.mark.parametrize("tokens, split", [(32, 2), (64, 4)])
def test_ranks_that_mask_their_own_tokens(tokens, split):
    """axolotl#3608, TransformerEngine#3331, EasyContext#47: a rank masks by its own indices, not by positions."""
    each = tokens // (2 * split)
    rank = np.concatenate([np.arange(each), np.arange(tokens - each, tokens)])  # zigzag, rank 0
    wrong = np.tri(2 * each, dtype=bool)[None, None]
    right = (rank[None] <= rank[:, None])[None, None]
    window = causal(tokens, window=each)
    held = dict(positions=rank[None], queries=rank[None])
    near = right & (rank[:, None] - rank[None] < each)[None, None]
    # Of a rank alone: the keys of others are in no slot of it.
    answer = maskctl.phases(window, **held, open=near)
    assert first(answer).kind == "dropped"
    alone = Mask(np.where(np.isin(np.arange(tokens), rank)[:, None] & np.isin(np.arange(tokens), rank), np.asarray(window).reshape(tokens, tokens), False))
    assert maskctl.phases(alone, **held, open=near)
    assert first(maskctl.phases(alone, **held, open=wrong)).kind == "extra"


def test_what_makes_no_sense_is_refused():
    for call in (lambda: maskctl.phases("causal", [1, 2]), lambda: maskctl.phases("causal", cache=by_kept(3)),
                 lambda: maskctl.phases(causal(), cache=lambda t, c: [0.5]), lambda: maskctl.phases(causal(), cache=by_kept(3), chunks=(0,)),
                 lambda: maskctl.phases(causal(), cache=lambda t, c: ([0], [[True, True]])),
                 lambda: maskctl.phases(causal(), cache="no-cache"), lambda: maskctl.phases(causal(), cache=np.array([0, 1]))):
        with pytest.raises(Error):
            call()


@pytest.fixture(scope="module")
def llama():
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.Gemma3TextConfig(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, head_dim=8,
                                           num_attention_heads=4, num_key_value_heads=2, sliding_window=6, layer_types=[
                                               "sliding_attention", "full_attention"])
    return transformers.Gemma3ForCausalLM(config).eval()


def wrong_cache(model, fault):
    from transformers import cache_utils

    class Wrong(cache_utils.DynamicSlidingWindowLayer):
        def update(self, keys, values, *arguments, **keywords):
            out = super().update(keys, values, *arguments, **keywords)
            fault(self)
            return out

    cache = cache_utils.DynamicCache(config=model.config)
    cache.layers[0] = Wrong(sliding_window=6)
    return cache


def test_a_running_model_and_caches_that_are_wrong(llama):
    tokens = list(range(3, 20))
    for cache in (None, "static"):
        answer = maskctl.phases(llama, tokens, cache=cache, chunks=(1, 7), new_tokens=3)
        assert answer, str(answer)
        assert {one.phase for one in answer.answers} == {"prefill", "decode", "chunks of 1", "chunks of 7"}

    def forget(layer):
        """The oldest key is that of another token."""
        if layer.keys.shape[-2] == 5:
            layer.keys = layer.keys.clone()
            layer.keys[:, :, 0] = layer.keys[:, :, 1]

    answer = maskctl.phases(llama, tokens, cache=lambda: wrong_cache(llama, forget), chunks=(7,), new_tokens=3)
    assert not answer
    wrong = [one for one in answer.answers if not one.equal]
    assert all("layers.0." in layer for one in wrong for layer in one.layers)
    assert {one.phase for one in wrong} == {"decode", "chunks of 7"}
    assert all(one.first["kind"] == "dropped" for one in wrong)
    usual = llama.prepare_inputs_for_generation
    name = "cache" if "cache" in inspect.signature(llama.forward).parameters else "past_key_values"
    llama.prepare_inputs_for_generation = lambda tokens, cache=None, past_key_values=None, attention_mask=None, **rest: {
        "input_ids": tokens, name: cache or past_key_values, "attention_mask": attention_mask, "use_cache": True}
    answer = maskctl.phases(llama, tokens, chunks=(), new_tokens=3)
    llama.prepare_inputs_for_generation = usual
    wrong = [one for one in answer.answers if not one.equal]
    assert wrong and all((one.phase, one.first["kind"], one.first["cached"]) == ("decode", "again", 17) for one in wrong)
    assert "step 0: after 17 tokens it is given 18 of 20 in all" in str(answer)
    with pytest.raises(Error):
        maskctl.phases(llama)
    with pytest.raises(Error):
        maskctl.phases(llama, tokens, cache="round")


def test_prompts_and_caches_that_make_no_sense(llama):
    import torch

    tokens = list(range(3, 12))
    assert maskctl.phases(llama, tokens, cache="DynamicCache", chunks=(4,), new_tokens=0)
    for wrong, options, said in (
            ([[1, 2], [3]], {}, "is no array"), ("hello", {}, "is no array"), ([], {}, "expected token ids"), ([tokens, tokens], {}, "(2, 9)"),
            ({"input_ids": torch.tensor([tokens]), "attention_mask": torch.tensor([[0] + [1] * 8])}, {}, "has padding"),
            (tokens, dict(chunks=4), "chunks=4: expected whole numbers"), (tokens, dict(chunks="4"), "expected whole numbers"),
            (tokens, dict(chunks=(0,)), "expected whole numbers"), (tokens, dict(cache=lambda: None), "made None"),
            (tokens, dict(cache="quantized"), "transformers makes none for this model"), (tokens, dict(new_tokens=-1), "expected 0 or more")):
        with pytest.raises(Error) as error:
            maskctl.phases(llama, wrong, **options)
        assert said in str(error.value) and "\n" not in str(error.value)
    with pytest.raises(Error, match="none of transformers"):
        maskctl.phases(torch.nn.Linear(3, 3), tokens)
