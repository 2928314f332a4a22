"""Long calls that Ctrl-C, the end of the process or a fork meets, and interpreters beside the main one.
Every case runs in a process of its own."""

import concurrent.futures
import subprocess
import sys

import pytest
from test_every_verb import CALLS

# A call of each attribute that takes minutes; None for those that look at no cell, or at one.
LONG = {
    "show": "mask.show()",
    "stats": "mask.stats()",
    "check": "mask.check()",
    "recognise": "mask.recognise()",
    "recognize": None,
    "why": None,
    "diff": "mask.diff(~mask)",
    "cost": "mask.cost()",
    "verify": "small.verify(no_gradients=True)",
    "translate": "mask.translate()",
    "parts": "mask.parts(ranks=2)",
    "phases": "mask.phases()",
    "to": "mask.to('runs', max_bytes=1 << 60)",
    "save": "mask.save(FILE, 'runs', max_bytes=1 << 60)",
    "apply": "mask.apply('causal').count()",
    "count": "mask.count()",
    "shape": None,
    "kind": None,
    "name": None,
    "notes": None,
    "pipeline": None,
    "parse": "Mask.parse('random:sparsity=0.5 | causal', 1000000).count()",
    "read": "Mask.read('gen:random:sparsity=0.5,n=1000000').count()",
    "from_segments": None,
    "from_positions": None,
    "from_cu_seqlens": None,
    "from_padding": None,
    "from_key_padding": None,
    "__init__": None,
    "__and__": "(mask & mask.apply('causal')).count()",
    "__or__": "(mask | mask.apply('causal')).count()",
    "__xor__": "(mask ^ mask.apply('causal')).count()",
    "__sub__": "(mask - mask.apply('causal')).count()",
    "__invert__": "(~mask).count()",
    "__eq__": "mask == mask.apply('causal')",
    "__str__": "str(mask)",
    "__repr__": "repr(mask)",
    "_repr_html_": "mask._repr_html_()",
    "_repr_svg_": "mask._repr_svg_()",
    "_repr_png_": "mask._repr_png_()",
    "plot": "mask._result_source().open_by_block(0, 0, 2000, 2000)",  # all of it that takes long
    "__array__": "small.__array__()",
    "__dlpack__": "small.__dlpack__()",
    "__dlpack_device__": None,
    "__getitem__": "mask[..., 1:].count()",
    "__copy__": None,
    "__deepcopy__": None,
    "__reduce__": "pickle.dumps(~mask)",
}
HEAD = """
import os, pickle, signal, sys, tempfile, threading, time
from maskctl import Error, Mask
FILE = tempfile.mkdtemp() + "/m.npz"
mask = Mask.read("gen:random:sparsity=0.5,n=1000000")
small = Mask.read("gen:random:sparsity=0.5,n=60000")
"""
CTRL_C = HEAD + """
signal.signal(signal.SIGINT, signal.default_int_handler)
def interrupt():
    time.sleep(0.4)
    global began
    began = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    {}
except KeyboardInterrupt:
    print(round(time.monotonic() - began, 2), Mask.parse("causal", 4).count())
"""


def ended(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.strip(), done.stderr


def at_two_a_time(codes):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return dict(zip(codes, pool.map(ended, codes.values())))


def test_ctrl_c_stops_every_long_call():
    assert set(LONG) == set(CALLS)
    said = at_two_a_time({name: CTRL_C.format(call) for name, call in LONG.items() if call})
    for name, (status, printed, stderr) in said.items():
        assert (status, stderr) == (0, ""), name
        assert printed, f"{name}: ended before it was interrupted"
        seconds, count = printed.split()
        # On an idle machine this takes 0.01 to 0.1 s; calls that are not stopped take hours.
        assert float(seconds) < 60 and count == "10", (name, printed)


# A daemon thread for each long call, which repeats it forever.
DAEMONS = HEAD + "".join(f"""
def ask_{number}():
    while True:
        try:
            {call}
        except Error:
            time.sleep(0.01)
threading.Thread(target=ask_{number}, daemon=True).start()
""" for number, call in enumerate(call for call in LONG.values() if call))


def test_a_process_ends_cleanly_while_daemon_threads_are_in_long_calls():
    assert ended(DAEMONS + "time.sleep(1)") == (0, "", "")


def test_a_process_ends_cleanly_while_daemon_threads_are_in_short_calls():
    code = HEAD + """
def ask():
    while True:
        one = Mask.parse("causal", 64)
        one.why(3, 2), one.stats(), one.count(), ~one, one[0, 0, 3, 2], Mask([[1, 0], [1, 1]]), str(one)
        pickle.loads(pickle.dumps(one.check()))
for _ in range(4):
    threading.Thread(target=ask, daemon=True).start()
time.sleep(0.3)
"""
    assert [ended(code) for _ in range(3)] == [(0, "", "")] * 3


def test_forks_work_while_other_threads_are_in_long_calls():
    code = DAEMONS + """
time.sleep(0.5)
for number in range(6):
    child = os.fork()
    if child == 0:
        signal.alarm(30)  # ends a child that hangs
        assert Mask.parse("causal", 4).stats().total["open"] == Mask([[1] * 5] * 2, "dense").count() == 10
        os._exit(0) if number % 2 else sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0, number
"""
    assert ended(code) == (0, "", "")


def test_masks_that_are_never_freed_print_nothing_at_exit():
    code = DAEMONS + """
kept = [mask, mask.__dlpack_device__, Mask.stats, small[..., :4, :4].stats()]
kept.append(kept)
sys.kept = kept
raise SystemExit(3)
"""
    assert ended(code) == (3, "", "")


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="the module of subinterpreters has another name there")
@pytest.mark.parametrize("first", ["", "ask()"], ids=["other", "main"])
def test_a_subinterpreter_does_not_load_the_module(first):
    code = f"""
import _xxsubinterpreters as interpreters
def ask():
    import maskctl
    mask = maskctl.Mask.parse("causal", 4)
    assert mask.stats().total["open"] == mask.count() == 10
{first}
for _ in range(2):
    other = interpreters.create()
    interpreters.run_string(other, {INSIDE!r})
    interpreters.destroy(other)
    ask()
"""
    line = "maskctl does not load in a subinterpreter; use the main one, or a process"
    assert ended(code) == (0, "\n".join([line] * 6), "")


INSIDE = """
import sys, maskctl
for name in ("Mask", "Error", "run"):
    try:
        getattr(maskctl, name)
    except ImportError as error:
        print(error)
sys.stdout.flush()
"""
