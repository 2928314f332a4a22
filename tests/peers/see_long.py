"""maskctl.see on a llama of 2 layers (width 256, 4 heads, random weights) and 4096 packed tokens: processor and wall
seconds of the questions, and of the matrix of 512 outputs, which is compared with the cells that the documents say.

    peers/bin/python tests/peers/see_long.py DOCUMENTS THREADS ROWS...    rows as BEGIN:END or BEGIN:END:STEP
"""
import os
import resource
import sys
import time
import warnings

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
warnings.filterwarnings("ignore")

import numpy as np
import torch
import transformers

import maskctl

TOKENS = 4096


class Timed:
    def __init__(self):
        self.wall, self.used = time.time(), resource.getrusage(resource.RUSAGE_SELF).ru_utime

    def __str__(self):
        used = resource.getrusage(resource.RUSAGE_SELF).ru_utime - self.used
        return f"{used:.1f} processor seconds, {time.time() - self.wall:.1f} s (load {os.getloadavg()[0]:.1f})"


def main():
    documents = int(sys.argv[1])
    torch.set_num_threads(int(sys.argv[2]))
    torch.manual_seed(0)
    config = transformers.LlamaConfig(vocab_size=512, hidden_size=256, intermediate_size=1024, num_hidden_layers=2, num_attention_heads=4,
                                      num_key_value_heads=4, max_position_embeddings=TOKENS)
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    borders = np.sort(np.random.default_rng(3).choice(np.arange(1, TOKENS), documents - 1, replace=False))
    lengths = np.diff(np.r_[0, borders, TOKENS])
    segments = np.repeat(range(documents), lengths)
    batch = {"input_ids": torch.randint(3, 500, (1, TOKENS)), "position_ids": torch.cat([torch.arange(n) for n in lengths])[None], "use_cache": False}
    print(f"documents of {', '.join(map(str, lengths))} tokens, {sys.argv[2]} threads")
    timed = Timed()
    answer = maskctl.see(model, batch, segments=segments)
    print(f"{answer}\nquestions: {answer.passes} passes, {timed}", flush=True)
    wanted = (segments[:, None] == segments) & np.tri(TOKENS, dtype=bool)
    for text in sys.argv[3:]:
        rows = np.arange(TOKENS)[slice(*map(int, text.split(":")))]
        timed, before = Timed(), answer.passes
        mask = answer.matrix(rows=rows)
        said, wrong = str(timed), int((np.asarray(mask)[0, 0][rows] != wanted[rows]).sum())
        print(f"matrix of {len(rows)} outputs {text}: {answer.passes - before} passes, {said}; {wrong} cells differ; {'; '.join(mask.notes)}", flush=True)


if __name__ == "__main__":
    main()
