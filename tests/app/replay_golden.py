#!/usr/bin/python3
"""Replays chains of ejkernel's golden data through `maskctl apply --semantics ejkernel`, and compares
the arrays that it writes. Prints "N replayed, N differ"; exits 1 when any differs.

    replay_golden.py PROGRAM FOLDER
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np


class Skip(Exception):
    """A case that the command line has no words for."""


class Case:
    def __init__(self, case, arrays, folder):
        self.case, self.arrays, self.folder = case, arrays, folder

    def file(self, reference):
        """An input array as a file of its own."""
        key = self.case["inputs"][reference["in"]]
        path = os.path.join(self.folder, key + ".npy")
        if not os.path.exists(path):
            np.save(path, self.arrays[key])
        return path

    def text(self, value):
        return self.file(value) if isinstance(value, dict) else str(int(value))

    def source(self, op, args):
        args = {k: v for k, v in args.items() if v is not None}
        if op == "from_segments" and set(args) <= {"q_segment_ids", "kv_segment_ids"}:
            q = self.file(args["q_segment_ids"])
            if np.load(q).ndim != 2:
                raise Skip
            if "kv_segment_ids" not in args:
                return [q, "--as", "segments"]
            return [f"q={q},kv={self.file(args['kv_segment_ids'])}", "--as", "segments"]
        if op == "from_attention_mask" and set(args) <= {"attention_mask", "mask_is_valid"}:
            path = self.file(args["attention_mask"])
            mask = np.load(path)
            if mask.ndim not in (2, 4) or not np.isin(mask, (0, 1)).all():
                raise Skip
            if mask.ndim == 4 and mask.dtype != np.bool_:
                raise Skip  # ejkernel keeps its dtype, but files of masks are read as bool
            keep = ["--keep-value", "0"] if args.get("mask_is_valid") is False else []
            return [path, "--as", "padding" if mask.ndim == 2 else "dense", *keep]
        if op == "from_cu_seqlens" and set(args) == {"cu_seqlens_q", "max_q_len"}:
            path, extent = self.file(args["cu_seqlens_q"]), args["max_q_len"]
            if extent < 0:
                raise Skip  # ejkernel accepts a negative extent, --shape does not
            return [path, "--as", "pairs", "--shape",
                    f"{len(np.load(path)) // 2}+1+{extent}+{extent}"]
        names = {"batch_size": "b", "q_len": "q", "kv_len": "k", "sparsity": "sparsity",
                 "seed": "seed"}
        if op == "from_random" and set(args) <= set(names):
            args = {"kv_len": args["q_len"], "sparsity": 0.5, **args}
            if not 0 <= args["sparsity"] <= 1:
                raise Skip  # the command refuses it with a message of its own
            return ["gen:random:" + ",".join(f"{names[k]}={v}" for k, v in args.items())]
        raise Skip

    def step(self, op, args):
        args = {k: v for k, v in args.items() if v is not None}
        words = []

        def take(name, key):
            if name in args:
                words.append(f"{key}={self.text(args.pop(name))}")

        if op == "apply_causal":
            take("offset", "offset")
            head = "causal"
        elif op == "apply_sliding_window":
            window = args.pop("sliding_window")
            pair = isinstance(window, list)
            words += [f"left={window[0]}", f"right={window[1]}"] if pair else [f"both={window}"]
            take("offset", "offset")
            if args.get("mode", "default") not in ("default", "decode", "prefill"):
                raise Skip  # the command has no other modes
            if "mode" in args:
                words.append("mode=" + args.pop("mode"))
            take("index", "index")
            head = "window"
        elif op == "apply_chunked":
            words.append(f"size={args.pop('chunk_size')}")
            take("offset", "offset")
            head = "chunk"
        elif op == "apply_token_type_ids":
            types = args.pop("token_type_ids")
            pair = isinstance(types, list)
            words += ([f"q={self.file(types[0])}", f"kv={self.file(types[1])}"] if pair
                      else [self.file(types)])
            if (args.get("combine", "union") not in ("union", "intersect", "replace")
                    or args.get("zero_policy", "q") not in ("q", "kv", "both", "none")):
                raise Skip
            for name, key in (("combine", "combine"), ("zero_policy", "zero")):
                if name in args:
                    words.append(f"{key}={args.pop(name)}")
            if "update_segment_ids" in args:
                words.append("update=" + ("yes" if args.pop("update_segment_ids") else "no"))
            head = "tokens"
        elif op == "apply_kv_lengths":
            words.append(self.file(args.pop("kv_lengths")))
            for name, key in (("q_len", "q_len"), ("sliding_window", "window"),
                              ("end_index", "end")):
                take(name, key)
            head = "kv-lengths"
        else:
            raise Skip
        if args:
            raise Skip
        return ["-t", head + (":" if words else "") + ",".join(words)]

    def arguments(self):
        first, *rest = self.case["chain"]
        out = self.source(first["op"], first["args"])
        for step in rest:
            out += self.step(step["op"], step["args"])
        return out


def agrees(case, arrays, program, folder):
    words = Case(case, arrays, folder).arguments()
    out = os.path.join(folder, "out.npy")
    done = subprocess.run([program, "apply", "--semantics", "ejkernel", *words, "-o", out, "-f"],
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    said = done.stderr.decode()
    raises = case["expected"].get("raises")
    if raises:
        if done.returncode != 2 or said.count("\n") < 1:
            return False, words, said
        exact = raises["origin"] == "source"
        wanted = f"ejkernel raises {raises['type']}: {raises['message']}".replace("\n", " ")
        return not exact or said == f"maskctl: error: {wanted}\n", words, said
    if done.returncode != 0:
        return False, words, said
    want, have = arrays[case["expected"]["attention_mask"]["array"]], np.load(out)
    same = want.dtype == have.dtype and want.shape == have.shape and (want == have).all()
    return same, words, said


def main():
    program, golden = os.path.abspath(sys.argv[1]), sys.argv[2]
    replayed = differ = 0
    with tempfile.TemporaryDirectory() as root:
        for suite in ("maskinfo", "errors"):
            with open(os.path.join(golden, suite + ".json"), encoding="utf-8") as file:
                cases = json.load(file)["cases"]
            arrays = np.load(os.path.join(golden, suite + ".npz"))
            folder = os.path.join(root, suite)
            os.mkdir(folder)
            for case in cases:
                expected = case["expected"]
                if "array" not in expected.get("attention_mask", {}) and "raises" not in expected:
                    continue
                try:
                    same, words, said = agrees(case, arrays, program, folder)
                except (Skip, KeyError):
                    continue
                replayed += 1
                if not same:
                    differ += 1
                    print(case["id"], " ".join(words), said, expected.get("raises", ""))
    print(f"{replayed} replayed, {differ} differ")
    sys.exit(1 if differ or replayed < 50 else 0)


if __name__ == "__main__":
    main()
