#!/usr/bin/env python3
"""Asks the libraries that are installed here what masks mean, and writes docs/stacks/matrix.md.

    kit_matrix.py PROGRAM [--emulated PROGRAM] [--page FILE] [--json FILE] [--seconds N] [--jobs N]
        [--results FOLDER] [LIBRARY...]
    kit_matrix.py PROGRAM --device cuda [--dtype bf16] [--page FILE] [--json FILE] [LIBRARY...]

PROGRAM is maskctl, which makes the cases and judges. With --device cuda it asks the backends of torch's SDPA,
FlexAttention compiled and, where PROGRAM has it, our own backend on the GPU, in at most five minutes; torch, numpy and
this tree are all that is needed, maskctl's module is not. Two libraries are asked at a time, each in processes of its
own (--jobs); one has N seconds (600, 280 on a GPU), one case of it 120. What was not reached by then is said not to
be asked. --results keeps what the libraries gave, and does not ask them again for that."""
import argparse
import concurrent.futures
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:] = [place for place in sys.path if Path(place).resolve() != ROOT / "tests/peers"]  # which has a code.py
PAGE = ROOT / "docs/stacks/matrix.md"
try:
    import maskctl
except ImportError:  # of the package only Python is needed, and no native module
    maskctl = None
if maskctl is None or not getattr(maskctl, "__file__", None):
    maskctl = sys.modules["maskctl"] = types.ModuleType("maskctl")
    maskctl.__path__ = [str(ROOT / "app/python/maskctl")]
from maskctl._kit_apart import ask_apart
from maskctl._kit_worker import NoAdapter, message

# Library: the package whose version is said, and what of it is asked where that is not a dense mask.
LIBRARIES = {
    "cpu": {
        "maskctl.cpu": (None, ""), "maskctl.reference": (None, ""),
        "maskctl.emulated": (None, "the kernels of the GPU on a CPU"),
        "torch.sdpa": ("torch", ""), "torch.sdpa.math": ("torch", ""), "torch.sdpa.flash": ("torch", ""),
        "torch.sdpa.is_causal": ("torch", "the argument of that name"), "torch.mha": ("torch", ""),
        "torch.flex": ("torch", ""), "torch.flex.compiled": ("torch", ""), "transformers.eager": ("transformers", ""),
        "transformers.sdpa": ("transformers", ""), "transformers.flex_attention": ("transformers", ""),
        "jax.nn": ("jax", ""),
        "jax.nn.arguments": ("jax", "is_causal, local_window_size and key_value_seq_lengths"),
        "jax.splash": ("jax", "interpreted, padded to blocks of 128 tokens"),
        "xformers": ("xformers", ""),
        "xformers.biases": ("xformers", "what biases materialize, in plain attention: its kernels need a GPU"),
        "keras": ("keras", "on torch"), "natten": ("natten", "its path through FlexAttention"),
        "onnxruntime": ("onnxruntime", "the operator Attention"),
        "onnxruntime.gqa": ("onnxruntime", "GroupQueryAttention: causal, local_window_size, a cache"),
    },
    "cuda": {
        "maskctl.cuda": (None, ""), "torch.sdpa.flash": ("torch", ""), "torch.sdpa.efficient": ("torch", ""),
        "torch.sdpa.cudnn": ("torch", ""), "torch.sdpa.math": ("torch", ""),
        "torch.sdpa.is_causal": ("torch", "the argument of that name"),
        "torch.sdpa.flash.is_causal": ("torch", "the argument of that name"),
        "torch.sdpa.cudnn.is_causal": ("torch", "the argument of that name"),
        "torch.flex.compiled": ("torch", ""),
        "flash_attn.cute": ("flash-attn-4", "its arguments causal, window_size and softcap"),
    },
}
COMPILES = {"torch.flex.compiled", "transformers.flex_attention", "flash_attn.cute"}  # which take a core each
CASE_SECONDS = 120
MARKS = {"obeys": "yes", "another mask": "other", "wrong numbers": "wrong", "refuses": "no",
         "fails": "fails", "timed out": "late", "undecided": "?", "skipped": "-"}
WORST = ["another mask", "wrong numbers", "undecided", "fails", "timed out", "refuses", "skipped", "obeys"]
BAD = ("another mask", "wrong numbers", "undecided")


class Kit:
    """The program with its cases, made once."""

    def __init__(self, program, emulated, dtype, device, folder):
        self.program, self.dtype, self.device = str(Path(program).resolve()), dtype, device
        self.emulated = emulated and str(Path(emulated).resolve())
        self.cases = str(Path(folder) / "cases")
        self.run("make", self.cases, "--force")
        self.rows = {row["id"]: row for row in json.loads((Path(self.cases) / "manifest.json").read_text())["cases"]}

    def run(self, *words, seconds=None, program=None):
        """What `maskctl kit` prints; raises RuntimeError with its message."""
        command = [program or self.program, "-q", "kit", *words, "--dtype", self.dtype]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"it took more than {seconds:.0f} s") from None
        if done.returncode not in (0, 1) and not done.stdout.strip():
            raise RuntimeError((done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1])
        return done.stdout

    def asked(self, library, results, seconds, jobs):
        """The fields of maskctl.kit/1, or why there are none."""
        try:
            if library == "maskctl.emulated":
                if not self.emulated:
                    return "no --emulated was given"
                return json.loads(self.run("run", "--backend", "cuda", "--json", seconds=seconds, program=self.emulated))
            if library.startswith("maskctl."):
                return json.loads(self.run("run", "--backend", library.partition(".")[2], "--json", seconds=seconds))
            results.mkdir(parents=True, exist_ok=True)
            ask_apart(library, self.cases, results, self.device, CASE_SECONDS, seconds, jobs)
            answer = json.loads(self.run("judge", str(results), "--library", library, "--json"))
        except (NoAdapter, RuntimeError) as error:
            return str(error)
        except Exception as error:  # one library that fails does not stop the others
            return message(error)
        if answer["counts"]["refuses"] == answer["counts"]["cases"]:
            return f"it refuses every case: {shortened(answer['cases'][0]['text'])}"
        if answer["counts"]["skipped"] == answer["counts"]["cases"]:
            return f"it answered no case within {seconds:.0f} s"
        return answer


def shortened(text, most=140):
    return text.rstrip(":.") if len(text) <= most else text[:most].rsplit(" ", 1)[0] + " ..."


def version(kit, package):
    if package is None:
        return subprocess.run([kit.program, "--version"], capture_output=True, text=True).stdout.split()[1].rstrip(",")
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def worst(cases):
    return min((case["outcome"] for case in cases), key=WORST.index)


def of_rule(answer, rule):
    return [case for case in answer["cases"] if case["rule"] == rule]


def where(kit):
    if kit.device == "cpu":
        return "on a CPU"
    try:
        import torch

        return f"on {torch.cuda.get_device_name()} (torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()})"
    except Exception:
        return f"on {kit.device}"


def refusals(answers):
    """A table of the most frequent messages of each library; what an adapter has no argument for is not among them."""
    rows = []
    for name, answer in answers.items():
        said = {}
        for case in answer["cases"]:
            ours = case["text"].startswith("Unsupported: ") and "Dynamo" not in case["text"]
            if case["outcome"] == "refuses" and not ours:
                said.setdefault(re.sub(r"[0-9]+|/[^ ]*", "", case["text"]), []).append(case)
        for cases in sorted(said.values(), key=len, reverse=True)[:3]:
            text = shortened(cases[0]["text"]).replace("|", "\\|")
            rows.append(f"| `{name}` | {len(cases)}, as `{cases[0]['id']}` | {text} |")
    return ["", "## Refusals", "", "What libraries say themselves, most often first, three messages each.", "",
            "| library | cases | says |", "| --- | --- | --- |"] + rows if rows else []


def page(kit, answers, missing):
    names, of = list(answers), LIBRARIES[kit.device]
    rules = next(iter(answers.values()))["rules"]
    dtype = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}[kit.dtype]
    special = "; ".join(f"`{name}`: {of[name][1]}" for name in names if of[name][1])
    beside = ("[On a GPU](matrix-gpu.md) others were asked." if kit.device == "cpu" else "[matrix.md](matrix.md) has what a CPU gives.")
    text = [f"# What libraries do with a mask{' on a GPU' if kit.device == 'cuda' else ''}", "",
            "You want to know what a library does with your mask before you run it. Each was asked for each "
            f"sentence of [semantics.md](../semantics.md), {where(kit)} in {dtype}, by an adapter that gives it a dense "
            f"mask{f' ({special})' if special else ''}. `tests/peers/kit_matrix.py` writes this page; "
            f"`python -m maskctl.kit run --library torch.sdpa` prints all of a column. {beside}", "",
            "yes: obeys in all cases. other: applies another mask in one. wrong: wrong numbers. no: refuses one. "
            f"fails: crashes in one. late: takes more than {CASE_SECONDS} s for one. "
            "-: was not asked for one, since it gives no lse or gradients, or its time was over.", "",
            "| library | version | obeys | other | wrong | refuses | fails | late | not asked |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for name, answer in answers.items():
        counts = answer["counts"]
        text.append(f"| `{name}` | {version(kit, of[name][0])} | {counts['obeys']} of {counts['cases']} | {counts['another']} | "
                    f"{counts['wrong'] + counts['undecided']} | {counts['refuses']} | {counts['fails']} | {counts['timed_out']} | {counts['skipped']} |")
    text += [""] + [f"`{name}` was not asked: {why}." for name, why in missing.items()]
    text += ["", "## By sentence", "", "| | " + " | ".join(f"`{name}`" for name in names) + " |",
             "| --- |" + " --- |" * len(names)]
    for rule in rules:
        marks = [MARKS[worst(of_rule(answer, rule["id"]))] for answer in answers.values()]
        if set(marks) != {"yes"}:
            text.append(f"| `{rule['id']}` | " + " | ".join(marks) + " |")
    whole = [rule["id"] for rule in rules
             if all(worst(of_rule(answer, rule["id"])) == "obeys" for answer in answers.values())]
    if whole:
        text += ["", f"All obey {', '.join(f'`{one}`' for one in whole)}."]
    text += refusals(answers)
    text += ["", "## Other masks and wrong numbers", "", "The smallest case of each sentence.", "",
             "| library | case | is |", "| --- | --- | --- |"]
    for name, answer in answers.items():
        for rule in rules:
            bad = [case for case in of_rule(answer, rule["id"]) if case["outcome"] in BAD]
            if bad:
                case = min(bad, key=lambda one: kit.rows[one["id"]]["shape"][2] * kit.rows[one["id"]]["shape"][3])
                said = case["text"].replace("|", "\\|")
                text.append(f"| `{name}` | `{case['id']}` | {case['outcome']}: {said} |")
    return "\n".join(text) + "\n"


def options_given():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--emulated")
    parser.add_argument("--device", choices=list(LIBRARIES), default="cpu")
    parser.add_argument("--dtype", choices=["f32", "f16", "bf16"])
    parser.add_argument("--page", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--seconds", type=int)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--results", type=Path)
    parser.add_argument("libraries", nargs="*")
    options = parser.parse_intermixed_args()
    on_card = options.device != "cpu"
    options.dtype = options.dtype or ("bf16" if on_card else "f32")
    options.page = options.page or (Path("matrix_cuda.md") if on_card else PAGE)
    options.seconds = options.seconds or (280 if on_card else 600)
    options.jobs = options.jobs or (max(1, (os.cpu_count() or 1) - 4) if on_card else 1)
    options.libraries = options.libraries or list(LIBRARIES[options.device])
    unknown = set(options.libraries) - set(LIBRARIES[options.device])
    if unknown:
        parser.error(f"no library {', '.join(sorted(unknown))}; on {options.device} there are "
                     f"{', '.join(LIBRARIES[options.device])}")
    return options


def main():
    options, began = options_given(), time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        kit = Kit(options.program, options.emulated, options.dtype, options.device, scratch)
        home = options.results or Path(scratch) / "results"

        def ask(library):
            seconds = min(options.seconds, options.seconds + began - time.monotonic()) if kit.device != "cpu" else options.seconds
            return library, kit.asked(library, home / library, seconds, options.jobs if library in COMPILES else 1)

        found = {}
        at_a_time = len(options.libraries) if kit.device != "cpu" else 2
        with concurrent.futures.ThreadPoolExecutor(at_a_time) as threads:
            for done in concurrent.futures.as_completed([threads.submit(ask, one) for one in options.libraries]):
                library, answer = done.result()
                found[library] = answer
                said = answer if isinstance(answer, str) else ", ".join(f"{n} {name}" for name, n in answer["counts"].items())
                print(f"{library}: {said} ({time.monotonic() - began:.0f} s)", flush=True)
                in_order = {one: found[one] for one in options.libraries if one in found}
                answers = {one: answer for one, answer in in_order.items() if not isinstance(answer, str)}
                missing = {one: why for one, why in in_order.items() if isinstance(why, str)}
                if answers:
                    options.page.write_text(page(kit, answers, missing))
                if options.json:
                    options.json.write_text(json.dumps({"where": where(kit), "dtype": kit.dtype, "answers": answers,
                                                        "not_asked": missing}, indent=1))
    return 0 if answers else 1


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # each process compiles by itself
    sys.exit(main())
