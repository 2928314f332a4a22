"""Objects that show arrays which are not there: each is an Error or the right mask, and none ends the
process. Every case runs in a process of its own."""

import subprocess
import sys

import pytest

# Makes capsules of DLPack that say what they are told to.
HEAD = """
import array, ctypes, multiprocessing, sys
import maskctl
from maskctl import Error, Mask

class Device(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("number", ctypes.c_int32)]

class Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]

class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", Device), ("ndim", ctypes.c_int32), ("dtype", Type),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]

class Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", Tensor)]

new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
memory = (ctypes.c_uint8 * 64)(*([1, 0] * 32))
kept = []

def axes(lengths):
    return (ctypes.c_int64 * len(lengths))(*lengths)

def tensor(shape=(8, 8), strides=None, data=ctypes.addressof(memory), code=6, bits=8, lanes=1, offset=0, ndim=None,
           device=1, no_shape=False):
    made = Tensor(data, Device(device, 0), len(shape) if ndim is None else ndim, Type(code, bits, lanes),
                  None if no_shape else axes(shape), axes(strides) if strides else None, offset, None, None)
    kept.append(made)
    return made

def capsule(name=b"dltensor", **said):
    return new_capsule(ctypes.addressof(tensor(**said)), name, None)

def versioned(major=1, **said):
    made = Versioned(major, 0, None, None, 1, tensor(**said))
    kept.append(made)
    return new_capsule(ctypes.addressof(made), b"dltensor_versioned", None)

class Producer:
    def __init__(self, made):
        self.made = made
    def __dlpack__(self, **_):
        return self.made
    def __dlpack_device__(self):
        return (1, 0)

class Raising:
    def __init__(self, error):
        self.error = error
    def __dlpack__(self, **_):
        raise self.error
    def __dlpack_device__(self):
        return (1, 0)
"""


def ended(code):
    done = subprocess.run([sys.executable, "-c", HEAD + code], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.strip(), done.stderr


@pytest.mark.parametrize("code, printed", [
    ("Mask((ctypes.c_int32 * 3)(0, 3, 8), 'cu_seqlens')", "34"),
    ("Mask(multiprocessing.RawArray('i', [0, 3, 8]), 'cu_seqlens')", "34"),
    ("Mask((ctypes.c_uint8 * 8 * 8)(), 'dense')", "0"),
    ("Mask((ctypes.c_bool * 8 * 8)(*[(ctypes.c_bool * 8)(*[True] * 8)] * 8))", "64"),
    ("Mask((ctypes.c_double * 3 * 3)(), 'bias')", "9"),
    ("Mask(Producer(capsule()))", "32"),
    ("Mask(capsule())", "32"),
    ("Mask(Producer(versioned()))", "32"),
    ("Mask(Producer(capsule(shape=(4, 4), strides=(8, 2))))", "16"),
    ("Mask(Producer(capsule(shape=(4, 4), strides=(-8, -2), offset=30)))", "16"),
    ("Mask(Producer(capsule(shape=(3, 4), strides=(0, 1))), 'dense')", "6"),
    ("Mask(Producer(capsule(shape=(0, 4), data=None)), 'dense')", "0"),
])
def test_arrays_with_odd_fields_are_read(code, printed):
    assert ended(f"print({code}.count())") == (0, printed, "")


@pytest.mark.parametrize("code, words", [
    ("Producer(capsule(data=None))", "without memory"),
    ("Producer(capsule(data=None, strides=(8, 1), offset=64))", "without memory"),
    ("Producer(versioned(data=None))", "without memory"),
    ("Producer(versioned(major=2))", "cannot be read as an array"),
    ("Producer(capsule(name=b'used_dltensor'))", "cannot be read as an array"),
    ("Producer(capsule(name=b'other'))", "cannot be read as an array"),
    ("Producer(None)", "cannot be read as an array"),
    ("Producer(5)", "cannot be read as an array"),
    ("Producer(capsule(ndim=-1))", "axes"),
    ("Producer(capsule(ndim=1000000))", "axes"),
    ("Producer(capsule(no_shape=True))", "axes"),
    ("Producer(capsule(shape=(-1, 8)))", "fits no memory"),
    ("Producer(capsule(shape=(1 << 62, 8)))", "fits no memory"),
    ("Producer(capsule(shape=(1 << 40, 1 << 10)))", "fits no memory"),
    ("Producer(capsule(strides=(1 << 62, 1)))", "lead out of memory"),
    ("Producer(capsule(strides=(-(1 << 63), 1)))", "lead out of memory"),
    ("Producer(capsule(lanes=4))", "elements of a type that no mask has"),
    ("Producer(capsule(bits=7))", "elements of a type that no mask has"),
    ("Producer(capsule(code=5, bits=64))", "elements of a type that no mask has"),
    ("Producer(capsule(device=2))", "device"),
    ("Raising(ValueError('no'))", "cannot be read as an array"),
    ("Raising(BufferError('no'))", "cannot be read as an array"),
    ("memoryview(b'abcdefgh').cast('B')[::2].tobytes().decode()", "No such file"),
    ("(ctypes.c_char * 4)()", ""),
    ("(ctypes.c_int32.__ctype_be__ * 4)()", "cannot be read as an array"),
    ("(ctypes.c_void_p * 4)()", "cannot be read as an array"),
    ("Producer", "cannot be read as an array"),
])
def test_arrays_without_usable_memory_are_refused(code, words):
    status, printed, stderr = ended(f"try:\n    Mask({code})\nexcept Error as error:\n    print(error)")
    assert (status, stderr) == (0, "") and words in printed and printed


DRAWN = """
import random
import numpy as np

bytes_of = np.random.default_rng(1).integers(0, 2, 4096).astype(np.uint8)
begin = bytes_of.ctypes.data
BROKEN = [{"data": None}, {"code": 9}, {"bits": 24}, {"lanes": 2}, {"ndim": -3}, {"ndim": 77}, {"no_shape": True},
          {"name": b"used_dltensor"}, {"device": 2}]
draw = random.Random(2)
for _ in range(ROUNDS):
    rank = draw.randint(2, 4)
    shape = [draw.randint(0, 4) for _ in range(rank)]
    strides = [draw.randint(-100, 100) for _ in range(rank)]
    said = {"shape": shape, "strides": strides, "data": begin + 1024, "offset": 1024}
    broken = draw.random() < 0.5
    if broken:
        said |= draw.choice(BROKEN)
        if draw.random() < 0.1:
            strides[draw.randrange(rank)] = draw.choice((-1, 1)) << draw.randint(47, 62)
            said["shape"] = [max(2, n) for n in shape]
    try:
        mask = Mask(Producer(capsule(**said)), "dense")
    except Error:
        assert broken, said
        kept.clear()
        continue
    cells = np.lib.stride_tricks.as_strided(bytes_of[2048:], shape, strides)
    assert not cells.size or not broken, said
    assert np.array_equal(np.asarray(mask).reshape(shape), cells), said
    kept.clear()
"""


def test_drawn_arrays_are_read_or_refused():
    assert ended("ROUNDS = 3000" + DRAWN) == (0, "", "")


def test_a_capsule_can_be_read_twice():
    assert ended("one = Producer(capsule())\nprint(Mask(one).count(), Mask(one).count())")[:2] == (0, "32 32")


@pytest.mark.parametrize("error", ["KeyboardInterrupt", "SystemExit", "GeneratorExit"])
def test_exceptions_that_end_a_program_are_passed_on(error):
    code = "try:\n    {}\nexcept " + error + " as raised:\n    print(type(raised).__name__)"
    one = f"Raising({error}())"
    checked = f"Mask.parse('causal', 4).check(segments={one})"
    for ask in (f"Mask({one})", f"Mask.parse('doc:ids', 4, ids={one})", checked):
        assert ended(code.format(ask))[:2] == (0, error)


@pytest.mark.parametrize("device", ["()", "None", "5", "('cpu',)"])
def test_a_wrong_dlpack_device_does_not_crash(device):
    code = f"Producer.__dlpack_device__ = lambda self: {device}\nprint(Mask(Producer(capsule())).count())"
    status, printed, stderr = ended(code)
    assert (status, printed) == (0, "32") or "maskctl.Error" in stderr


def test_objects_in_a_cycle_print_nothing_at_exit():
    code = """
ring = [Mask.parse("causal", 8), Mask(memoryview(bytes(9)).cast("?", (3, 3)))]
ring.append(ring)
sys.kept = ring, ring[0].to("bits"), ring[0].stats()
"""
    assert ended(code) == (0, "", "")
