#include "maskctl/io/masks/key_arrays.h"

#include <fmt/format.h>

#include <limits>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/arrays/flashmask.h"
#include "maskctl/mask/arrays/index_lists.h"
#include "maskctl/mask/arrays/intervals.h"

namespace maskctl {
namespace {

/// What is known before the mask is made.
LoadedMask described(const OpenArray& array, ArrayKind kind) {
  LoadedMask out;
  out.kind = kind;
  out.dtype = name(array.dtype);
  out.array_shape = array.shape;
  return out;
}

std::optional<Index> extent_in(const MaskReadOptions& options, std::size_t axis) {
  return options.shape ? std::optional((*options.shape)[axis]) : std::nullopt;
}

}  // namespace

void note_facts(const std::string& name, LoadedMask& loaded) {
  for (const FactSeen& seen : loaded.facts) {
    loaded.notes.push_back(
        fmt::format("{}: {}, first at {}", name, to_text(seen), cell_text(seen.first)));
  }
}

LoadedMask load_index_lists(OpenArray& array, const MaskReadOptions& options) {
  LoadedMask out = described(array, ArrayKind::kIndexLists);
  Tensor lists = array.take(options.read, out.notes);
  const BlockSize block = options.block.value_or(BlockSize{1, 1});
  const auto queries = extent_in(options, 2);
  auto keys = extent_in(options, 3);
  if (!keys && lists.rank() >= 2) {
    keys = checked_mul(lists.extent(lists.rank() - 2), block.q);
    out.notes.push_back(
        fmt::format("{}: as many keys as queries, for no shape was given", array.name));
  }
  constexpr Index kTooMany = std::numeric_limits<Index>::max();
  out.mask = mask_from_index_lists(std::move(lists), queries, keys.value_or(kTooMany), block,
                                   options.read.max_bytes, out.facts);
  note_facts(array.name, out);
  return out;
}

LoadedMask load_flashmask(OpenArray& array, ArrayKind kind, const MaskReadOptions& options) {
  LoadedMask out = described(array, kind);
  const Tensor& limits = array.load(options.read, out.notes);
  auto queries = extent_in(options, 2);
  if (!queries) {
    queries = limits.rank() == 4 ? limits.extent(2) : 0;
    out.notes.push_back(
        fmt::format("{}: as many queries as keys, for no shape was given", array.name));
  }
  out.mask = mask_from_flashmask(limits, kind == ArrayKind::kFlashmaskCausal, *queries,
                                 options.read.max_bytes);
  return out;
}

LoadedMask load_intervals(OpenArray& array, const MaskReadOptions& options) {
  if (!options.shape) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{}: ends of intervals do not carry the number of keys", array.name),
                {{Remedy::kGiveShape}});
  }
  LoadedMask out = described(array, ArrayKind::kIntervals);
  const Tensor& ends = array.load(options.read, out.notes);
  const auto& shape = *options.shape;
  out.mask = mask_from_intervals(ends, shape[0], shape[2], shape[3], options.read.max_bytes);
  return out;
}

}  // namespace maskctl
