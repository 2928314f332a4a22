"""What answers two masks of N tokens get, from maskctl and from what else people use, and what they cost:

    peers/bin/python tests/peers/beside.py build/release/app/maskctl 32768

One mask is a causal window of N / 8 keys, the other is wider by one. Each question is asked in a process
of its own; a line gives its processor time, its peak of memory, and the answer."""

import os
import resource
import subprocess
import sys
import tempfile

WINDOWS = """
import sys, torch
def windows(tokens):
    at = torch.arange(tokens, dtype=torch.int32)
    back = at[:, None] - at
    causal = back >= 0
    return causal & (back < tokens // 8), causal & (back <= tokens // 8)
"""
EQUAL = WINDOWS + """
a, b = windows(int(sys.argv[1]))
if len(sys.argv) > 2: print(torch.equal(a, b))
"""
BLOCK_MASK = WINDOWS + """
from torch.nn.attention.flex_attention import create_block_mask
tokens = int(sys.argv[1])
of = lambda keys: create_block_mask(lambda b, h, q, k: (q >= k) & (q - k < keys), 1, 1, tokens, tokens, device="cpu")
if len(sys.argv) > 2: print(f"{of(tokens // 8).sparsity():.4f} and {of(tokens // 8 + 1).sparsity():.4f} % sparse")
"""
GYM = WINDOWS + """
import matplotlib; matplotlib.use("agg")
from attn_gym import visualize_attention_scores
tokens = int(sys.argv[1])
x = torch.randn(1, 1, tokens, 8)
if len(sys.argv) > 2:
    visualize_attention_scores(x, x, mask_mod=lambda b, h, q, k: (q >= k) & (q - k < tokens // 8), device="cpu")
"""


def cost(command):
    """(processor seconds, MiB at the peak, what it printed) of a process."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(write, 1)
        os.execvp(command[0], command)
    os.close(write)
    with os.fdopen(read) as lines:
        said = lines.read()
    _, status, used = os.wait4(child, 0)
    # diff ends with 1 where masks differ
    assert os.waitstatus_to_exitcode(status) in (0, 1), command
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, said


def row(name, seconds, mib, said):
    print(f"{name:44} {seconds:8.2f} s {mib:8.0f} MiB  {said}", flush=True)


def of_python(name, code, tokens):
    """The cost of a question beyond that of the start and of what is asked about."""
    before = cost([sys.executable, "-c", code, str(tokens)])
    after = cost([sys.executable, "-c", code, str(tokens), "ask"])
    row(name, max(after[0] - before[0], 0), after[1], after[2].strip())


def main():
    program, tokens = os.path.abspath(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        of_python("torch.equal", EQUAL, tokens)
        of_python("two create_block_mask()", BLOCK_MASK, tokens)
        of_python(f"attention-gym, {min(tokens, 4096)} tokens", GYM, min(tokens, 4096))
        names = [f"gen:window:keys={tokens // 8 + more},n={tokens}" for more in (0, 1)]
        for name, file in zip(names, "ab"):
            subprocess.run([program, "convert", name, "--to", "dense", "-o", f"{file}.npy"], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        asked = [("diff of files", ["diff", "a.npy", "b.npy"]), ("check of a file", ["check", "a.npy"]),
                 ("recognise of a file", ["recognise", "a.npy"]), ("picture of a file", ["show", "a.npy", "-o", "a.png"]),
                 ("diff of 1,000,000 tokens as steps", ["diff", "gen:window:keys=4096,n=1000000",
                                                         "gen:window:keys=4097,n=1000000"])]
        for name, words in asked:
            seconds, mib, said = cost([program, *words])
            lines = [line for line in said.splitlines() if line.startswith(("cause", "pipeline", "no findings"))]
            row(f"maskctl {name}", seconds, mib, " ".join(lines[0].split()) if lines else "")


if __name__ == "__main__":
    main()
