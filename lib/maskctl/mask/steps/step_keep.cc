// The rules that keep only cells of the current mask.
#include <fmt/format.h>

#include <map>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/base/mt19937.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/leaves.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/words.h"
#include "maskctl/mask/rows.h"
#include "maskctl/mask/steps/step_rules.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

Mask keep(const Mask& mask, PlanePtr plane) { return zip(Op::kAnd, mask, Mask(std::move(plane))); }

/// One plane per batch, made once for each distinct value.
Mask per_value(const Mask& mask, const std::vector<Index>& values,
               const std::function<PlanePtr(Index value)>& make) {
  std::map<Index, PlanePtr> planes;
  return Mask::make(mask.batch(), 1, mask.queries(), mask.keys(), [&](Index b, Index) {
    PlanePtr& plane = planes[values[static_cast<std::size_t>(b)]];
    if (!plane) plane = make(values[static_cast<std::size_t>(b)]);
    return plane;
  });
}

Mask keep_lengths(const Mask& mask, const step::Pad& rule) {
  const std::vector<Index> lengths = per_batch(mask, rule.valid, "pad", "lengths");
  const Index keys = mask.keys();
  for (const Index length : lengths) {
    if (length < 0 || length > keys) {
      refuse("pad", fmt::format("length {}: expected 0 to {} (the keys)", length, keys));
    }
  }
  return zip(Op::kAnd, mask, per_value(mask, lengths, [&](Index length) {
               const Range valid = rule.left ? Range{keys - length, keys} : Range{0, length};
               const Range rows = rule.both ? valid : Range{0, mask.queries()};
               return rectangle(mask.queries(), keys, rows, valid);
             }));
}

/// The planes of a block map [Qb,Kb], [B,Qb,Kb] or [B,H,Qb,Kb], broadcast to the mask.
Mask block_planes(const Mask& mask, const step::Block& rule) {
  const Tensor map = astype(rule.map.array, DType::kBool);
  const Index rank = map.rank();
  const Index batch = rank >= 3 ? map.extent(0) : 1;
  const Index heads = rank == 4 ? map.extent(1) : 1;
  const Index rows = map.extent(rank - 2), columns = map.extent(rank - 1);
  const auto flags = map.as<std::uint8_t>();
  return Mask::make(batch, heads, mask.queries(), mask.keys(), [&](Index b, Index h) {
    const auto grid = flags.subspan(static_cast<std::size_t>((b * heads + h) * rows * columns),
                                    static_cast<std::size_t>(rows * columns));
    return block_grid(mask.queries(), mask.keys(), rule.q_size, rule.k_size, grid, columns);
  });
}

/// Random cells from numpy's stream, over all batches and heads in order.
Mask numpy_cells(const Mask& mask, const step::Random& rule) {
  if (rule.seed > 0xffffffffU) {
    refuse("random", fmt::format("seed {}: numpy's stream takes 0 to {}", rule.seed, 0xffffffffU));
  }
  const Index extents[] = {mask.batch(), mask.heads(), mask.queries(), words_for(mask.keys()), 8};
  const auto bytes = checked_product(extents);
  if (!bytes || *bytes > rule.max_bytes) {
    throw Error(Errc::kLimit,
                fmt::format("step random: numpy's stream must be drawn in order and held, which "
                            "takes more than the limit of {} bytes for {}; use stream=jax",
                            rule.max_bytes, shape_text(mask)));
  }
  NumpyRandomState random(static_cast<std::int64_t>(rule.seed));
  std::vector<std::uint8_t> row(static_cast<std::size_t>(mask.keys()));
  const auto stride = static_cast<std::size_t>(words_for(mask.keys()));
  return Mask::make(mask.batch(), mask.heads(), mask.queries(), mask.keys(), [&](Index, Index) {
    return stored_rows(mask.queries(), mask.keys(), true,
                       [&](Range q, std::span<std::uint64_t> words) {
                         for (std::size_t i = 0; i < static_cast<std::size_t>(q.size()); ++i) {
                           random.bernoulli(1.0 - rule.sparsity, row);
                           pack_bytes(row, words.subspan(i * stride, stride));
                         }
                       });
  });
}

}  // namespace

Mask apply_rule(const Mask& mask, const step::Causal& rule) {
  const Index shift = align_shift(mask, rule.align, "causal");
  const auto plane = [&](Index offset) {
    return diagonal_band(mask.queries(), mask.keys(), -kUnbounded, shift + offset);
  };
  if (rule.offsets.array.elements() == 0) return keep(mask, plane(0));
  const auto offsets = per_batch_offsets(mask, rule.offsets, "causal", "offsets");
  return zip(Op::kAnd, mask, per_value(mask, offsets, plane));
}

Mask apply_rule(const Mask& mask, const step::Window& rule) {
  for (const auto& side : {rule.left, rule.right}) {
    if (side && *side < 0) {
      refuse("window", fmt::format("a side of {} keys: expected at least 0, or none", *side));
    }
  }
  if (rule.offset < -kUnbounded || rule.offset > kUnbounded) {
    refuse("window", fmt::format("offset {} is out of range", rule.offset));
  }
  const Index shift = align_shift(mask, rule.align, "window");
  const auto plane = [&](Index offset) {
    const Index centre = shift + offset;
    const Index low = rule.left && *rule.left < kUnbounded ? centre - *rule.left : -kUnbounded;
    const Index high = rule.right && *rule.right < kUnbounded ? centre + *rule.right : kUnbounded;
    return diagonal_band(mask.queries(), mask.keys(), low, high);
  };
  if (rule.offsets.array.elements() == 0) return keep(mask, plane(rule.offset));
  const auto offsets = per_batch_offsets(mask, rule.offsets, "window", "offsets");
  return zip(Op::kAnd, mask, per_value(mask, offsets, plane));
}

Mask apply_rule(const Mask& mask, const step::Chunk& rule) {
  if (rule.size < 1) {
    refuse("chunk", fmt::format("size {}: expected at least 1", rule.size));
  }
  const Index queries = mask.queries(), keys = mask.keys();
  if (rule.offset < -kUnbounded || rule.offset > kUnbounded) {
    refuse("chunk", fmt::format("offset {} is out of range", rule.offset));
  }
  const Index shift =
      rule.offset + (rule.align == Align::kUnset ? 0 : align_shift(mask, rule.align, "chunk"));
  const Index size = std::min(rule.size, 4 * kUnbounded);
  const auto plane = [&](Index origin) {
    std::vector<Slab> slabs;
    for (Index start = origin - ceil_div(origin, size) * size; start < keys; start += size) {
      const Range rows = intersect({start - shift, start + size - shift}, {0, queries});
      if (!rows.empty()) slabs.push_back({rows, {{start, start + size, 0, 0}}});
    }
    return bands(queries, keys, std::move(slabs));
  };
  if (rule.origins.array.elements() == 0) return keep(mask, plane(0));
  const auto origins = per_batch_offsets(mask, rule.origins, "chunk", "origins");
  return zip(Op::kAnd, mask, per_value(mask, origins, plane));
}

Mask apply_rule(const Mask& mask, const step::Document& rule) {
  const NamedArray& kv = rule.shared ? rule.q : rule.kv;
  check_batched(mask, rule.q.array, mask.queries(), "doc", "queries");
  check_batched(mask, kv.array, mask.keys(), "doc", "keys");
  return zip(Op::kAnd, mask, mask_from_segments(rule.q.array, kv.array, rule.pad_id));
}

Mask apply_rule(const Mask& mask, const step::DocumentLengths& rule) {
  if (mask.queries() != mask.keys()) {
    refuse("doc", fmt::format("lens= needs as many queries as keys, not {}: give q=SRC,kv=SRC",
                              shape_text(mask)));
  }
  std::vector<Slab> slabs;
  Index start = 0;
  for (const Index length : rule.lengths) {
    if (length < 0 || length > mask.keys() - start) {
      refuse("doc", fmt::format("document of {} tokens at token {} of {}: lengths must not be "
                                "negative or reach past the end",
                                length, start, mask.keys()));
    }
    slabs.push_back({{start, start + length}, {{start, start + length, 0, 0}}});
    start += length;
  }
  return keep(mask, bands(mask.queries(), mask.keys(), std::move(slabs)));
}

Mask apply_rule(const Mask& mask, const step::Pad& rule) {
  if (rule.both && mask.queries() != mask.keys()) {
    refuse("pad", fmt::format("of=both needs as many queries as keys, not {}", shape_text(mask)));
  }
  if (rule.is_lengths) return keep_lengths(mask, rule);
  check_batched(mask, rule.valid.array, mask.keys(), "pad", "keys");
  return zip(Op::kAnd, mask,
             rule.both ? mask_from_padding(rule.valid.array)
                       : mask_from_key_padding(rule.valid.array, mask.queries()));
}

Mask apply_rule(const Mask& mask, const step::Dilated& rule) {
  if (rule.stride < 1)
    refuse("dilated", fmt::format("stride {}: expected at least 1", rule.stride));
  return keep(mask, dilated(mask.queries(), mask.keys(), rule.stride, 0));
}

Mask apply_rule(const Mask& mask, const step::Block& rule) {
  const Index rank = rule.map.array.rank();
  if (rank < 2 || rank > 4) {
    refuse("block", fmt::format("map of shape {}: expected (Qb, Kb), (B, Qb, Kb) or (B, H, Qb, Kb)",
                                shape_text(rule.map.array.shape())));
  }
  if (rule.q_size < 1 || rule.k_size < 1) {
    refuse("block",
           fmt::format("size {}x{}: expected sizes of at least 1", rule.q_size, rule.k_size));
  }
  return zip(Op::kAnd, mask, block_planes(mask, rule));
}

Mask apply_rule(const Mask& mask, const step::Random& rule) {
  if (!(rule.sparsity >= 0.0 && rule.sparsity <= 1.0)) {
    refuse("random",
           fmt::format("sparsity {}: expected 0 (all open) to 1 (all closed)", rule.sparsity));
  }
  if (rule.stream == step::Random::Stream::kNumpy) {
    return zip(Op::kAnd, mask, numpy_cells(mask, rule));
  }
  const ThreefryKey key = prng_key(rule.seed);
  const auto p = static_cast<float>(1.0 - rule.sparsity);
  const auto cells = static_cast<std::uint64_t>(mask.queries() * mask.keys());
  return zip(
      Op::kAnd, mask,
      Mask::make(mask.batch(), mask.heads(), mask.queries(), mask.keys(), [&](Index b, Index h) {
        const auto plane = static_cast<std::uint64_t>(b * mask.heads() + h);
        return random_plane(mask.queries(), mask.keys(), key, plane * cells, p);
      }));
}

}  // namespace maskctl
