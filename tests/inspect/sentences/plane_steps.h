// The steps of one plane of a printed pipeline, and what a reader takes from each: its words, its
// diagonals and its documents. Written from the definitions of the steps alone.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "maskctl/mask/steps/tree.h"
#include "support/twin_steps.h"

namespace maskctl::test {

/// The entry of a batch in an array with one per batch; the array itself if it has a single one.
inline void take_batch(NamedArray& values, Index batch) {
  if (values.array.elements() < 2) return;
  Tensor one(DType::kInt64, {1});
  one.as<std::int64_t>()[0] = twin::number(values.array, batch);
  values = {std::move(one), ""};
}
/// The row of a batch in an array [B, S].
inline void take_row(NamedArray& ids, Index batch) {
  if (ids.array.rank() != 2) return;
  const Index length = ids.array.extent(1), row = ids.array.extent(0) == 1 ? 0 : batch;
  Tensor out(DType::kInt64, {length});
  for (Index i = 0; i < length; ++i) {
    out.as<std::int64_t>()[static_cast<std::size_t>(i)] = twin::number(ids.array, row * length + i);
  }
  ids = {std::move(out), ""};
}
/// The plane of a batch and head in a map [H, Q, K] or [B, H, Q, K] of blocks.
inline void take_plane(NamedArray& map, Index batch, Index head) {
  const Index rank = map.array.rank();
  if (rank == 2) return;
  const Index rows = map.array.extent(rank - 2), columns = map.array.extent(rank - 1);
  const Index heads = rank == 4 ? map.array.extent(1) : 1;
  const Index b = map.array.extent(0) == 1 ? 0 : batch, h = heads == 1 ? 0 : head;
  Tensor out(DType::kBool, {rows, columns});
  for (Index i = 0; i < rows * columns; ++i) {
    out.as<std::uint8_t>()[static_cast<std::size_t>(i)] =
        twin::number(map.array, (b * heads + h) * rows * columns + i) != 0;
  }
  map = {std::move(out), ""};
}
/// If the array has one entry, stores it in the member for steps without an array.
inline void single(NamedArray& each, Index& one) {
  if (each.array.elements() == 0) return;
  one = twin::number(each.array, 0);
  each = {};
}
inline void single(NamedArray& each, std::optional<Index>& one) {
  Index value = 0;
  if (each.array.elements() == 0) return;
  single(each, value);
  one = value;
}

inline Step step_of_plane(Step step, Index batch, Index head) {
  if (auto* causal = step.get_if<step::Causal>()) {
    take_batch(causal->offsets, batch);
    causal->offsets.text.clear();
  }
  if (auto* window = step.get_if<step::Window>()) {
    for (NamedArray* each : {&window->offsets, &window->lefts, &window->rights}) {
      take_batch(*each, batch);
    }
    single(window->offsets, window->offset);
    single(window->lefts, window->left);
    single(window->rights, window->right);
  }
  if (auto* chunk = step.get_if<step::Chunk>()) {
    for (NamedArray* each : {&chunk->origins, &chunk->sizes, &chunk->offsets}) {
      take_batch(*each, batch);
    }
    single(chunk->sizes, chunk->size);
    single(chunk->offsets, chunk->offset);
  }
  if (auto* blocks = step.get_if<step::BlockCausal>()) {
    take_batch(blocks->sizes, batch), take_batch(blocks->offsets, batch);
    single(blocks->sizes, blocks->size);
    single(blocks->offsets, blocks->offset);
  }
  if (auto* tree = step.get_if<step::Tree>()) {
    for (NamedArray* each : {&tree->parents, &tree->depth, &tree->tin, &tree->tout}) {
      take_row(*each, batch);
    }
  }
  if (auto* pad = step.get_if<step::Pad>()) {
    if (pad->is_lengths) take_batch(pad->valid, batch), pad->valid.text.clear();
    if (!pad->is_lengths) take_row(pad->valid, batch);
  }
  if (auto* dilated = step.get_if<step::Dilated>()) {
    take_batch(dilated->strides, batch);
    single(dilated->strides, dilated->stride);
  }
  if (auto* prefix = step.get_if<step::Prefix>()) {
    take_batch(prefix->each, batch);
    single(prefix->each, prefix->n);
  }
  if (auto* sinks = step.get_if<step::Sinks>()) {
    take_batch(sinks->each, batch);
    single(sinks->each, sinks->n);
  }
  if (auto* document = step.get_if<step::Document>()) {
    take_row(document->q, batch), take_row(document->kv, batch);
  }
  if (auto* tokens = step.get_if<step::Tokens>()) {
    take_row(tokens->q, batch), take_row(tokens->kv, batch);
  }
  if (auto* block = step.get_if<step::Block>()) take_plane(block->map, batch, head);
  if (auto* within = step.get_if<step::Within>()) {
    take_row(within->q, batch), take_row(within->kv, batch);
  }
  return step;
}

/// The steps that make the plane of one batch and head; heads: and batch: steps are opened.
inline Chain steps_of_plane(const Chain& chain, Index batch, Index head) {
  Chain out;
  for (const Step& step : chain) {
    const auto* scoped = step.get_if<step::Scoped>();
    if (!scoped) {
      out.push_back(step_of_plane(step, batch, head));
      continue;
    }
    const bool heads = scoped->axis == step::Scoped::Axis::kHeads;
    Index at = 0;  // the place among the members of the scope
    for (const Range& range : scoped->members) {
      const Index own = heads ? head : batch;
      if (own >= range.begin && own < range.end) {
        at += own - range.begin;
        for (const Step& inner :
             steps_of_plane(scoped->chain, heads ? batch : at, heads ? at : head)) {
          out.push_back(inner);
        }
        break;
      }
      at += range.end - range.begin;
    }
  }
  return out;
}

/// The diagonals that a causal or window step keeps: low <= key - query <= high.
struct Sides {
  std::optional<Index> low, high;
  Index centre = 0, offset = 0;
  bool is_causal = false;
};
inline std::optional<Sides> sides_of(const Step& step, Index shift) {
  const auto start = [&](Align align) { return align == Align::kBottomRight ? shift : 0; };
  if (const auto* causal = step.get_if<step::Causal>()) {
    const Index offset =
        causal->offsets.array.elements() == 0 ? 0 : twin::number(causal->offsets.array, 0);
    const Index last = start(causal->align) + offset;
    return Sides{{}, last, last, offset, true};
  }
  if (const auto* window = step.get_if<step::Window>()) {
    Sides out;
    out.offset = window->offset;
    out.centre = start(window->align) + out.offset;
    if (window->left) out.low = out.centre - *window->left;
    if (window->right) out.high = out.centre + *window->right;
    return out;
  }
  return std::nullopt;
}

inline std::string numbers_text(const std::vector<Range>& ranges, const char* between,
                                std::size_t most = 1000) {
  std::string out;
  for (std::size_t i = 0; i < ranges.size() && i < most; ++i) {
    const Range& range = ranges[i];
    if (i > 0) out += between;
    out += std::to_string(range.begin);
    if (range.end - range.begin > 1) out += "-" + std::to_string(range.end - 1);
  }
  if (ranges.size() > most) out += " and " + std::to_string(ranges.size() - most) + " more";
  return out;
}
inline std::string ranges_said(const std::vector<Range>& ranges, const std::string& one,
                               const std::string& many) {
  const bool lone = ranges.size() == 1 && ranges[0].end - ranges[0].begin == 1;
  return (lone ? one : many) + " " + numbers_text(ranges, ", ", 4);
}

/// The words of diff for rows, columns or a rectangle in this state.
inline std::string region_words(const step::Region& region, bool open, Index queries) {
  const std::string state = open ? " open" : " closed";
  if (region.k.empty() && region.q.size() == 1 && region.q[0] == Range{0, queries}) {
    return "every cell" + state;
  }
  const auto line = [&](const char* what, const std::vector<Range>& ranges, const char* one,
                        const char* many) {
    const bool lone = ranges.size() == 1 && ranges[0].end - ranges[0].begin == 1;
    return std::string("the ") + what + (lone ? "" : "s") + " of " +
           ranges_said(ranges, one, many) + state;
  };
  if (region.k.empty()) return line("row", region.q, "query", "queries");
  if (region.q.empty()) return line("column", region.k, "key", "keys");
  return ranges_said(region.q, "query", "queries") + ", " + ranges_said(region.k, "key", "keys") +
         state;
}

/// The words of diff for a step that only one of two masks has.
inline std::string step_said(const Step& step, Index shift, Index queries) {
  const auto number = [](const char* name, Index n) { return name + std::to_string(n); };
  if (step.is<step::Causal>()) {
    const Index offset = sides_of(step, shift)->offset;
    return offset == 0 ? "causal" : number("causal offset ", offset);
  }
  if (step.is<step::Window>()) {
    const Sides sides = *sides_of(step, shift);
    return "window left " + (sides.low ? std::to_string(sides.centre - *sides.low) : "none") +
           ", right " + (sides.high ? std::to_string(*sides.high - sides.centre) : "none");
  }
  if (const auto* chunk = step.get_if<step::Chunk>()) return number("chunk size ", chunk->size);
  if (step.is<step::Document>() || step.is<step::DocumentLengths>() || step.is<step::Within>()) {
    return "documents";
  }
  if (step.is<step::Pad>()) return "padding";
  if (const auto* dilated = step.get_if<step::Dilated>()) {
    if (dilated->strides.array.elements() > 0) return "dilation";
    return number("dilated stride ", dilated->stride);
  }
  if (const auto* prefix = step.get_if<step::Prefix>()) return number("prefix ", prefix->n);
  if (const auto* sinks = step.get_if<step::Sinks>()) return number("sinks ", sinks->n);
  if (const auto* global = step.get_if<step::Global>()) {
    return "global tokens " + numbers_text(global->tokens, "+");
  }
  if (step.is<step::Tokens>()) return "token types";
  if (step.is<step::Block>()) return "a block map";
  if (step.is<step::Not>()) return "not";
  if (const auto* region = step.get_if<step::Region>()) {
    return region_words(*region, region->open, queries);
  }
  return words_of(step);  // rules without a header: their name and numbers
}

/// The document of each query and each key; -1 for none. Numbers follow the ids.
struct TokenIds {
  std::vector<Index> q, k;
};
inline std::optional<TokenIds> ids_of_step(const Step& step, Index queries, Index keys) {
  TokenIds out;
  const auto by_lengths = [](const std::vector<Index>& lengths, Index tokens) {
    std::vector<Index> ids(static_cast<std::size_t>(tokens), -1);
    std::size_t at = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      for (Index n = 0; n < lengths[i] && at < ids.size(); ++n) ids[at++] = static_cast<Index>(i);
    }
    return ids;
  };
  const auto by_ids = [](const Tensor& ids, Index pad) {
    std::vector<Index> read;
    for (Index i = 0; i < ids.elements(); ++i) {
      const Index id = twin::number(ids, i);
      read.push_back(id == pad ? -1 : 2 * std::abs(id) + (id < 0));
    }
    return read;
  };
  if (const auto* lengths = step.get_if<step::DocumentLengths>()) {
    out.q = by_lengths(lengths->lengths, queries), out.k = by_lengths(lengths->lengths, keys);
    return out;
  }
  if (const auto* ids = step.get_if<step::Document>()) {
    out.q = by_ids(ids->q.array, ids->pad_id);
    out.k = ids->shared ? out.q : by_ids(ids->kv.array, ids->pad_id);
    return out;
  }
  if (const auto* within = step.get_if<step::Within>()) {
    if (within->q.array.elements() > 0) {
      out.q = by_ids(within->q.array, within->pad_id);
      out.k = within->shared ? out.q : by_ids(within->kv.array, within->pad_id);
    } else {
      out.q = by_lengths(within->lengths, queries);
      out.k = by_lengths(within->kv_lengths.empty() ? within->lengths : within->kv_lengths, keys);
    }
    return out;
  }
  return std::nullopt;
}

}  // namespace maskctl::test
