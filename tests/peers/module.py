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
MODELS = {"llama": {}, "gemma3_text": {"sliding_window": 6, "head_dim": 16}, "qwen3": {"head_dim": 16}}


def tiny_model(kind, settings):
    config = transformers.AutoConfig.for_model(
        kind, hidden_size=64, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, vocab_size=128, **settings)
    return transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()


def packed_batch(leak):
    """Packed rows, which transformers keeps apart without a cache; with an all-ones attention_mask
    it forgets the documents."""
    positions = torch.cat([torch.arange(n) for n in LENGTHS])[None]
    batch = {"input_ids": torch.randint(128, positions.shape), "position_ids": positions,
             "use_cache": False}
    return {**batch, "attention_mask": torch.ones_like(positions)} if leak else batch


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


def masks_of(model, batch):
    """As README does it."""
    seen = {}
    for name, layer in model.named_modules():
        if name.endswith(("attn", "attention")):
            layer.register_forward_pre_hook(
                lambda m, a, k, n=name: seen.update({n: k["attention_mask"]}), with_kwargs=True)
    with torch.no_grad():
        model(**batch)
    return seen


def plant_and_find(kind, settings):
    for leak in (False, True):
        batch = packed_batch(leak)
        begin = time.perf_counter()
        seen = masks_of(tiny_model(kind, settings), batch)
        found = {n: Mask(m).check(positions=batch["position_ids"]) for n, m in seen.items()}
        leaking = [n for n, answer in found.items() if answer.leaks and answer.leaks["cross"]]
        assert len(seen) == 2 and len(leaking) == (2 if leak else 0), (kind, leak, found)
        if leak:
            first = found[leaking[0]].leaks
            print(f"{kind}: {first['cross']} cells leak, {time.perf_counter() - begin:.1f} s with the model")


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
    """Microseconds of a call on a 64 x 64 torch mask, beside numpy's, and of its parts."""
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
    model = tiny_model("llama", {})
    batch = packed_batch(False)
    run_blocks("docs/python.md", "torch")
    run_blocks("docs/python.md", "jax")
    run_blocks("docs/python.md", "transformers", model=model, batch=batch)
    run_blocks("README.md", "transformers", model=model, batch=batch)
    for kind, settings in MODELS.items():
        plant_and_find(kind, settings)
    overhead()
    print("all hold")


if __name__ == "__main__":
    main()
