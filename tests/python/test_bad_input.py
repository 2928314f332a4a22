"""Objects that are no masks, and processes that fork, run threads or are interrupted."""

import _thread
import os
import signal
import threading

import numpy as np
import pytest

import maskctl
from maskctl import Error, Mask


SAMPLE = Mask.parse("causal", 4)


@pytest.mark.parametrize("array, words", [
    ([[1, 0], [1]], "lists of 2 and of 1 elements side by side"),
    ([[1, 0], 1], "lists and numbers side by side"),
    ([1, [0]], "lists and numbers side by side"),
    ([["a"]], "a list cannot be read as an array: must be real number, not str"),
    ([[1 << 70]], "a list cannot be read as an array"),
    ([], r"lists of shape \(0,\)"),
    (None, "a NoneType cannot be read as an array"),
    (object(), "a object cannot be read as an array"),
    (np.ones((2, 2), complex), r"elements of a type that no mask has \(complex128\)"),
    (np.ones((2, 2), ">i4"), "cannot be read as an array"),
    (np.array([["a"]]), "a ndarray of dtype <U1 cannot be read as an array"),
    (np.array([[None]]), "cannot be read as an array"),
    (np.ones(()), "expected 1 to 4 axes"),
    (np.ones((1,) * 5, bool), "expected 1 to 4 axes"),
    (np.ones((1,) * 9, bool), "more than 8 axes"),
    (np.ones((2, 2)) * np.nan, "nan"),
    (np.full((2, 2), 0.5), "0.5"),
])
def test_what_is_no_mask_is_refused(array, words):
    with pytest.raises(Error, match=words):
        Mask(array)


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0), (0, 3, 4), (2, 0, 3, 4), (2, 1, 0, 0)])
def test_masks_without_cells_can_be_asked(shape):
    mask = Mask(np.zeros(shape, bool), "dense")
    assert mask.count() == 0
    for verb in ("show", "stats", "check", "recognise", "cost"):
        str(getattr(mask, verb)())
    assert mask == mask
    assert np.asarray(mask).size == 0


class Fake:
    """An object with only those attributes of a tensor that the module reads."""

    def __init__(self, **traits):
        self.__dict__.update(traits)


@pytest.mark.parametrize("tensor, words", [
    (Fake(is_nested=True), "a nested tensor; pack its rows"),
    (Fake(layout="torch.sparse_coo"), r"layout sparse_coo; give its .to_dense\(\)"),
    (Fake(is_meta=True), "a meta tensor has no elements"),
    (Fake(__dlpack_device__=None), "cannot be read as an array"),
])
def test_tensors_without_elements_are_refused(tensor, words):
    with pytest.raises(Error, match=words):
        Mask(tensor)


def test_an_array_whose_attributes_raise_is_refused():
    class Deleted:  # as an array of JAX
        @property
        def device(self):
            raise RuntimeError("Array has been deleted")

        def __dlpack__(self, **_):
            raise RuntimeError("Array has been deleted")

    with pytest.raises(Error, match="mask: a Deleted cannot be read as an array: Array has been deleted"):
        Mask(Deleted())
    with pytest.raises(Error, match="segments: a Deleted cannot be read"):
        SAMPLE.check(segments=Deleted())


def test_a_tensor_of_a_gpu_is_copied_by_its_library_and_that_is_said():
    cells = np.tri(4, dtype=bool)
    tensor = Fake(device=Fake(type="cuda", __str__=None), cpu=lambda: cells)
    mask = Mask(tensor)
    assert mask == Mask(cells)
    assert len(mask.notes) == 1 and "to the host" in mask.notes[0]


def test_an_exception_in_dlpack_is_an_error():
    class Liar:
        def __dlpack__(self, **_):
            raise RuntimeError("no")

        def __dlpack_device__(self):
            return (1, 0)

    with pytest.raises(Error, match="Liar cannot be read as an array"):
        Mask(Liar())


def endless():
    """A list that holds itself."""
    out = []
    out.append(out)
    return out


class Long(list):
    """A list that says it is longer."""

    def __len__(self):
        return 7


@pytest.mark.parametrize("ask, words", [
    (lambda: Mask([[1]], name="\ud800"), "name: '.ud800' is no text"),
    (lambda: Mask([[1]], name=5), "name: a int is no text"),
    (lambda: Mask([[1]], 5), "kind: a int is no text"),
    (lambda: Mask("\udcff.npy"), "file: '.udcff.npy' is no text"),
    (lambda: Mask.read(os.fsdecode(b"\xff.npy")), "is no text"),
    (lambda: Mask("a\0b.npy"), "holds a NUL"),
    (lambda: Mask.read(b"m.npy"), "a bytes is no name of a file"),
    (lambda: Mask.read(SAMPLE), "a Mask is no name of a file"),
    (lambda: SAMPLE.save(5), "a int is no name of a file"),
    (lambda: SAMPLE.save("f.npy", [1]), "kind: a list is no text"),
    (lambda: Mask.from_segments([0, 1], name=[]), "name: a list is no text"),
    (lambda: Mask(endless()), "expected numbers in 1 to 8 levels"),
    (lambda: Mask(Long([[True, False], [True, True]])), "a list cannot be read as an array"),
    (lambda: SAMPLE.show(output="a\0b.svg"), "output: .* holds a NUL"),
    (lambda: SAMPLE.show(output="\ud800.svg"), "output: .* is no text"),
    (lambda: Mask.parse(None, 8), "step: a NoneType is no text"),
    (lambda: Mask.parse("\ud800", 8), "step: '.ud800' is no text"),
    (lambda: SAMPLE.apply(5), "step: a int is no text"),
    (lambda: SAMPLE.apply("and:x", x=None), "x: a NoneType cannot be read as an array"),
    (lambda: SAMPLE.apply("and:x", x="file.npy"), "x: a str cannot be read as an array"),
    (lambda: Mask(b"file.npy"), "mask: a bytes cannot be read as an array"),
    (lambda: SAMPLE.diff(None), "other: None is no value"),
    (lambda: SAMPLE.why(None, 0), "query: None is no value"),
    (lambda: SAMPLE.stats(block=SAMPLE), "block: a Mask is no value of it"),
    (lambda: SAMPLE.stats(block=object()), "block: a object is no value of it"),
    (lambda: SAMPLE.verify(solve="no"), "solve: a str is no value of it; expected True or False"),
    (lambda: SAMPLE.verify(no_gradients=[True]), "no_gradients: a list is no value of it"),
    (lambda: maskctl.run(None), "command: a NoneType is no text"),
    (lambda: maskctl.run("stats", None), "mask1: None is no value"),
    (lambda: maskctl.run("transalte"), "did you mean 'translate'"),
    (lambda: Mask([[1]], keep_value="x"), "keep_value='x': expected a whole number"),
    (lambda: Mask([[1]], closed_below="x"), "closed_below='x': expected a number"),
    (lambda: Mask([[1]], max_bytes="x"), "max_bytes='x': expected a size"),
    (lambda: Mask.from_segments([0], pad_id=0.5), "pad_id=0.5: expected a whole number"),
    (lambda: Mask.from_key_padding(object(), queries=2), "padding: a object cannot be read as an array"),
    (lambda: Mask.from_key_padding(np.array(1), queries=2), "padding: a number"),
    (lambda: SAMPLE.verify(query=[[0.0]]), r"query: expected 4 axes, got \(1, 1\)"),
])
def test_wrong_values_of_options_are_refused(ask, words):
    with pytest.raises(Error, match=words):
        ask()


@pytest.mark.parametrize("index", ["x", None, 0.5, (0, 0, 0, 1.5), np.array([0]), (np.array([1, 2]), ...), np.tri(4, dtype=bool)])
def test_wrong_indices_are_refused(index):
    with pytest.raises(IndexError, match=": a .*; expected a whole number or a slice"):
        SAMPLE[index]


def test_arrays_beyond_the_limit_are_refused():
    with pytest.raises(Error, match="exceeds the limit"):
        Mask.parse("causal", 1_000_000).to("dense")
    with pytest.raises(Error, match="raise max_bytes="):
        Mask.parse("causal", 1000).to("dense", max_bytes=1000)


def test_several_threads_can_use_one_mask(random_mask):
    mask = Mask(random_mask(257, 129), "dense")
    expected, failures = str(mask.stats()), []

    def ask():
        try:
            for _ in range(5):
                assert str(mask.stats()) == expected
                assert mask.count() == np.asarray(mask).sum()
        except BaseException as error:  # the main thread reports the exception
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_mask_can_be_used_in_a_forked_process(random_mask):
    mask = Mask(random_mask(2048, 2048))  # large enough to use several threads
    expected = str(mask.stats())
    child = os.fork()
    if child == 0:
        os._exit(0 if str(mask.stats()) == expected and str(Mask(np.asarray(mask)).stats()) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_forks_work_while_other_threads_use_the_mask(random_mask):
    mask = Mask(random_mask(512, 512))
    expected, done = str(mask.stats()), threading.Event()

    def ask():
        while not done.is_set():
            str(mask.stats())

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    statuses = []
    for _ in range(10):
        child = os.fork()
        if child == 0:
            signal.alarm(60)  # ends a child that hangs
            os._exit(0 if str(mask.stats()) == expected else 1)
        statuses.append(os.waitpid(child, 0)[1])
    done.set()
    for thread in threads:
        thread.join()
    assert statuses == [0] * 10


@pytest.fixture
def sigint():
    """Makes SIGINT interrupt Python: shells start background jobs with SIGINT ignored, and Python
    keeps that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def long_work():
    """Computes for minutes: the cells of a random mask are computed one by one."""
    return Mask.read("gen:random:sparsity=0.5,n=400000").stats()


def test_other_threads_run_during_a_long_call(sigint):
    ticks = 0
    done = threading.Event()

    def tick():
        nonlocal ticks
        while not done.wait(0.01):
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    threading.Timer(0.5, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        long_work()
    done.set()
    thread.join()
    assert ticks > 5
