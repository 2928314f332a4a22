"""Functions of attention that a model holds elsewhere than under a name: they are seen, and afterwards all that held
them holds the same objects. Tested where torch is installed."""

import collections
import functools
import types

import pytest

torch = pytest.importorskip("torch")

import maskctl
from maskctl import Mask
from running import CAUSAL, Call, both, only, run_in
from torch.nn import functional

ATTEND = functional.scaled_dot_product_attention
Q = torch.randn(1, 2, 6, 8)
Pair = collections.namedtuple("Pair", "name function")
TUPLE, NESTED = ("sdpa", ATTEND), {"kinds": [("sdpa", {"fast": ATTEND})]}
PARTIAL = functools.partial(ATTEND, is_causal=True)
PACKED = functools.partial(lambda function, q: function(q, q, q, is_causal=True), ATTEND)
RECORD, OBJECT = Pair("sdpa", ATTEND), types.SimpleNamespace(attend=ATTEND)
CYCLE = [ATTEND]
CYCLE.append(CYCLE)


def with_default(q, attend=ATTEND, *, other=ATTEND):
    return attend(other(q, q, q, is_causal=True), q, q, is_causal=True)


def closed_over(attend):
    return lambda q: attend(q, q, q, is_causal=True)


CLOSED = closed_over(ATTEND)


class Kernels:
    def __init__(self):
        self.attend = ATTEND

    def __call__(self, q):
        return self.attend(q, q, q, is_causal=True)


KERNELS = Kernels()


class OfClass(torch.nn.Module):
    TABLE = {"sdpa": (ATTEND,)}
    method = functools.partialmethod(lambda self, function, q: function(q, q, q, is_causal=True), ATTEND)

    def __init__(self, by_table):
        super().__init__()
        self.by_table = by_table

    def forward(self, q):
        return self.TABLE["sdpa"][0](q, q, q, is_causal=True) if self.by_table else self.method(q)


def everything():
    """What holds functions, to be compared by identity."""
    return [TUPLE, *TUPLE, NESTED["kinds"], NESTED["kinds"][0], NESTED["kinds"][0][1]["fast"], PARTIAL.func, PARTIAL.keywords,
            PACKED.args, *PACKED.args, RECORD, *RECORD, OBJECT.attend, *CYCLE, with_default.__defaults__, *with_default.__defaults__,
            with_default.__kwdefaults__["other"], CLOSED.__closure__[0].cell_contents, KERNELS.attend, OfClass.TABLE,
            OfClass.TABLE["sdpa"], *OfClass.TABLE["sdpa"], *vars(OfClass)["method"].args]


@both
@pytest.mark.parametrize("call", [
    lambda q: TUPLE[1](q, q, q, is_causal=True), lambda q: NESTED["kinds"][0][1]["fast"](q, q, q, CAUSAL),
    lambda q: PARTIAL(q, q, q), lambda q: PACKED(q), lambda q: RECORD.function(q, q, q, CAUSAL),
    lambda q: OBJECT.attend(q, q, q, CAUSAL), lambda q: CYCLE[1][1][0](q, q, q, CAUSAL), with_default, CLOSED, KERNELS,
    functools.partial(ATTEND, Q, Q), [("own", ATTEND)], {"own": {"deep": (ATTEND,)}}, OfClass(True), OfClass(False)])
def test_an_attention_function_is_watched_wherever_it_is_stored(eye, call):
    before = everything()
    if isinstance(call, (list, dict)):
        model = Call(lambda q: (model.held[0][1] if isinstance(call, list) else model.held["own"]["deep"][0])(q, q, q, CAUSAL))
        model.held = call
    else:
        model = call if isinstance(call, torch.nn.Module) else Call(call)
    rows = run_in(eye, model, Q)
    seen = {row.function for row in rows.calls}
    assert seen == {"scaled_dot_product_attention"} and not rows.unread
    if not isinstance(call, functools.partial):
        assert all(mask == Mask(CAUSAL) for mask in rows)
    assert [id(one) for one in everything()] == [id(one) for one in before]
    assert not isinstance(call, list) or model.held[0][1] is ATTEND


@both
def test_changes_that_the_model_makes_while_watched_are_kept(eye):
    holder = types.SimpleNamespace(functions=[ATTEND, ATTEND], table={"a": ATTEND, "b": ATTEND})

    def change(q):
        holder.functions.pop(0)
        holder.table["a"] = len
        return holder.functions[0](q, q, q)

    model = Call(change)
    with eye(model) as rows:
        model(Q)
    assert only(rows).mask is not None
    assert holder.functions == [ATTEND] and holder.table == {"a": len, "b": ATTEND}
