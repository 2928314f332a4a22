"""Executes the Python that messages and pages tell users to run, with the real libraries: what the
error for a file of torch.save says, the lines of README.md that save masks, and the probes of
docs/attention.md for PyTorch and JAX. What is saved must be the mask that it was.

    remedies.py PROGRAM
"""
import os
import re
import subprocess
import sys
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
import torch
from torch.nn.attention.flex_attention import create_mask

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.abspath(sys.argv[1])
N = 6
failed = []


def maskctl(*words):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def check(what, passed, detail=""):
    print("ok    " if passed else "FAILED", what, "" if passed else detail)
    if not passed:
        failed.append(what)


def is_causal(name, *how):
    status, text = maskctl("diff", name, f"gen:causal:n={N}", *how)
    return status == 0, text


def masks():
    """The causal mask as torch has it: booleans, and additive in each floating type."""
    allowed = torch.ones(N, N).tril().bool()
    yield "bool", allowed
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        yield str(dtype), torch.zeros(N, N, dtype=dtype).masked_fill(~allowed, float("-inf"))


def after_torch_save():
    for name, tensor in masks():
        torch.save(tensor, "m.pt")
        message = maskctl("stats", "m.pt")[1]
        save = re.search(r"np\.save\([^)]*\(\)\)", message).group(0)
        of_bfloat16 = re.search(r"of bf16 (tensor[.\w]*\(\))", message).group(1)
        given = eval(of_bfloat16, {"tensor": tensor}) if tensor.dtype == torch.bfloat16 else tensor
        exec(save, {"np": np, "tensor": given})
        check(f"torch.save of {name}", *is_causal("m.npy"))
        if "safetensors.torch.save_file" in message:
            import safetensors.torch
            safetensors.torch.save_file({"m": tensor}, "m.safetensors")
            check(f"safetensors of {name}", *is_causal("m.safetensors"))


def block_after(page, heading):
    text = open(os.path.join(ROOT, page)).read()
    return re.search(r"```python\n(.*?)```", text[text.index(heading):], re.S).group(1)


def lines_of_readme():
    names = {"np": np, "Q": N, "K": N, "create_mask": lambda *a: create_mask(*a, device="cpu"),
             "mask_mod": lambda b, h, q, k: q >= k, "cu_seqlens": torch.tensor([0, 2, N]),
             "model_inputs": {"attention_mask": torch.tensor([[1, 1, 0]])}}
    for line in block_after("README.md", "## Get a mask out of your stack").splitlines():
        target = re.match(r'np\.save\("([^"]+)"', line).group(1)
        kind = re.search(r"--as (\S+)", line)
        for name, tensor in masks():
            if "bfloat16" in name and ".float()" not in line and "mask.cpu" in line:
                continue
            names["mask"] = jnp.asarray(tensor.float().numpy()) if "JAX" in line else tensor
            if "JAX" in line and name == "bool":
                names["mask"] = jnp.asarray(tensor.numpy())
            if ".float()" in line and name == "bool":
                continue
            exec(line, names)
            if kind:
                shape = ["--shape", f"1+1+{N}+{N}"] if kind.group(1) == "cu_seqlens" else []
                status, text = maskctl("stats", target, "--as", kind.group(1), *shape)
                check(line.split("#")[1].strip(), status == 0, text)
                break
            check(f"{line.split('#')[1].strip()}: {name}", *is_causal(target))


def probes():
    maskctl("gen", f"causal:n={N}", "-o", "mask.npy", "-f")
    for heading, layout in (("PyTorch (heads before time", "bhtd"), ("JAX:\n", "bthd")):
        made = maskctl("probe", "make", "mask.npy", "--head-dim", "8", "--layout", layout, "-o",
                       "probe.npz", "-f")
        code = block_after("docs/attention.md", heading)
        exec(code if torch.cuda.is_available() else code.replace(".cuda()", ""), {})
        status, text = maskctl("probe", "read", "mask.npy", "out.npy", "--layout", layout)
        check("probe: " + heading.split()[0], made[0] == 0 and status == 0, made[1] + text)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        after_torch_save()
        lines_of_readme()
        probes()
    print(f"{len(failed)} failed")
    return len(failed) > 0


sys.exit(main())
