"""The Python module beside torch, JAX and transformers: blocks of the documentation that need them,
tensors of every kind, and a leak planted in models with random weights.

    peers/bin/pip install a wheel of maskctl, then
    peers/bin/python tests/peers/module.py
"""
import pathlib
import re
import time

import jax
import jax.numpy as jnp
import numpy as np
import torch
import transformers

import maskctl
from maskctl import Error, Mask

ROOT = pathlib.Path(__file__).resolve().parents[2]
LENGTHS = [9, 7, 8]
SMALL = dict(hidden_size=64, intermediate_size=64, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
             head_dim=16, vocab_size=128)


def made(auto, implementation, config):
    torch.manual_seed(0)
    return auto.from_config(config, attn_implementation=implementation).eval()


def config_of(kind, **settings):
    return transformers.AutoConfig.for_model(kind, **settings)


def packed_decoder(implementation, leak):
    """A decoder on packed rows. transformers separates documents by positions if there is no cache;
    the leak is an attention_mask of ones, which turns that off."""
    model = made(transformers.AutoModelForCausalLM, implementation, config_of("qwen3", **SMALL))
    positions = torch.cat([torch.arange(n) for n in LENGTHS])[None]
    batch = {"input_ids": torch.randint(128, positions.shape), "position_ids": positions, "use_cache": False}
    if leak:
        batch["attention_mask"] = torch.ones_like(positions)
    return model, batch, lambda mask: not mask.check(positions=positions)


def window_decoder(implementation, leak):
    """A decoder with windows; the leak is one layer that opens a cell of the future."""
    config = config_of("gemma3_text", sliding_window=6, **SMALL)
    model = made(transformers.AutoModelForCausalLM, implementation, config)
    layer = model.model.layers[1].self_attn
    forward = layer.forward

    def leaking(*arguments, attention_mask, **keywords):
        opened = attention_mask.clone()
        opened[0, 0, 10, 12] = True if opened.dtype == torch.bool else 0
        return forward(*arguments, attention_mask=opened, **keywords)

    if leak:
        layer.forward = leaking
    return model, {"input_ids": torch.randint(128, (1, 24))}, lambda mask: not mask.check()


def encoder_decoder(implementation, leak):
    """An encoder-decoder; the leak is a forgotten attention_mask, so that padding is seen, also by
    cross-attention."""
    config = config_of("t5", d_model=64, d_kv=16, d_ff=64, num_layers=2, num_heads=4, vocab_size=128)
    model = made(transformers.AutoModelForSeq2SeqLM, implementation, config)
    valid = torch.ones(2, 24, dtype=torch.long)
    valid[1, 15:] = 0
    batch = {"input_ids": torch.randint(3, 128, valid.shape), "decoder_input_ids": torch.randint(3, 128, (2, 10))}
    if not leak:
        batch["attention_mask"] = valid

    def leaks(mask):
        if mask.shape[3] != valid.shape[1]:
            return False
        return (mask - Mask.from_key_padding(valid, queries=mask.shape[2])).count() > 0

    return model, batch, leaks


def vision_language(implementation, leak):
    """A model of images and text; the leak is two images without a token between them, which the
    model takes for one."""
    vision = dict(hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, image_size=28,
                  patch_size=14)
    config = config_of("gemma3", text_config={**SMALL, "sliding_window": 64}, vision_config=vision,
                       mm_tokens_per_image=4, image_token_index=100, boi_token_index=101, eoi_token_index=102)
    model = made(transformers.AutoModelForImageTextToText, implementation, config)
    between = [] if leak else [7]
    ids = torch.tensor([[5, 6, *[100] * 4, *between, *[100] * 4, 8, 9]])
    image = ids[0] == 100
    batch = {"input_ids": ids, "token_type_ids": image[None].long(), "pixel_values": torch.rand(2, 3, 28, 28)}
    number = torch.full((len(image),), -1)
    number[image] = torch.tensor([0, 1]).repeat_interleave(4)
    expected = Mask.parse("causal", len(image)) | Mask.from_segments(number)
    return model, batch, lambda mask: mask.shape[3] == len(image) and (mask - expected).count() > 0


MODELS = [packed_decoder, window_decoder, encoder_decoder, vision_language]


def blocks(page, needs):
    text = (ROOT / page).read_text()
    for block in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S):
        if block.startswith(f"# needs {needs}\n"):
            yield block


def run_blocks(page, needs, **names):
    count = 0
    for block in blocks(page, needs):
        exec(compile(block, page, "exec"), {"maskctl": maskctl, "np": np, **names})
        count += 1
    print(f"{page}: {count} blocks that need {needs}")


def plant_and_find(make, implementation):
    """Runs a model as README.md does, and checks that nothing is found without the leak, and with
    it the masks that have it."""
    for leak in (False, True):
        model, batch, leaks = make(implementation, leak)
        begin = time.perf_counter()
        with maskctl.watch(model) as masks, torch.no_grad():
            model(**batch)
        found = [mask.name for mask in masks if leaks(mask)]
        assert bool(found) == leak, (make.__name__, implementation, leak, masks)
    print(f"{make.__name__}, {implementation}: {time.perf_counter() - begin:.2f} s, in {'; '.join(found)}")


def silence_is_refused():
    try:
        with maskctl.watch(torch.nn.Linear(2, 2)) as masks:
            torch.nn.Linear(2, 2)(torch.ones(1, 2))
    except Error as error:
        assert "no softmax" in str(error) and len(masks) == 0
    else:
        raise AssertionError("a model without attention")


def tensors():
    cells = torch.rand(3, 2, 33, 65) < 0.3
    expected = Mask(cells.numpy())
    bias = torch.zeros(cells.shape).masked_fill(~cells, -torch.inf)
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        assert Mask(bias.to(dtype)) == expected
        lowest = torch.zeros(cells.shape, dtype=dtype).masked_fill(~cells, torch.finfo(dtype).min)
        assert Mask(lowest) == expected
    assert Mask(bias.requires_grad_()) == expected
    assert Mask(cells.transpose(2, 3).contiguous().transpose(2, 3)) == expected
    assert Mask(cells[:1].expand(3, -1, -1, -1)).shape == (3, 2, 33, 65)
    assert Mask(cells.int(), "dense") == expected
    assert Mask(jnp.asarray(cells.numpy())) == expected
    assert Mask(jnp.asarray(bias.detach().numpy()).astype(jnp.bfloat16)) == expected
    refused = {
        "meta tensor": torch.ones(2, 2, device="meta"),
        "layout sparse_coo": torch.eye(2).to_sparse(),
        "layout sparse_csr": torch.eye(2).to_sparse_csr(),
        "nested": torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
        "no mask has": torch.ones(2, 2, dtype=torch.complex64),
    }
    for words, tensor in refused.items():
        try:
            Mask(tensor)
        except Error as error:
            assert words in str(error), error
        else:
            raise AssertionError(words)
    if torch.cuda.is_available():
        on_gpu = Mask(bias.detach().cuda().bfloat16())
        assert on_gpu == expected and on_gpu.notes[0].endswith("copied from cuda:0 to the host")
        print("tensors of a GPU:", on_gpu.notes[0])


def overhead():
    """Prints the microseconds of calls on a 64 x 64 torch mask, of their parts, and of numpy's."""
    cells = torch.ones(64, 64).tril().bool()
    def each(call, times=2000):
        call()
        best = min(timeit(call, times // 10) for _ in range(10))
        return best * 1e6
    def timeit(call, times):
        begin = time.perf_counter()
        for _ in range(times):
            call()
        return (time.perf_counter() - begin) / times
    mask = Mask(cells)
    print(f"Mask(64 x 64 tensor): {each(lambda: Mask(cells)):.1f} us; stats() {each(mask.stats):.1f} us; "
          f"check() {each(mask.check):.1f} us")


def main():
    print(f"torch {torch.__version__}, transformers {transformers.__version__}, jax {jax.__version__}, "
          f"maskctl {maskctl.version}")
    tensors()
    model, batch, _ = packed_decoder("eager", False)
    run_blocks("docs/python.md", "torch")
    run_blocks("docs/python.md", "jax")
    run_blocks("docs/python.md", "transformers", model=model, batch=batch)
    model, batch, _ = packed_decoder("eager", False)  # a model without leaks
    run_blocks("README.md", "transformers", model=model, batch=batch)
    for make in MODELS:
        for implementation in ("eager", "sdpa"):
            plant_and_find(make, implementation)
    silence_is_refused()
    overhead()
    print("all hold")


if __name__ == "__main__":
    main()
