// Every mask step as plain loops over a dense array, as the headers in mask/steps define it.
#pragma once

#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "maskctl/base/error.h"
#include "maskctl/base/threefry.h"
#include "maskctl/mask/steps/at.h"
#include "maskctl/mask/steps/block.h"
#include "maskctl/mask/steps/block_causal.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/combine.h"
#include "maskctl/mask/steps/dilated.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/first_keys.h"
#include "maskctl/mask/steps/global.h"
#include "maskctl/mask/steps/grid.h"
#include "maskctl/mask/steps/kv_lengths.h"
#include "maskctl/mask/steps/not.h"
#include "maskctl/mask/steps/pad.h"
#include "maskctl/mask/steps/positions.h"
#include "maskctl/mask/steps/query_lengths.h"
#include "maskctl/mask/steps/random.h"
#include "maskctl/mask/steps/region.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/mask/steps/scoped.h"
#include "maskctl/mask/steps/slice.h"
#include "maskctl/mask/steps/step.h"
#include "maskctl/mask/steps/take.h"
#include "maskctl/mask/steps/tokens.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/mask/steps/within.h"
#include "support/twin.h"

namespace maskctl::twin {

/// Thrown when a step does not fit the mask; the library throws Error then.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void need(bool fits, const char* what) {
  if (!fits) throw Refused(what);
}

inline NamedArray ints(std::vector<Index> shape, const std::vector<Index>& values) {
  Tensor array(DType::kInt32, std::move(shape));
  const auto out = array.as<std::int32_t>();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::int32_t>(values.at(i));
  return {std::move(array), ""};
}
inline NamedArray ints(const std::vector<Index>& values) {
  return ints({static_cast<Index>(values.size())}, values);
}
inline NamedArray bools(std::vector<Index> shape, const std::vector<Index>& values) {
  Tensor array(DType::kBool, std::move(shape));
  const auto out = array.as<std::uint8_t>();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = values.at(i) != 0;
  return {std::move(array), ""};
}

/// Returns element i of an array of bool, int32 or int64.
inline Index number(const Tensor& array, Index i) {
  const auto at = static_cast<std::size_t>(i);
  switch (array.dtype()) {
    case DType::kBool:
      return array.as<std::uint8_t>()[at] != 0;
    case DType::kInt32:
      return array.as<std::int32_t>()[at];
    case DType::kInt64:
      return array.as<std::int64_t>()[at];
    default:
      throw std::logic_error("the twin reads bool, int32 and int64");
  }
}

/// Returns the value for batch b, from an array [1] or [B].
inline Index per_batch(const Tensor& array, Index b) {
  return number(array, array.elements() == 1 ? 0 : b);
}
inline void need_per_batch(const Dense& m, const Tensor& array) {
  need(array.elements() == 1 || (array.rank() == 1 && array.elements() == m.b), "values per batch");
}
/// Returns a value for each batch: from the array `each`, or `one` for all where that is empty.
inline std::vector<Index> per_batch(const Dense& m, Index one, const NamedArray& each) {
  std::vector<Index> out(static_cast<std::size_t>(m.b), one);
  if (each.array.elements() == 0) return out;
  need_per_batch(m, each.array);
  for (Index b = 0; b < m.b; ++b) out[static_cast<std::size_t>(b)] = per_batch(each.array, b);
  return out;
}

/// Returns the value of token i in batch b, from an array [S], [1,S] or [B,S].
inline Index per_token(const Tensor& array, Index b, Index i) {
  const Index length = array.extent(array.rank() - 1);
  return number(array, array.elements() == length ? i : b * length + i);
}
inline void need_per_token(const Dense& m, const Tensor& array, Index length) {
  const Index rank = array.rank();
  need(rank == 1 || rank == 2, "rank of ids");
  need(array.extent(rank - 1) == length, "length of ids");
  need(rank == 1 || array.extent(0) == 1 || array.extent(0) == m.b, "batch of ids");
}

inline Index diagonal(const Dense& m, Align align) {
  need(align != Align::kUnset || m.q == m.k, "align");
  return align == Align::kBottomRight ? m.k - m.q : 0;
}

/// Keeps the open cells of m for which rule(b, h, q, k) holds, and closes all others.
template <typename Rule>
Dense keep(const Dense& m, Rule&& rule) {
  return make(m.b, m.h, m.q, m.k, [&](Index b, Index h, Index q, Index k) {
    return m.get(b, h, q, k) && rule(b, h, q, k);
  });
}

inline Dense run_rule(const Dense& m, const step::Causal& s) {
  const Index shift = diagonal(m, s.align);
  const std::vector<Index> offsets = per_batch(m, 0, s.offsets);
  return keep(m, [&](Index b, Index, Index q, Index k) {
    return k <= q + shift + offsets[static_cast<std::size_t>(b)];
  });
}

inline Dense run_rule(const Dense& m, const step::Window& s) {
  const Index shift = diagonal(m, s.align);
  const std::vector<Index> offsets = per_batch(m, s.offset, s.offsets),
                           lefts = per_batch(m, s.left.value_or(0), s.lefts),
                           rights = per_batch(m, s.right.value_or(0), s.rights);
  for (const Index left : lefts) need(left >= 0, "left");
  for (const Index right : rights) need(right >= 0, "right");
  const bool no_left = !s.left && s.lefts.array.elements() == 0;
  const bool no_right = !s.right && s.rights.array.elements() == 0;
  return keep(m, [&](Index b, Index, Index q, Index k) {
    const auto batch = static_cast<std::size_t>(b);
    const Index distance = k - (q + shift + offsets[batch]);
    return (no_left || distance >= -lefts[batch]) && (no_right || distance <= rights[batch]);
  });
}

inline Dense run_rule(const Dense& m, const step::Chunk& s) {
  const std::vector<Index> sizes = per_batch(m, s.size, s.sizes),
                           offsets = per_batch(m, s.offset, s.offsets),
                           origins = per_batch(m, 0, s.origins);
  for (const Index size : sizes) need(size >= 1, "size");
  const auto floored = [](Index i, Index size) {
    Index chunk = 0;
    while (i < 0) {
      i += size;
      --chunk;
    }
    while (i >= size) {
      i -= size;
      ++chunk;
    }
    return chunk;
  };
  // Without an alignment, queries and keys are both counted from 0, even if their numbers differ.
  const Index shift = s.align == Align::kUnset ? 0 : diagonal(m, s.align);
  return keep(m, [&](Index b, Index, Index q, Index k) {
    const auto batch = static_cast<std::size_t>(b);
    const Index size = sizes[batch], origin = origins[batch];
    return floored(q + shift + offsets[batch] - origin, size) == floored(k - origin, size);
  });
}

inline Dense run_rule(const Dense& m, const step::Document& s) {
  const Tensor& kv = s.shared ? s.q.array : s.kv.array;
  need_per_token(m, s.q.array, m.q);
  need_per_token(m, kv, m.k);
  return keep(m, [&](Index b, Index, Index q, Index k) {
    const Index x = per_token(s.q.array, b, q), y = per_token(kv, b, k);
    return x == y && x != s.pad_id && y != s.pad_id;
  });
}

inline Dense run_rule(const Dense& m, const step::DocumentLengths& s) {
  need(m.q == m.k, "square");
  std::vector<Index> document(static_cast<std::size_t>(m.k), -1);
  Index start = 0, number_of_document = 0;
  for (Index length : s.lengths) {
    need(length >= 0 && length <= m.k - start, "length");
    for (Index i = 0; i < length; ++i)
      document[static_cast<std::size_t>(start + i)] = number_of_document;
    start += length;
    ++number_of_document;
  }
  return keep(m, [&](Index, Index, Index q, Index k) {
    const Index x = document[static_cast<std::size_t>(q)],
                y = document[static_cast<std::size_t>(k)];
    return x == y && x != -1;
  });
}

inline Dense run_rule(const Dense& m, const step::Pad& s) {
  need(!s.both || m.q == m.k, "square");
  if (s.is_lengths) {
    need_per_batch(m, s.valid.array);
    for (Index i = 0; i < s.valid.array.elements(); ++i) {
      need(number(s.valid.array, i) >= 0 && number(s.valid.array, i) <= m.k, "length");
    }
  } else {
    need_per_token(m, s.valid.array, m.k);
  }
  const auto valid = [&](Index b, Index i) {
    if (!s.is_lengths) return per_token(s.valid.array, b, i) != 0;
    const Index length = per_batch(s.valid.array, b);
    return s.left ? i >= m.k - length : i < length;
  };
  return keep(
      m, [&](Index b, Index, Index q, Index k) { return valid(b, k) && (!s.both || valid(b, q)); });
}

inline Dense run_rule(const Dense& m, const step::Dilated& s) {
  const std::vector<Index> strides = per_batch(m, s.stride, s.strides);
  for (const Index stride : strides) need(stride >= 1, "stride");
  return keep(m, [&](Index b, Index, Index q, Index k) {
    return (k - q) % strides[static_cast<std::size_t>(b)] == 0;
  });
}

inline Dense run_rule(const Dense& m, const step::Block& s) {
  const Tensor& map = s.map.array;
  const Index rank = map.rank();
  need(rank >= 2 && rank <= 4 && s.q_size >= 1 && s.k_size >= 1, "map");
  const Index rows = map.extent(rank - 2), columns = map.extent(rank - 1);
  need(rows * s.q_size >= m.q && (rows - 1) * s.q_size < m.q, "rows of blocks");
  need(columns * s.k_size >= m.k && (columns - 1) * s.k_size < m.k, "columns of blocks");
  const Index batch = rank >= 3 ? map.extent(0) : 1, heads = rank == 4 ? map.extent(1) : 1;
  need(batch == 1 || m.b == 1 || batch == m.b, "batch of map");
  need(heads == 1 || m.h == 1 || heads == m.h, "heads of map");
  Dense grid(batch, heads, rows, columns);
  for (Index i = 0; i < map.elements(); ++i)
    grid.cells[static_cast<std::size_t>(i)] = number(map, i) != 0;
  return make(std::max(m.b, batch), std::max(m.h, heads), m.q, m.k,
              [&](Index b, Index h, Index q, Index k) {
                return m.get(b, h, q, k) && grid.get(b, h, q / s.q_size, k / s.k_size);
              });
}

inline Dense run_rule(const Dense& m, const step::Random& s) {
  need(s.sparsity >= 0 && s.sparsity <= 1, "sparsity");
  const ThreefryKey key = prng_key(s.seed);
  const float p = static_cast<float>(1 - s.sparsity);
  return keep(m, [&](Index b, Index h, Index q, Index k) {
    const auto cell = static_cast<std::uint64_t>(((b * m.h + h) * m.q + q) * m.k + k);
    const auto block = threefry2x32(
        key, {static_cast<std::uint32_t>(cell >> 32), static_cast<std::uint32_t>(cell)});
    return uniform_from_bits(block[0] ^ block[1]) < p;
  });
}

inline Dense open_first(const Dense& m, Index n, const Tensor& each) {
  const bool listed = each.elements() > 0;
  if (listed) need_per_batch(m, each);
  for (Index b = 0; b < m.b; ++b) need((listed ? per_batch(each, b) : n) >= 0, "n");
  return make(m.b, m.h, m.q, m.k, [&](Index b, Index h, Index q, Index k) {
    return m.get(b, h, q, k) || k < (listed ? per_batch(each, b) : n);
  });
}
inline Dense run_rule(const Dense& m, const step::Prefix& s) {
  return open_first(m, s.n, s.each.array);
}
inline Dense run_rule(const Dense& m, const step::Sinks& s) {
  return open_first(m, s.n, s.each.array);
}

inline Dense run_rule(const Dense& m, const step::Global& s) {
  for (const Range& r : s.tokens) {
    need(r.begin >= 0 && r.begin < r.end && r.end <= std::max(m.q, m.k), "tokens");
  }
  const auto global = [&](Index i) {
    for (const Range& r : s.tokens) {
      if (i >= r.begin && i < r.end) return true;
    }
    return false;
  };
  return make(m.b, m.h, m.q, m.k, [&](Index b, Index h, Index q, Index k) {
    return m.get(b, h, q, k) || global(q) || global(k);
  });
}

inline Dense run_rule(const Dense& m, const step::Region& s) {
  const auto checked = [](const std::vector<Range>& ranges, Index extent) {
    for (const Range& r : ranges) {
      need(r.begin >= 0 && r.begin < r.end && r.end <= extent, "region");
    }
    return [&ranges](Index i) {
      bool named = ranges.empty();
      for (const Range& r : ranges) named |= i >= r.begin && i < r.end;
      return named;
    };
  };
  const auto in_q = checked(s.q, m.q), in_k = checked(s.k, m.k);
  return make(m.b, m.h, m.q, m.k, [&](Index b, Index h, Index q, Index k) {
    return in_q(q) && in_k(k) ? s.open : m.get(b, h, q, k);
  });
}

inline Dense run_rule(const Dense& m, const step::Combine& s) {
  const Dense other = dense_of(s.mask);
  need(m.q == other.q && m.k == other.k, "extents");
  need(m.b == other.b || m.b == 1 || other.b == 1, "batches");
  need(m.h == other.h || m.h == 1 || other.h == 1, "heads");
  return zip(s.op, m, other);
}

inline Dense run_rule(const Dense& m, const step::Tokens& s) {
  using Join = step::Tokens::Join;
  using Zero = step::Tokens::Zero;
  const Tensor& kv = s.shared ? s.q.array : s.kv.array;
  need_per_token(m, s.q.array, m.q);
  need_per_token(m, kv, m.k);
  return make(m.b, m.h, m.q, m.k, [&](Index b, Index h, Index q, Index k) {
    const Index x = per_token(s.q.array, b, q), y = per_token(kv, b, k);
    bool equal = x == y;
    if (x == 0 && (s.zero == Zero::kQ || s.zero == Zero::kBoth)) equal = false;
    if (y == 0 && (s.zero == Zero::kKv || s.zero == Zero::kBoth)) equal = false;
    if (s.join == Join::kUnion) return m.get(b, h, q, k) || equal;
    if (s.join == Join::kIntersect) return m.get(b, h, q, k) && equal;
    return equal;
  });
}

inline Dense run_rule(const Dense& m, const step::Positions& s) {
  need(!s.left || *s.left >= 0, "left");
  need(!s.right || *s.right >= 0, "right");
  need_per_token(m, s.q.array, m.q);
  need_per_token(m, s.kv.array, m.k);
  return keep(m, [&](Index b, Index, Index q, Index k) {
    const Index distance = per_token(s.kv.array, b, k) - per_token(s.q.array, b, q);
    return (!s.left || distance >= -*s.left) && (!s.right || distance <= *s.right);
  });
}

inline Dense run_rule(const Dense& m, const step::BlockCausal& s) {
  const std::vector<Index> sizes = per_batch(m, s.size, s.sizes);
  const std::vector<Index> offsets = per_batch(m, s.offset, s.offsets);
  for (const Index size : sizes) need(size >= 1, "size");
  const Index shift = s.align == Align::kBottomRight ? m.k - m.q : 0;
  return keep(m, [&](Index b, Index, Index q, Index k) {
    const Index size = sizes[static_cast<std::size_t>(b)];
    const Index at = q + shift + offsets[static_cast<std::size_t>(b)];
    // The last key of the query's block, by steps of a block up or down.
    Index end = size;
    while (end <= at) end += size;
    while (end - size > at) end -= size;
    return k < end;
  });
}

inline Dense run_rule(const Dense& m, const step::QueryLengths& s) {
  need_per_batch(m, s.lengths.array);
  for (Index i = 0; i < s.lengths.array.elements(); ++i) {
    need(number(s.lengths.array, i) >= 0 && number(s.lengths.array, i) <= m.q, "length");
  }
  return keep(m, [&](Index b, Index, Index q, Index) { return q < per_batch(s.lengths.array, b); });
}

inline Dense run_rule(const Dense& m, const step::Not&) { return complement(m); }

inline Dense run_rule(const Dense& m, const step::Slice& s) {
  const auto part = [](const std::optional<Range>& asked, Index extent) {
    const Range r = asked.value_or(Range{0, extent});
    need(r.begin >= 0 && r.begin <= r.end && r.end <= extent, "range");
    return r;
  };
  return sliced(m, part(s.b, m.b), part(s.h, m.h), part(s.q, m.q), part(s.k, m.k));
}

inline Dense run_rule(const Dense& m, const step::KvLengths& s) {
  need_per_batch(m, s.lengths.array);
  const Tensor& end = s.end.array.elements() == 0 ? s.lengths.array : s.end.array;
  need_per_batch(m, end);
  for (Index i = 0; i < s.lengths.array.elements(); ++i) {
    need(number(s.lengths.array, i) >= 0 && number(s.lengths.array, i) <= m.k, "length");
  }
  need(!s.q_len || (*s.q_len >= 0 && *s.q_len <= m.q), "q_len");
  need(!s.window || *s.window >= 0, "window");
  const Index queries = s.q_len.value_or(m.q), keys = std::min(s.window.value_or(m.k), m.k);
  // Returns the start of the `size` tokens before `stop`, moved if necessary to lie inside [0,
  // extent).
  const auto start = [](Index stop, Index size, Index extent) {
    Index at = stop - size;
    if (at > extent - size) at = extent - size;
    return at < 0 ? 0 : at;
  };
  return make(m.b, m.h, queries, keys, [&](Index b, Index h, Index q, Index k) {
    const Index length = per_batch(s.lengths.array, b);
    const Index query = q + (s.q_len ? start(per_batch(end, b), queries, m.q) : 0);
    const Index key = k + (s.window ? start(length, keys, m.k) : 0);
    return key < length && m.get(b, h, query, key);
  });
}

Dense run_chain(Dense m, const Chain& chain);

inline Dense run_rule(const Dense& m, const step::Scoped& s) {
  const bool heads = s.axis == step::Scoped::Axis::kHeads;
  std::vector<Index> members;
  std::set<Index> named;
  for (const Range& r : s.members) {
    need(r.begin >= 0 && r.begin < r.end && r.end <= (heads ? m.h : m.b), "members");
    for (Index i = r.begin; i < r.end; ++i) {
      if (named.insert(i).second) members.push_back(i);
    }
  }
  const Index size = static_cast<Index>(members.size());
  const auto member = [&](Index i) { return members[static_cast<std::size_t>(i)]; };
  const Dense part = make(
      heads ? m.b : size, heads ? size : m.h, m.q, m.k, [&](Index b, Index h, Index q, Index k) {
        return m.cells[m.offset(heads ? b : member(b), heads ? member(h) : h, q, k)] != 0;
      });
  const Dense changed = run_chain(part, s.chain);
  need(changed.b == part.b && changed.h == part.h && changed.q == part.q && changed.k == part.k,
       "shape");
  Dense out = m;
  for (Index b = 0; b < changed.b; ++b) {
    for (Index h = 0; h < changed.h; ++h) {
      for (Index q = 0; q < m.q; ++q) {
        for (Index k = 0; k < m.k; ++k) {
          out.set(heads ? b : member(b), heads ? member(h) : h, q, k,
                  changed.cells[changed.offset(b, h, q, k)] != 0);
        }
      }
    }
  }
  return out;
}

inline Dense run_step(const Dense& m, const Step& step);

/// Returns the token range of each document, from the lengths of the documents.
inline std::vector<Range> ranges(const std::vector<Index>& lengths, Index extent) {
  std::vector<Range> out;
  Index at = 0;
  for (const Index length : lengths) {
    need(length >= 0 && at + length <= extent, "lengths");
    out.push_back({at, at + length});
    at += length;
  }
  return out;
}

/// Returns each id of batch b except `pad`, with its token range, in order of position.
inline std::vector<std::pair<Index, Range>> ranges(const Tensor& ids, Index b, Index pad) {
  std::vector<std::pair<Index, Range>> out;
  for (Index i = 0; i < ids.extent(ids.rank() - 1); ++i) {
    const Index id = per_token(ids, b, i);
    if (id == pad) continue;
    if (!out.empty() && out.back().first == id && out.back().second.end == i) {
      ++out.back().second.end;
      continue;
    }
    for (const auto& [other, range] : out) need(other != id, "an id comes back");
    out.push_back({id, {i, i + 1}});
  }
  return out;
}

/// Replaces a list, which has a number for each of `count` documents, by the number of one.
inline void take_number(NamedArray& each, Index document, Index count) {
  if (each.array.elements() <= 1) return;
  need(each.array.elements() == count, "a number per document");
  each = ints({number(each.array, document)});
}

/// The chain inside one of `count` documents, which take the place of batch entries.
inline Chain of_document(const Chain& chain, Index document, Index count) {
  Chain out;
  for (Step step : chain) {
    const auto take = [&](std::initializer_list<NamedArray*> lists) {
      for (NamedArray* each : lists) take_number(*each, document, count);
    };
    if (auto* s = step.get_if<step::Causal>()) take({&s->offsets});
    if (auto* s = step.get_if<step::Window>()) take({&s->lefts, &s->rights, &s->offsets});
    if (auto* s = step.get_if<step::Chunk>()) take({&s->sizes, &s->offsets, &s->origins});
    if (auto* s = step.get_if<step::Prefix>()) take({&s->each});
    if (auto* s = step.get_if<step::Sinks>()) take({&s->each});
    if (auto* s = step.get_if<step::Dilated>()) take({&s->strides});
    if (auto* s = step.get_if<step::BlockCausal>()) take({&s->sizes, &s->offsets});
    if (auto* s = step.get_if<step::Pad>(); s && s->is_lengths) take({&s->valid});
    if (auto* s = step.get_if<step::KvLengths>()) take({&s->lengths, &s->end});
    if (auto* s = step.get_if<step::QueryLengths>()) take({&s->lengths});
    auto* scope = step.get_if<step::Scoped>();
    if (!scope || scope->axis == step::Scoped::Axis::kHeads) {
      if (scope) scope->chain = of_document(scope->chain, document, count);
      out.push_back(step);
      continue;
    }
    Index members = 0, own = -1;
    for (const Range& range : scope->members) {
      need(range.begin >= 0 && range.begin < range.end && range.end <= count, "documents");
      if (range.contains(document)) own = members + document - range.begin;
      members += range.size();
    }
    if (own < 0) continue;
    for (const Step& inner : of_document(scope->chain, own, members)) out.push_back(inner);
  }
  return out;
}

inline Dense run_rule(const Dense& m, const step::Within& s) {
  const bool by_ids = s.q.array.elements() > 0;
  const Tensor& kv = s.shared ? s.q.array : s.kv.array;
  if (by_ids) need_per_token(m, s.q.array, m.q);
  if (by_ids) need_per_token(m, kv, m.k);
  // If the documents are the same in all batches the chain is applied to all batches at once,
  // otherwise to each batch alone.
  const bool alone = by_ids && ((s.q.array.rank() == 2 && s.q.array.extent(0) > 1) ||
                                (kv.rank() == 2 && kv.extent(0) > 1));
  Dense out = make(m.b, m.h, m.q, m.k, [](Index, Index, Index, Index) { return false; });
  for (Index b = 0; b < (alone ? m.b : std::min<Index>(m.b, 1)); ++b) {
    std::vector<std::pair<Range, Range>> pairs;
    if (by_ids) {
      const auto keys = ranges(kv, b, s.pad_id);
      for (const auto& [id, q] : ranges(s.q.array, b, s.pad_id)) {
        for (const auto& [other, k] : keys) {
          if (id == other) pairs.push_back({q, k});
        }
      }
    } else {
      const auto q = ranges(s.lengths, m.q);
      const auto k = ranges(s.kv_lengths.empty() ? s.lengths : s.kv_lengths, m.k);
      need(q.size() == k.size(), "documents");
      for (std::size_t i = 0; i < q.size(); ++i) pairs.push_back({q[i], k[i]});
    }
    if (!alone) of_document(s.chain, 0, static_cast<Index>(pairs.size()));  // may refuse
    for (std::size_t n = 0; n < pairs.size(); ++n) {
      const auto& [q, k] = pairs[n];
      const Chain chain =
          alone ? s.chain
                : of_document(s.chain, static_cast<Index>(n), static_cast<Index>(pairs.size()));
      if (q.empty() || k.empty()) continue;
      const Range batches = alone ? Range{b, b + 1} : Range{0, m.b};
      const Dense part = sliced(m, batches, {0, m.h}, q, k);
      const Dense changed = run_chain(part, chain);
      need(changed.b == part.b && changed.h == part.h && changed.q == part.q && changed.k == part.k,
           "shape");
      for (Index c = batches.begin; c < batches.end; ++c) {
        for (Index h = 0; h < m.h; ++h) {
          for (Index i = 0; i < q.size(); ++i) {
            for (Index j = 0; j < k.size(); ++j) {
              out.set(c, h, q.begin + i, k.begin + j, changed.get(c - batches.begin, h, i, j));
            }
          }
        }
      }
    }
  }
  return out;
}

/// The tokens that the rows or the columns of batch entry b are, of `all`.
template <typename Rule>
std::vector<Index> tokens_of(const Rule& s, const NamedArray& array,
                             const std::vector<Range>& ranges, Index b, Index all) {
  std::vector<Index> out;
  const Index length = array.empty() ? 0 : array.array.extent(array.array.rank() - 1);
  for (Index i = 0; i < length; ++i) out.push_back(per_token(array.array, b, i));
  for (const Range& range : ranges) {
    for (Index i = range.begin; i < range.end; i += s.stride) out.push_back(i);
  }
  for (Index i = 0; array.empty() && ranges.empty() && i < all; ++i) out.push_back(i);
  return out;
}

/// The rows and columns that the indices name.
inline Dense run_rule(const Dense& m, const step::Take& s) {
  const auto q_of = [&](Index b) { return tokens_of(s, s.q, s.queries, b, m.q); };
  const auto k_of = [&](Index b) { return tokens_of(s, s.kv, s.keys, b, m.k); };
  return make(m.b, m.h, std::ssize(q_of(0)), std::ssize(k_of(0)),
              [&](Index b, Index h, Index q, Index k) {
                return m.get(b, h, q_of(b).at(as_size(q)), k_of(b).at(as_size(k)));
              });
}

/// What the chain makes of open and of closed cells at the positions of the tokens.
inline Dense run_rule(const Dense& m, const step::At& s) {
  std::vector<std::vector<Index>> q_of, k_of;
  Index n = s.n;
  for (Index b = 0; b < m.b; ++b) {
    q_of.push_back(tokens_of(s, s.q, s.queries, b, m.q));
    k_of.push_back(tokens_of(s, s.kv, s.keys, b, m.k));
    if (std::ssize(q_of.back()) != m.q || std::ssize(k_of.back()) != m.k) throw Refused("at");
    for (const Index i : q_of.back()) n = std::max(n, i + 1);
    for (const Index i : k_of.back()) n = std::max(n, i + 1);
  }
  const auto of = [&](bool open) {
    return run_chain(make(m.b, m.h, n, n, [open](Index, Index, Index, Index) { return open; }),
                     s.chain);
  };
  const Dense opened = of(true), closed = of(false);
  return make(m.b, m.h, m.q, m.k, [&](Index b, Index h, Index q, Index k) {
    const Dense& part = m.get(b, h, q, k) ? opened : closed;
    return part.get(b, h, q_of[as_size(b)][as_size(q)], k_of[as_size(b)][as_size(k)]);
  });
}

/// What the chain makes of open and of closed cells at the places of the tokens, found by walking
/// through the grid in its order.
inline Dense run_rule(const Dense& m, const step::Grid& s) {
  const std::size_t dimensions = s.shape.size();
  Index tokens = 1;
  for (const Index extent : s.shape) tokens *= extent;
  if (m.q != m.k || tokens < 1 || s.origin + tokens > m.k) throw Refused("grid");
  const std::vector<Index> tile = s.tile.empty() ? std::vector<Index>(dimensions, 1) : s.tile;
  // The coordinates of each token: sorted by tile and then inside of it, or by Morton's code.
  std::vector<std::pair<std::vector<Index>, std::vector<Index>>> order;
  for (Index cell = 0; cell < tokens; ++cell) {
    std::vector<Index> at(dimensions), key;
    for (Index i = std::ssize(s.shape) - 1, rest = cell; i >= 0; --i) {
      at[as_size(i)] = rest % s.shape[as_size(i)];
      rest /= s.shape[as_size(i)];
    }
    if (s.order == step::Grid::Order::kMorton) {
      for (int bit = 30; bit >= 0; --bit) {
        for (std::size_t i = 0; i < dimensions; ++i) key.push_back(at[i] >> bit & 1);
      }
    } else {
      for (std::size_t i = 0; i < dimensions; ++i) key.push_back(at[i] / tile[i]);
      for (std::size_t i = 0; i < dimensions; ++i) key.push_back(at[i] % tile[i]);
    }
    order.emplace_back(key, at);
  }
  std::ranges::sort(order);
  const auto place = [&](Index token) {
    const std::vector<Index>& at = order[as_size(token - s.origin)].second;
    if (s.axis) return at[as_size(*s.axis)];
    Index out = 0;
    for (std::size_t i = 0; i < dimensions; ++i) out = out * s.shape[i] + at[i];
    return out;
  };
  const Index n = s.axis ? s.shape[as_size(*s.axis)] : tokens;
  const auto of = [&](bool open) {
    return run_chain(make(m.b, m.h, n, n, [open](Index, Index, Index, Index) { return open; }),
                     s.chain);
  };
  const Dense opened = of(true), closed = of(false);
  const auto in = [&](Index token) { return token >= s.origin && token < s.origin + tokens; };
  return make(m.b, m.h, m.q, m.k, [&](Index b, Index h, Index q, Index k) {
    const Dense& part = m.get(b, h, q, k) ? opened : closed;
    return in(q) && in(k) && part.get(b, h, place(q), place(k));
  });
}

/// A rule that keeps cells and has no loop of its own here: what it says of each pair, which is
/// held against its published formula elsewhere.
inline Dense by_reasons(const Dense& m, const Step& step) {
  if (step.row().meets(step) != Meets::kKeeps) throw std::logic_error("a rule without a twin");
  try {
    step.row().cells(step, {m.b, m.h, m.q, m.k});
  } catch (const Error& error) {
    throw Refused(error.what());
  }
  return keep(m, [&](Index b, Index h, Index q, Index k) {
    return step.row().reason(step, {m.b, m.h, m.q, m.k}, {b, h, q, k}).holds;
  });
}

inline Dense run_step(const Dense& m, const Step& step) {
  std::optional<Dense> out;
  visit_rule<step::Causal, step::Window, step::Chunk, step::Document, step::DocumentLengths,
             step::Pad, step::Dilated, step::Block, step::Random, step::Prefix, step::Sinks,
             step::Global, step::Region, step::Combine, step::Tokens, step::Not, step::Slice,
             step::Take, step::At, step::Grid, step::KvLengths, step::Scoped, step::Within,
             step::Positions, step::BlockCausal, step::QueryLengths>(
      step, [&](const auto& rule) { out = run_rule(m, rule); });
  return out ? *out : by_reasons(m, step);
}

inline Dense run_chain(Dense m, const Chain& chain) {
  for (const Step& step : chain) m = run_step(m, step);
  return m;
}

}  // namespace maskctl::twin
