"""FlexAttention's three masks: what mask_mod means, what the blocks say, what the output obeys."""

import json

from maskctl import _arrays, flex
from maskctl._answer import Answer
from maskctl._mask import Mask
from maskctl._native import Error
from maskctl._seen import pattern


def audit_flex(mask_mod, block_mask, q, k, v, out, *, scale=None):
    """Whether flex_attention(q, k, v, block_mask=block_mask, scale=scale), which gave `out`, applied mask_mod.

    Three masks are compared: mask_mod, called for every cell of every batch and head; the lists, which are all
    cells of full blocks and in partial blocks what block_mask.mask_mod opens; and the one that the output obeys,
    judged as Mask.verify() does. The answer is true where they are one mask; it names the odd one (`verdict`), and
    the first cell of each difference. Arrays are [B, H, S, D]; a score_mod may not have moved the scores.
    """
    if any(len(array.shape) != 4 for array in (q, k, v, out)):
        raise Error("audit_flex: q, k, v and out are [B, H, S, D]")
    extents = (*q.shape[:3], k.shape[2])
    if tuple(map(int, block_mask.seq_lengths)) != extents[2:]:
        raise Error(f"audit_flex: block_mask is of {block_mask.seq_lengths[0]} x {block_mask.seq_lengths[1]}, but there "
                    f"are {extents[2]} queries and {extents[3]} keys")
    meant = _evaluated("mask_mod", block_mask, mask_mod, extents)
    own = meant if block_mask.mask_mod is mask_mod else _evaluated("block_mask", block_mask, block_mask.mask_mod, extents)
    told = flex.applied("block_mask", block_mask, own)
    lists = _lists(block_mask, meant, told)
    call = {"query": q, "key": k, "value": v, "given": out, "layout": "bhtd"}
    if scale is not None:
        call["softmax_scale"] = scale
    output = _output(call, {"mask_mod": meant} if lists["agrees"] else {"mask_mod": meant, "lists": told})
    verdict, status = _verdict(lists, output)
    data = {"schema": "maskctl.audit-flex/1", "ok": status == 0, "verdict": verdict, "shape": list(map(int, extents)),
            "lists": lists, "output": output}
    said = json.dumps(data)
    return Answer(_text(data, meant), lambda kind: json.loads(said, object_hook=kind), status, [])


def _evaluated(name, block_mask, mask_mod, extents):
    return Mask(_arrays.cells_of(name, block_mask, mask_mod, *extents), "dense", name=name)


def _lists(block_mask, meant, told):
    if meant == told:
        return {"agrees": True, "only_mask_mod": 0, "only_lists": 0, "first": None, "block": None, "listed": None}
    difference = meant.diff(told)
    first = {**difference.first, "open_in": "mask_mod" if difference.first["open_in"] == "a" else "lists"}
    row, column, listed = flex.block_of(block_mask, first)
    return {"agrees": False, "only_mask_mod": difference.only_a, "only_lists": difference.only_b, "first": first,
            "block": [row, column], "listed": listed}


def _output(call, masks):
    """Which of the masks the output obeys; where it is none, how it differs from the last."""
    answers = {name: mask.verify(**call) for name, mask in masks.items()}
    obeys = [name for name, answer in answers.items() if answer]
    last = list(answers)[-1]
    said = answers[obeys[0] if obeys else last].data
    made = {"obeys": obeys, "decided": any(answer.status < 2 for answer in answers.values()),
            "verdict": said["verdict"], "text": said["text"], "first": None}
    if not obeys and made["decided"]:
        made["first"] = _first(masks[last], call, answers[last])
    return made


def _first(mask, call, answer):
    """The first cell in which an output differs from a mask, where it can be solved."""
    solved = answer.data.get("solved")
    if solved is None and answer.data["verdict"] == "another":
        try:
            solved = mask.verify(**call, solve=True).data.get("solved")
        except Error:  # too few channels
            return None
    return solved["first"] if solved else None


def _verdict(lists, output):
    """The odd one of the three, and the exit status."""
    obeys = output["obeys"]
    if not output["decided"]:
        return ("unclear", 2) if lists["agrees"] else ("lists", 1)
    if lists["agrees"]:
        return ("agree", 0) if obeys else ("output", 1)
    if obeys == ["mask_mod"]:
        return "lists", 1
    if obeys == ["lists"]:
        return "mask_mod", 1
    return ("lists", 1) if obeys else ("all", 1)


_OUTPUTS = {"another": "obeys another mask", "other-call": "is that of another call", "partly": "obeys in part",
            "none": "obeys no mask that was tried"}
_VERDICTS = {"agree": "mask_mod, lists and output are one mask", "output": "the output is not that of mask_mod and lists",
             "lists": "the lists are not those of mask_mod", "mask_mod": "the lists were applied, which are not those of mask_mod",
             "all": "mask_mod, lists and output differ from each other", "unclear": "the output cannot be judged"}


def _text(data, meant):
    lists, output = data["lists"], data["output"]
    return "\n".join([f"mask_mod   {'x'.join(map(str, data['shape']))}, {pattern(meant)}",
                      f"lists      {_words_of_lists(lists)}", f"output     {_words_of_output(output)}",
                      f"verdict    {_VERDICTS[data['verdict']]}"])


def _cell(first):
    return "batch {batch}, head {head}, query {query}, key {key}".format(**first)


def _words_of_lists(lists):
    if lists["agrees"]:
        return "those of mask_mod"
    cells = lists["only_mask_mod"] + lists["only_lists"]
    decides = ", where block_mask.mask_mod decides" if lists["listed"] == "partial" else ""
    return (f"{cells} cells differ from mask_mod, the first {_cell(lists['first'])}, open in {lists['first']['open_in']}: "
            f"block ({lists['block'][0]}, {lists['block'][1]}) is {lists['listed']}{decides}")


def _words_of_output(output):
    if not output["decided"]:
        return f"cannot be told: {output['text']}"
    if output["obeys"]:
        return f"obeys {' and '.join(output['obeys'])}: {output['text']}"
    where = f"; the first cell is {_cell(output['first'])}" if output["first"] else ""
    return f"{_OUTPUTS[output['verdict']]}: {output['text']}{where}"
