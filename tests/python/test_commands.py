"""The methods of Mask, compared with the output of the command."""

import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import maskctl
from maskctl import Error, Mask

PROGRAM = os.environ.get("MASKCTL_PROGRAM") or shutil.which("maskctl")


def command(*words):
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, check=False)
    return done.stdout, done.returncode, done.stderr


class SegmentIds:  # as in jax
    def __init__(self, ids):
        self.q = self.kv = ids


@pytest.fixture
def leaked(samples):
    return Mask(np.load(samples / "leaked.npy"), name="leaked.npy")


@pytest.mark.parametrize("verb, options, words", [
    ("show", {}, []),
    ("show", {"max_rows": 8}, ["--max-rows", "8"]),
    ("stats", {"block": "4+8"}, ["--block", "4+8"]),
    ("check", {}, []),
    ("check", {"expect": ["causal", "no-empty-rows"]}, ["-e", "causal", "-e", "no-empty-rows"]),
    ("recognise", {"max_steps": 2}, ["--max-steps", "2"]),
    ("cost", {"head_dim": 64}, ["--head-dim", "64"]),
    ("verify", {"no_gradients": True}, ["--no-gradients"]),
])
def test_methods_give_the_answers_of_the_command(samples, leaked, monkeypatch, verb, options, words):
    monkeypatch.chdir(samples)
    answer = getattr(leaked, verb)(**options)
    text, status, stderr = command(verb, "leaked.npy", *words)
    assert answer.text == text
    assert answer.status == status
    assert bool(answer) == (status == 0)
    assert "".join(f"maskctl: note: {note}\n" for note in answer.notes) == stderr
    if verb != "show":
        assert answer.data == json.loads(command(verb, "leaked.npy", *words, "--json")[0])


def test_a_leak_is_found(samples, leaked):
    ids = np.load(samples / "packed.npy")[0]
    answer = leaked.check(segments=ids)
    assert not answer
    assert answer.leaks["cross"] == 1
    assert (answer.leaks["first"]["query"], answer.leaks["first"]["key"]) == (17, 3)
    assert "document-leak" in str(answer)
    assert Mask.from_segments(ids).apply("causal").check(segments=ids)


def test_a_pair_is_explained():
    mask = Mask.parse("doc:ids | causal", 6, ids=np.array([0, 0, 0, 1, 1, 1]))
    why = mask.why(1, 2)
    assert not why
    assert why.decided_by == 1  # counted from 0
    assert "step 2: causal" in str(why)
    assert mask.why(5, 4, batch=0)


def test_a_given_mask_is_explained_whatever_its_name():
    both = Mask.parse("causal", 4) & Mask.parse("window:keys=2", 4)
    assert not both.why(3, 0) and both.why(3, 2)
    named = Mask(np.eye(4, dtype=bool), name="gen:full:n=4")
    assert not named.why(2, 1) and named.why(2, 2)
    assert "source gen:causal and x" in str(Mask(np.eye(4, dtype=bool), name="gen:causal and x").why(0, 0))


def test_two_masks_are_compared():
    a, b = Mask.parse("window:keys=8", 64), Mask.parse("window:left=8,right=0", 64)
    answer = a.diff(b)
    assert not answer
    assert "window left 8 instead of 7" in answer.cause["text"]
    assert a.diff(Mask.parse("window:left=7,right=0", 64))
    ids = np.array([0, 0, 1, 1])
    assert Mask.from_segments(ids).diff(SegmentIds(ids))
    assert Mask.parse("causal", 2).diff([[1, 0], [1, 1]])
    named = Mask(np.tri(4, dtype=bool)).diff(Mask(np.eye(4, dtype=bool)))
    assert "A       mask\nB       other\n" in str(named)


def test_masks_are_combined_as_sets(random_mask):
    x, y = random_mask(33, 33), random_mask(33, 33)
    a, b = Mask(x, name="a"), Mask(y, name="b")
    for mask, cells in [(a & b, x & y), (a | b, x | y), (a ^ b, x ^ y), (a - b, x & ~y), (~a, ~x)]:
        np.testing.assert_array_equal(np.asarray(mask).reshape(x.shape), cells)
    assert a == Mask(x.copy())
    assert a != b
    assert a != Mask.parse("causal", 17)
    with pytest.raises(Error, match="33"):
        a & Mask.parse("causal", 5)
    with pytest.raises(TypeError):
        a & x
    assert a == x and a != y


def test_translate_writes_code_for_another_library(samples):
    parsed = Mask.parse("window:keys=128 | causal", 256).translate(to="fa")
    assert parsed and "window_size" in str(parsed)
    ids = np.repeat(np.arange(3), [5, 4, 7])
    cells = (ids[:, None] == ids) & np.tri(16, dtype=bool)
    assert Mask(cells).translate(to="sdpa")
    with pytest.raises(Error, match="no pipeline makes this mask"):
        Mask(np.random.default_rng(1).random((64, 64)) < 0.5).translate(to="fa")


def test_an_output_is_judged(samples):
    bugs = samples / "bugs"
    q, k, v, out = (np.load(bugs / f"kernel_{name}.npy") for name in ("q", "k", "v", "out"))
    answer = Mask.parse("window:keys=32", 64).verify(query=q, key=k, value=v, given=out)
    assert not answer
    assert "obeys another mask: window left 32 instead of 31" in str(answer)


def test_a_merge_is_judged():
    random = np.random.default_rng(5)
    outs = random.standard_normal((2, 1, 6, 3, 8)).astype("f4")  # of two parts, [B, T, H, D]
    lses = random.standard_normal((2, 1, 3, 6)).astype("f4")
    weights = np.exp(lses) / np.exp(lses).sum(0)
    out = np.einsum("pbhq,pbqhd->bqhd", weights, outs)
    given = {f"part{n}_{name}": of[n] for n in range(2) for name, of in (("out", outs), ("lse", lses))}
    right = maskctl.run("verify-merge", out=out, lse=np.log(np.exp(lses).sum(0)), **given)
    assert right and right.verdict == "right" and right.shape == [1, 3, 6, 8]
    wrong = maskctl.run("verify-merge", out=outs.mean(0), **given)
    assert not wrong and wrong.data["out"]["fits"][0] == "equal weights" and wrong.lse is None
    with pytest.raises(Error, match="no part1_lse"):
        del given["part1_lse"]
        maskctl.run("verify-merge", out=out, **given)


def test_files_are_read(samples):
    leaked = Mask(np.load(samples / "leaked.npy"))
    for source in ("batch.npz:attention_mask", "batch.h5:/train/attention_mask"):
        assert Mask.read(samples / source) == leaked
    assert Mask.read("gen:causal:n=9") == Mask.parse("causal", 9)
    with pytest.raises(Error, match="nowhere.npy"):
        Mask.read("nowhere.npy")


def test_masks_draw_themselves(leaked):
    assert str(leaked).startswith("leaked.npy\n24 queries x 24 keys")
    assert repr(leaked) == "<maskctl.Mask leaked.npy 1x1x24x24, 95 open>"
    html = leaked._repr_html_()
    assert html.startswith("<svg") or "<svg" in html[:200]
    assert leaked.stats()._repr_html_().startswith("<pre>")


def test_large_masks_stay_lazy():
    mask = Mask.parse("window:keys=4096 | causal", 1_000_000)
    assert mask.count() == 4095 * 4096 // 2 + (1_000_000 - 4095) * 4096
    assert mask.recognise().pipeline
    assert (~mask).shape == (1, 1, 1_000_000, 1_000_000)


def test_run_calls_any_command(samples):
    assert "hf" in str(maskctl.run("translate", table=128))
    assert "heads" in str(maskctl.run("golden", "list", str(samples / "golden.toml")))
    with pytest.raises(Error, match="unknown command 'chek'; did you mean 'check'"):
        maskctl.run("chek")


def test_errors_show_the_place_of_a_mistake(leaked):
    with pytest.raises(Error, match="pipeline: unknown step 'windw'") as caught:
        leaked.apply("windw:keys=3")
    assert "\n  windw:keys=3\n  ^" in str(caught.value)
    assert isinstance(caught.value, ValueError)
    with pytest.raises(TypeError, match=r"stats\(\) has no option 'blok'; it has .*block"):
        leaked.stats(blok=4)
    with pytest.raises(TypeError, match="query, key"):
        leaked.why(3)
    with pytest.raises(AttributeError, match="no field 'opn'; it has"):
        leaked.stats().opn


@pytest.mark.parametrize("ask, words", [
    (lambda mask: mask.stats(block="x"), "block='x': expected a block size"),
    (lambda mask: mask.to("dense", max_bytes=1), "raise max_bytes= or slice the mask"),
    (lambda mask: mask.to("dense", fill="min"), 'fill= is for to="bias", not for dense'),
    (lambda mask: mask.to("segments"), "without lossy=, which takes the nearest"),
    (lambda mask: mask.show(scale=2, size=3, output="x.png"), "scale= and size= exclude each other"),
    (lambda mask: mask.check(segments=[0, "a"]), "segments: a list cannot be read as an array: must be real number"),
    (lambda mask: Mask.parse("causal", 24).translate(to="sdap"), "did you mean 'sdpa'"),
    (lambda mask: mask.parse("causal", 24).translate(to="flashattn"), "did you mean 'fa'?"),
    (lambda mask: mask.parse("causal", 24).translate(to="FlexAttention"), "did you mean 'flex'?"),
    (lambda mask: mask.to("biass"), "did you mean 'bias'"),
    (lambda mask: Mask(np.ones(6, bool)), 'give kind="padding" or kind="key-padding"'),
    (lambda mask: Mask(np.ones((2, 2), bool), "segmnts"), "kind='segmnts': expected one of dense, "),
    (lambda mask: Mask(np.array([[0, -3, -3.5], [0, 0, -4], [0, 0, 0]], "f4")), "closed_below=X says which numbers close"),
    (lambda mask: Mask(np.ones((4, 4), bool), "bits"), r"shape=\(B, H, Q, K\)"),
    (lambda mask: mask.verify(query=np.zeros((1, 1, 24, 4), "f4")), 'layout="bhtd"'),
    (lambda mask: mask.apply("doc:ids"), r"cannot read ids: .*; give the array, ids=\.\.\."),
])
def test_errors_name_keywords_instead_of_options(leaked, ask, words):
    with pytest.raises(Error, match=words) as caught:
        ask(leaked)
    assert not re.search(r"(^|\s)(--[a-z]|-[a-z]\b)", str(caught.value))


def test_a_source_is_read_as_keywords_say(samples):
    packed = str(samples / "packed.npy")
    assert maskctl.run("stats", packed, kind="segments").text == command("stats", packed, "--as", "segments")[0]
    with pytest.raises(Error, match="the shape asked for is 1.1.3.3"):
        maskctl.run("stats", packed, kind="segments", shape=(3, 3))
    with pytest.raises(TypeError, match="keep_value, kind, max_bytes"):
        maskctl.run("stats", packed, kinds="segments")


def test_help_has_every_option():
    for verb in ("show", "stats", "check", "recognise", "why", "diff", "cost", "verify"):
        text = getattr(Mask, verb).__doc__
        rows = command(verb, "--help")[0]
        assert text.count("\n    ") > 3
        assert all(f"{keyword}=" in text for keyword in ("transform", "max_bytes"))
        assert "segments=SOURCE" in text or "--segments" not in rows


def test_importing_is_lazy():
    seen = subprocess.run(
        [sys.executable, "-c", "import sys, maskctl; print(*sys.modules)"],
        capture_output=True, text=True, check=True).stdout.split()
    assert "maskctl" in seen and "maskctl._native" not in seen and "numpy" not in seen
