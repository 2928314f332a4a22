// Times making segment ids of dense masks beside a plain read and ejkernel's algorithm, and making
// dense masks of segment ids beside memset.
// Each line: name, median of the ratios, median seconds of ours, median seconds of the other side.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "bench.h"
#include "maskctl/ejkernel/mask_info/conversions.h"
#include "maskctl/mask/arrays/dense.h"

namespace {

using namespace maskctl;
using Ids = std::vector<std::int32_t>;

constexpr int kPairs = 15, kDocuments = 52;

/// Document ids of n tokens: one document after another, or a random one for each token.
Ids ids_of(Index n, bool contiguous) {
  std::mt19937 random(5);
  Ids ids(as_size(n));
  for (Index i = 0; i < n; ++i) {
    ids[as_size(i)] = static_cast<std::int32_t>(
        contiguous ? i * kDocuments / n : static_cast<Index>(random() % kDocuments));
  }
  return ids;
}

Tensor tensor_of(const Ids& ids) {
  Tensor out(DType::kInt32, {1, static_cast<Index>(ids.size())});
  std::ranges::copy(ids, out.as<std::int32_t>().begin());
  return out;
}

/// An n x n array that is true where the rule holds.
template <typename Rule>
Tensor cells_where(Index n, Rule rule) {
  Tensor out(DType::kBool, {n, n});
  const auto cells = out.as<std::uint8_t>();
  for (Index q = 0; q < n; ++q) {
    for (Index k = 0; k < n; ++k) cells[as_size(q * n + k)] = rule(q, k);
  }
  return out;
}

Tensor example(const std::string& kind, Index n) {
  if (kind == "documents" || kind == "random ids") {
    const Ids ids = ids_of(n, kind == "documents");
    return cells_where(n, [&](Index q, Index k) { return ids[as_size(q)] == ids[as_size(k)]; });
  }
  if (kind == "causal") return cells_where(n, [](Index q, Index k) { return k <= q; });
  std::mt19937_64 random(7);
  std::uint64_t bits = 0;
  return cells_where(n, [&](Index, Index k) {
    if (k % 64 == 0) bits = random();
    return (bits >> (k % 64) & 1) != 0;
  });
}

QkvArrays ids_of_cells(const Tensor& cells) { return mask_to_segment_ids(MaskArray(cells)); }

Ids values(const Array& array) {
  const auto all = array->as<std::int32_t>();
  return {all.begin(), all.end()};
}

/// True if equal ids mean equal rows, and ids are numbered in the order in which they first appear.
/// `first` has the first row of each id.
bool ids_are_right(const Tensor& cells, const Ids& ids) {
  const Index n = cells.extent(0);
  const auto row = [&](Index q) { return cells.bytes().subspan(as_size(q * n), as_size(n)); };
  std::vector<Index> first;
  for (Index q = 0; q < n; ++q) {
    const std::int32_t id = ids[as_size(q)];
    if (id == static_cast<std::int32_t>(first.size())) first.push_back(q);
    if (id < 0 || id >= static_cast<std::int32_t>(first.size())) return false;
    if (std::memcmp(row(first[as_size(id)]).data(), row(q).data(), as_size(n)) != 0) return false;
  }
  return true;
}

void report(const std::string& name, const bench::Pair& pair) {
  std::printf("%s\t%.6f\t%.9f\t%.9f\n", name.c_str(), pair.median_ratio(), pair.a.median(),
              pair.b.median());
  std::fflush(stdout);
}

/// Reads the bytes of the mask once, eight at a time: nothing can be faster.
void read_once(const Tensor& cells) {
  std::uint64_t sum = 0;
  for (const std::uint64_t word : cells.as<std::uint64_t>()) sum += word;
  bench::keep(sum);
}

void segment_ids_of_cells(const std::string& kind, Index n) {
  const Tensor cells = example(kind, n);
  bench::require(ids_are_right(cells, values(ids_of_cells(cells).q)), "segment ids of rows");
  report("ids " + std::to_string(n) + " " + kind,
         bench::interleave([&] { bench::keep(ids_of_cells(cells)); }, [&] { read_once(cells); },
                           kPairs));
}

/// For each row (or column) the first one that equals it, as ejkernel finds it: rows are packed to
/// bits, every pair is compared byte by byte into an array [n, n, n / 8] of bools, which is then
/// reduced.
Ids first_equal_rows(const Tensor& cells, bool columns) {
  const auto n = as_size(cells.extent(0));
  const auto bytes = cells.as<std::uint8_t>();
  std::vector<std::uint8_t> packed(n * n / 8), equal(n * n * (n / 8));
  for (std::size_t i = 0; i < n * n; ++i) {
    const std::uint8_t open = columns ? bytes[i % n * n + i / n] : bytes[i];
    packed[i / 8] = static_cast<std::uint8_t>(packed[i / 8] | open << (7 - i % 8));
  }
  const std::size_t width = n / 8;
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < n; ++b) {
      std::uint8_t* const to = equal.data() + (a * n + b) * width;
      const std::uint8_t *const x = packed.data() + a * width, *const y = packed.data() + b * width;
      for (std::size_t i = 0; i < width; ++i) to[i] = x[i] == y[i];
    }
  }
  Ids first(n);
  for (std::size_t a = 0; a < n; ++a) {
    std::int32_t least = static_cast<std::int32_t>(n);
    for (std::size_t b = 0; b < n; ++b) {
      const std::uint8_t* const from = equal.data() + (a * n + b) * width;
      std::uint8_t all = 1;
      for (std::size_t i = 0; i < width; ++i) all = static_cast<std::uint8_t>(all & from[i]);
      if (all) least = std::min(least, static_cast<std::int32_t>(b));
    }
    first[a] = least;
  }
  return first;
}

/// Numbers the first equal rows in order of appearance; no row of the examples is closed.
Ids numbered(const Ids& first) {
  Tensor anchors = tensor_of(first);
  anchors.reshape({anchors.elements()});
  const Tensor padding(DType::kBool, anchors.shape());
  const Tensor ids = compress_ids_from_anchors(anchors, padding);
  return {ids.as<std::int32_t>().begin(), ids.as<std::int32_t>().end()};
}

void against_ejkernel(const std::string& kind) {
  const Tensor cells = example(kind, 1024);
  const auto ejkernel = [&] {
    return std::pair(numbered(first_equal_rows(cells, false)),
                     numbered(first_equal_rows(cells, true)));
  };
  const QkvArrays ours = ids_of_cells(cells);
  bench::require(ejkernel() == std::pair(values(ours.q), values(ours.kv)),
                 "segment ids of ejkernel");
  report("ejkernel 1024 " + kind, bench::interleave([&] { bench::keep(ids_of_cells(cells)); },
                                                    [&] { bench::keep(ejkernel()); }, kPairs));
}

void dense_of_ids(bool contiguous) {
  constexpr Index kTokens = 8192;
  const Ids ids = ids_of(kTokens, contiguous);
  const Tensor tensor = tensor_of(ids);
  std::vector<std::uint8_t> buffer(as_size(kTokens * kTokens), 7);
  const auto ours = [&] { dense_plane(*segment_ids_to_mask(tensor).mask().plane(0, 0), buffer); };
  ours();
  bool right = true;
  for (std::size_t i = 0; i < buffer.size(); ++i) {
    right &= buffer[i] == (ids[i / kTokens] == ids[i % kTokens]);
  }
  bench::require(right, "dense mask of segment ids");
  const auto fill = [&] {
    std::memset(buffer.data(), 1, buffer.size());
    bench::keep(buffer);
  };
  const bench::Pair pair = bench::interleave(ours, fill, 2 * kPairs);
  report(std::string("dense 8192 ") + (contiguous ? "documents" : "random ids"), pair);
}

}  // namespace

int main() {
  for (const char* kind : {"documents", "random ids", "causal", "random bits"}) {
    against_ejkernel(kind);
    segment_ids_of_cells(kind, 2048);
    segment_ids_of_cells(kind, 16384);
  }
  dense_of_ids(true);
  dense_of_ids(false);
  return 0;
}
