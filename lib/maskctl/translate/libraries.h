// The list of all libraries, in the order of `--to all`. Everything else about a library is in its
// own file. Private to the layer.
#pragma once

#include <array>
#include <cstddef>

#include "maskctl/translate/conventions.h"

namespace maskctl::library {

template <typename... Libraries>
struct List {};

// clang-format off
using Libraries = List<
    struct Ejkernel,
    struct EjkernelFlash,
    struct EjkernelRagged,
    struct Hf,
    struct Fa,
    struct Te,
    struct Cudnn,
    struct Xformers,
    struct Flashinfer,
    struct Flex,
    struct Fa4,
    struct Splash,
    struct Vllm,
    struct CkTile,
    struct Flashmask,
    struct Sdpa,
    struct Varlen,
    struct Mha,
    struct Jax,
    struct Onnx,
    struct Onnxruntime,
    struct Mlx,
    struct Sglang,
    struct Keras,
    struct Natten,
    struct Openvino,
    struct TensorrtLlm,
    struct Magi,
    struct Megatron>;
// clang-format on

/// The Library for a name in the list. Its file defines it with a function such as `const Library&
/// row(const Fa*)`.
template <typename T>
const Library& row_of() {
  const Library& row(const T*);
  return row(nullptr);
}

/// Lists of arguments one after another, as one list.
template <std::size_t... N>
constexpr std::array<Argument, (N + ...)> joined_lists(const Argument (&... lists)[N]) {
  std::array<Argument, (N + ...)> out;
  std::size_t at = 0;
  const auto add = [&](const auto& list) {
    for (const Argument& argument : list) out[at++] = argument;
  };
  (add(lists), ...);
  return out;
}

}  // namespace maskctl::library
