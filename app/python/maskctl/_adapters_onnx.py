"""How the kit calls operators of ONNX in onnxruntime."""

from maskctl._adapter import adapter
from maskctl._kit_cases import Unsupported


def _run(operator, given, outputs, domain="", opset=23, **attributes):
    """The outputs of a model of one operator; `given` has its inputs by name, None where one is left out."""
    import numpy as np
    import onnxruntime
    from onnx import TensorProto, helper

    present = {name: np.ascontiguousarray(array) for name, array in given.items() if array is not None}
    names = [name if array is not None else "" for name, array in given.items()]
    node = helper.make_node(operator, names, outputs, domain=domain, **attributes)
    inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
              for name, array in present.items()]
    shown = helper.make_tensor_value_info(outputs[0], TensorProto.FLOAT, None)
    graph = helper.make_graph([node], operator, inputs, [shown])
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    model = helper.make_model(graph, opset_imports=opsets, ir_version=11)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run([outputs[0]], present)[0]


def _float32_only(case):
    if case.dtype != "float32":
        raise Unsupported("this adapter has float32 only")


@adapter("onnxruntime", ("onnx", "onnxruntime"))
def onnx_attention(case):
    """The operator Attention of opset 23, with its mask, scale and soft cap."""
    import numpy as np

    case.only("scale", "soft_cap", "bias")
    _float32_only(case)
    mask = case.mask if case.bias is None else np.where(case.mask, case.bias, np.float32(-np.inf))
    given = {"Q": case.query.transpose(0, 2, 1, 3), "K": case.key.transpose(0, 2, 1, 3),
             "V": case.value.transpose(0, 2, 1, 3), "M": mask}
    out = _run("Attention", given, ["Y"], scale=case.used_scale, softcap=case.soft_cap or 0.0)
    return out.transpose(0, 2, 1, 3)


@adapter("onnxruntime.gqa", ("onnx", "onnxruntime"))
def group_query_attention(case):
    """GroupQueryAttention of com.microsoft, wherever a case is causal, with a window to the left: all keys but the
    last Q are those of its cache."""
    import numpy as np

    case.only("scale", "soft_cap", "bias", "sinks")
    _float32_only(case)
    (batch, queries, heads, dim), (_, keys, kv_heads, value_dim) = case.query.shape, case.value.shape
    left, right = case.window("bottom-right")
    if right != 0:
        raise Unsupported("it is causal")
    if case.sinks is not None and case.sinks.shape[1] != 1:
        raise Unsupported("a head has one sink")
    if queries > keys:
        raise Unsupported("new tokens are among the keys")

    def packed(array):
        return array.reshape(*array.shape[:2], -1)

    past = keys - queries
    cache = [x[:, :past].transpose(0, 2, 1, 3) for x in (case.key, case.value)] if past else [None, None]
    given = {"query": packed(case.query), "key": packed(case.key[:, past:]), "value": packed(case.value[:, past:]),
             "past_key": cache[0], "past_value": cache[1], "seqlens_k": np.full(batch, keys - 1, np.int32),
             "total_sequence_length": np.array(keys, np.int32), "cos_cache": None, "sin_cache": None,
             "position_ids": None, "attention_bias": case.bias,
             "head_sink": None if case.sinks is None else case.sinks[:, 0]}
    while list(given.values())[-1] is None:
        given.popitem()
    out = _run("GroupQueryAttention", given, ["out", "present_key", "present_value"], "com.microsoft",
               num_heads=heads, kv_num_heads=kv_heads, scale=case.used_scale, softcap=case.soft_cap or 0.0,
               local_window_size=-1 if left is None else left + 1)  # with the query's own key
    return out.reshape(batch, queries, heads, -1)
