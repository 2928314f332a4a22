#include "app/python/pickled.h"

#include <fmt/format.h>
#include <nanobind/stl/array.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <optional>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/io/kinds/kind.h"
#include "maskctl/tensor/element_types.h"

namespace maskctl::app {
namespace {

namespace nb = nanobind;

[[noreturn]] void refuse_state() {
  throw Error(Errc::kInvalidArgument, "a pickled mask is damaged, or of another version");
}

nb::object state_or_none(const std::optional<Tensor>& tensor) {
  return tensor ? nb::object(state_of(*tensor)) : nb::none();
}

std::optional<Tensor> tensor_or_none(const nb::object& state) {
  if (state.is_none()) return std::nullopt;
  return tensor_of(nb::cast<nb::tuple>(state));
}

MaskWriteOptions as_runs() {
  MaskWriteOptions out;
  out.kind = ArrayKind::kRuns;
  out.max_bytes = std::numeric_limits<Index>::max();
  return out;
}

nb::dict states_of(const std::vector<NamedTensor>& arrays) {
  nb::dict out;
  for (const NamedTensor& array : arrays) out[array.name.c_str()] = state_of(array.tensor);
  return out;
}

/// The fact as a number, its count and its cell.
using FactState = std::array<Index, 6>;

std::vector<FactState> states_of(const ArrayFacts& facts) {
  std::vector<FactState> out;
  for (const auto& [fact, count, at] : facts) {
    out.push_back({static_cast<Index>(fact), count, at.batch, at.head, at.query, at.key});
  }
  return out;
}

ArrayFacts facts_of(const std::vector<FactState>& states) {
  ArrayFacts out;
  for (const auto& [fact, count, batch, head, query, key] : states) {
    if (fact < 0 || fact >= static_cast<Index>(ArrayFact::kCount)) refuse_state();
    out.push_back({static_cast<ArrayFact>(fact), count, {batch, head, query, key}});
  }
  return out;
}

Mask mask_of(const nb::dict& runs) {
  std::vector<NamedTensor> arrays;
  for (const auto& [key, state] : runs) {
    arrays.push_back({nb::cast<std::string>(key), tensor_of(nb::cast<nb::tuple>(state))});
  }
  std::vector<NamedView> views;
  views.reserve(arrays.size());
  for (const NamedTensor& array : arrays) views.push_back({array.name, array.tensor});
  return read_mask("pickled", views, {}).mask;
}

}  // namespace

std::vector<NamedTensor> runs_of(const Mask& mask) {
  return mask_arrays(convert_mask(mask, as_runs()), as_runs());
}

nb::tuple state_of(const Tensor& tensor) {
  const auto bytes = tensor.bytes();
  return nb::make_tuple(std::string(name(tensor.dtype())), tensor.shape(),
                        nb::bytes(bytes.data(), bytes.size()));
}

Tensor tensor_of(const nb::tuple& state) {
  const auto [dtype, shape, bytes] =
      std::tuple(nb::cast<std::string>(state[0]), nb::cast<std::vector<Index>>(state[1]),
                 nb::cast<nb::bytes>(state[2]));
  const auto* const row = std::ranges::find(kElementTypes, dtype, &ElementType::name);
  const auto elements = checked_product(shape);
  if (row == kElementTypes.end() || !elements) refuse_state();
  const auto size = checked_mul(*elements, row->bytes);
  if (!size || as_size(*size) != bytes.size()) refuse_state();
  Tensor out(row->dtype, shape);
  std::copy_n(reinterpret_cast<const std::byte*>(bytes.c_str()), bytes.size(), out.bytes().data());
  return out;
}

nb::tuple state_of(const LoadedMask& loaded, const std::vector<NamedTensor>& runs) {
  if (loaded.object.has_value()) {
    throw Error(Errc::kUnsupported,
                "a mask read from an object of another library is not pickled; "
                "apply() a step, or give its array");
  }
  nb::object blocks = nb::none();
  if (loaded.blocks) {
    blocks =
        nb::make_tuple(state_of(loaded.blocks->map), loaded.blocks->size.q, loaded.blocks->size.k);
  }
  const BiasSeen& bias = loaded.bias_seen;
  return nb::make_tuple(states_of(runs), std::string(name(loaded.kind)), loaded.dtype,
                        loaded.array_shape, loaded.rank, state_or_none(loaded.q_segment_ids),
                        state_or_none(loaded.kv_segment_ids), loaded.shared_ids, blocks,
                        loaded.odd_bools,
                        nb::make_tuple(bias.inf, bias.min, bias.nearest, bias.farthest),
                        loaded.notes, states_of(loaded.facts));
}

LoadedMask loaded_of(const nb::tuple& state) {
  if (state.size() != 13) refuse_state();
  LoadedMask out;
  out.mask = mask_of(nb::cast<nb::dict>(state[0]));
  out.kind = kind_from_name(nb::cast<std::string>(state[1]));
  out.dtype = nb::cast<std::string>(state[2]);
  out.array_shape = nb::cast<std::vector<Index>>(state[3]);
  out.rank = nb::cast<Index>(state[4]);
  out.q_segment_ids = tensor_or_none(state[5]);
  out.kv_segment_ids = tensor_or_none(state[6]);
  out.shared_ids = nb::cast<bool>(state[7]);
  if (!state[8].is_none()) {
    const auto blocks = nb::cast<nb::tuple>(state[8]);
    out.blocks = BlockMapRead{tensor_of(nb::cast<nb::tuple>(blocks[0])),
                              {nb::cast<Index>(blocks[1]), nb::cast<Index>(blocks[2])}};
  }
  out.odd_bools = nb::cast<Index>(state[9]);
  const auto bias = nb::cast<nb::tuple>(state[10]);
  out.bias_seen = {nb::cast<bool>(bias[0]), nb::cast<bool>(bias[1]), nb::cast<double>(bias[2]),
                   nb::cast<double>(bias[3])};
  out.notes = nb::cast<std::vector<std::string>>(state[11]);
  out.facts = facts_of(nb::cast<std::vector<FactState>>(state[12]));
  return out;
}

}  // namespace maskctl::app
