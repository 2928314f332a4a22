// Rows as runs: the sweep that combines two rows, and conversions between runs and words.
#include <algorithm>
#include <bit>
#include <cstddef>

#include "maskctl/mask/planes/words.h"

namespace maskctl {
namespace {

// The boundaries of runs as one strictly ascending list: begin, end, begin, end, ... A key is
// inside a run when the number of boundaries at or before it is odd.
static_assert(sizeof(Run) == 2 * sizeof(std::int32_t));
const std::int32_t* edges(std::span<const Run> runs) {
  return reinterpret_cast<const std::int32_t*>(runs.data());
}

// Appends up to `most` runs to `out`: fill(pointer) writes boundaries and returns the end of what
// it wrote.
template <typename Fill>
void append_edges(std::vector<Run>& out, std::size_t most, Fill&& fill) {
  const std::size_t before = out.size();
  out.resize(before + most);
  std::int32_t* const start = reinterpret_cast<std::int32_t*>(out.data() + before);
  const std::int32_t* const stop = fill(start);
  out.resize(before + static_cast<std::size_t>(stop - start) / 2);
}

template <Op op>
constexpr unsigned apply_bits(unsigned a, unsigned b) {
  if constexpr (op == Op::kOr) return a | b;
  if constexpr (op == Op::kXor) return a ^ b;
  return a & ~b;
}

// Goes through the boundaries of both lists in ascending order; equal ones are handled together, so
// that touching runs join. Each boundary is written, but the write position moves on only if the
// result changes there: without a branch, none is mispredicted.
template <Op op>
std::int32_t* sweep(std::span<const Run> a, std::span<const Run> b, std::int32_t* out) {
  const std::int32_t *ea = edges(a), *eb = edges(b);
  const std::size_t na = 2 * a.size(), nb = 2 * b.size();
  std::size_t ia = 0, ib = 0;
  unsigned state = 0;
  while (ia < na && ib < nb) {
    const std::int32_t xa = ea[ia], xb = eb[ib], x = std::min(xa, xb);
    ia += xa <= xb;
    ib += xb <= xa;
    const unsigned next = apply_bits<op>(ia & 1, ib & 1) & 1;
    *out = x;
    out += next ^ state;
    state = next;
  }
  // One list is finished: the rest of the other is copied or dropped.
  out = std::copy(ea + ia, ea + na, out);
  if (op == Op::kOr || op == Op::kXor) out = std::copy(eb + ib, eb + nb, out);
  return out;
}

// Intersects in half the steps of a sweep: each overlap is written when the first of its two runs
// ends. Overlaps never touch, because runs of the same list do not.
void intersect_runs(std::span<const Run> a, std::span<const Run> b, std::vector<Run>& out) {
  const std::size_t before = out.size(), na = a.size(), nb = b.size();
  out.resize(before + na + nb);
  Run* const start = out.data() + before;
  std::size_t ia = 0, ib = 0, n = 0;
  while (ia < na && ib < nb) {
    const Run x = a[ia], y = b[ib];
    const Run both{std::max(x.begin, y.begin), std::min(x.end, y.end)};
    start[n] = both;
    n += both.begin < both.end;
    ia += x.end <= y.end;
    ib += y.end <= x.end;
  }
  out.resize(before + n);
}

void append(std::vector<Run>& out, std::span<const Run> runs) {
  out.insert(out.end(), runs.begin(), runs.end());
}

template <Op op>
void merge(std::span<const Run> a, std::span<const Run> b, std::vector<Run>& out) {
  const std::size_t most = a.size() + b.size();
  // Room for one more boundary, because the last write of the sweep may not be kept.
  append_edges(out, most + 1, [&](std::int32_t* start) { return sweep<op>(a, b, start); });
}

}  // namespace

void words_to_runs(std::span<const std::uint64_t> words, std::vector<Run>& runs) {
  append_edges(runs, static_cast<std::size_t>(count_runs(words)), [&](std::int32_t* out) {
    std::uint64_t carry = 0;
    for (std::size_t w = 0; w < words.size(); ++w) {
      const std::uint64_t word = words[w];
      // The bits that differ from the previous bit: boundaries of runs. Words inside long runs and
      // gaps have none.
      std::uint64_t changes = word ^ (word << 1 | carry);
      carry = word >> 63;
      const auto base = static_cast<std::int32_t>(w * 64);
      for (; changes != 0; changes &= changes - 1) *out++ = base + std::countr_zero(changes);
    }
    if (carry != 0) *out++ = static_cast<std::int32_t>(words.size() * 64);
    return out;
  });
}

std::span<const Run> as_runs(const Keys& keys, std::vector<Run>& scratch) {
  if (!keys.is_words()) return keys.runs;
  scratch.clear();
  words_to_runs(keys.words, scratch);
  return scratch;
}

void set_bits(std::span<std::uint64_t> words, Range bits) {
  const Range inside = intersect(bits, {0, static_cast<Index>(words.size()) * 64});
  if (inside.empty()) return;
  const auto first = static_cast<std::size_t>(inside.begin / 64);
  const auto last = static_cast<std::size_t>((inside.end - 1) / 64);
  const std::uint64_t head = ~std::uint64_t{0} << (inside.begin % 64);
  const std::uint64_t tail = ~std::uint64_t{0} >> (63 - (inside.end - 1) % 64);
  if (first == last) {
    words[first] |= head & tail;
    return;
  }
  words[first] |= head;
  for (std::size_t w = first + 1; w < last; ++w) words[w] = ~std::uint64_t{0};
  words[last] |= tail;
}

void runs_to_words(std::span<const Run> runs, std::span<std::uint64_t> words) {
  std::fill(words.begin(), words.end(), 0);
  for (const Run& run : runs) set_bits(words, {run.begin, run.end});
}

void combine_runs(Op op, std::span<const Run> a, std::span<const Run> b, std::vector<Run>& out) {
  if (a.empty() || b.empty()) {
    if (op != Op::kAnd) append(out, a);
    if (op == Op::kOr || op == Op::kXor) append(out, b);
    return;
  }
  switch (op) {
    case Op::kAnd:
      if (b.size() == 1) return clip_runs(a, {b[0].begin, b[0].end}, 0, out);
      if (a.size() == 1) return clip_runs(b, {a[0].begin, a[0].end}, 0, out);
      return intersect_runs(a, b, out);
    case Op::kOr:
      return merge<Op::kOr>(a, b, out);
    case Op::kXor:
      return merge<Op::kXor>(a, b, out);
    case Op::kSub:
      return merge<Op::kSub>(a, b, out);
  }
}

void clip_runs(std::span<const Run> runs, Range keys, Index shift, std::vector<Run>& out) {
  if (keys.empty()) return;
  const auto first = std::partition_point(runs.begin(), runs.end(),
                                          [&](const Run& run) { return run.end <= keys.begin; });
  const auto last =
      std::partition_point(first, runs.end(), [&](const Run& run) { return run.begin < keys.end; });
  if (first == last) return;
  const std::size_t before = out.size();
  out.insert(out.end(), first, last);
  const auto moved = [&](Index key) { return static_cast<std::int32_t>(key - shift); };
  Run& front = out[before];
  front.begin = static_cast<std::int32_t>(std::max<Index>(front.begin, keys.begin));
  out.back().end = static_cast<std::int32_t>(std::min<Index>(out.back().end, keys.end));
  if (shift == 0) return;
  for (std::size_t i = before; i < out.size(); ++i) {
    out[i] = {moved(out[i].begin), moved(out[i].end)};
  }
}

}  // namespace maskctl
