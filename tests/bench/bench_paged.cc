// Decoding over pages on all threads, beside a loop that only reads as many bytes: the fraction of
// the memory's bandwidth. Prints for each cache: GB/s of both sides and the median of the ratios.
#include <cstdint>
#include <numeric>
#include <random>

#include "bench.h"
#include "maskctl/attention/paged/page_attention.h"
#include "maskctl/attention/paged/ragged_page_attention.h"
#include "maskctl/base/threads.h"

namespace {

using namespace maskctl;
using namespace maskctl::attention;

constexpr Index kPageSize = 16, kKvHeads = 8, kDim = 128;

/// Decoding of `sequences` sequences of `tokens` tokens each, pages in random order.
struct Problem {
  const char* name;
  DType dtype;
  Index sequences, tokens, group;
  enum { kHeadsFirst, kTokensFirst, kInterleaved } layout;
};

/// Any finite numbers, fast to make.
Tensor noise(DType dtype, std::vector<Index> shape) {
  Tensor t(dtype, std::move(shape));
  std::uint32_t state = 1;
  for (std::byte& byte : t.bytes()) {
    state = state * 1664525 + 1013904223;
    byte = std::byte((state >> 24) & 0x3F);  // small positive numbers
  }
  return t;
}

std::uint64_t sum_of(const std::byte* bytes, Index size) {
  std::uint64_t sums[8] = {};
  const auto* words = reinterpret_cast<const std::uint64_t*>(bytes);
  for (Index i = 0; i < size / 64; ++i) {
    for (int lane = 0; lane < 8; ++lane) sums[lane] += words[i * 8 + lane];
  }
  return std::accumulate(std::begin(sums), std::end(sums), std::uint64_t{0});
}

void read_all(const Tensor& array) {
  constexpr Index kPiece = 1 << 20;
  const Index size = static_cast<Index>(array.bytes().size());
  parallel_for(ceil_div(size, kPiece), [&](Index i) {
    const Index begin = i * kPiece;
    bench::keep(sum_of(array.bytes().data() + begin, std::min(kPiece, size - begin)));
  });
}

void run(const Problem& p, int runs) {
  const Index per_sequence = p.tokens / kPageSize, pages = p.sequences * per_sequence;
  const bool interleaved = p.layout == Problem::kInterleaved;
  const std::vector<Index> shape =
      interleaved                        ? std::vector<Index>{pages, kPageSize, 2 * kKvHeads, kDim}
      : p.layout == Problem::kHeadsFirst ? std::vector<Index>{pages, kKvHeads, kPageSize, kDim}
                                         : std::vector<Index>{pages, kPageSize, kKvHeads, kDim};
  const Tensor keys = noise(p.dtype, shape);
  const Tensor values = interleaved ? Tensor() : noise(p.dtype, shape);
  const Tensor query = noise(p.dtype, {p.sequences, kKvHeads * p.group, kDim});
  Tensor lens(DType::kInt32, {p.sequences}), tables(DType::kInt32, {p.sequences, per_sequence});
  Tensor starts(DType::kInt32, {p.sequences + 1});
  std::iota(starts.as<std::int32_t>().begin(), starts.as<std::int32_t>().end(), 0);
  for (std::int32_t& n : lens.as<std::int32_t>()) n = static_cast<std::int32_t>(p.tokens);
  std::iota(tables.as<std::int32_t>().begin(), tables.as<std::int32_t>().end(), 0);
  std::shuffle(tables.as<std::int32_t>().begin(), tables.as<std::int32_t>().end(), std::mt19937(1));
  PageAttentionOptions options;
  options.kv_layout =
      p.layout == Problem::kHeadsFirst ? KvLayout::kHeadsFirst : KvLayout::kTokensFirst;
  const auto decode = [&] {
    bench::keep(interleaved ? ragged_page_attention({&query, &keys, &lens, &tables, &starts})
                            : page_attention({&query, &keys, &values, &lens, &tables}, options));
  };
  const auto read = [&] {
    read_all(keys);
    read_all(values);
  };
  decode(), read();
  const bench::Pair pair = bench::interleave(decode, read, runs);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < pair.a.runs.size(); ++i) {
    ratios.push_back(pair.b.runs[i] / pair.a.runs[i]);
  }
  std::sort(ratios.begin(), ratios.end());
  const double bytes = static_cast<double>(keys.bytes().size() + values.bytes().size());
  std::printf("%-32s decode %6.2f GB/s  read %6.2f GB/s  ratio %.2f\n", p.name,
              bytes / pair.a.median() / 1e9, bytes / pair.b.median() / 1e9,
              ratios[ratios.size() / 2]);
}

}  // namespace

int main(int argc, char** argv) {
  const int runs = argc > 1 ? std::atoi(argv[1]) : 15;
  const Problem problems[] = {
      {"f32 heads first, group 4", DType::kFloat32, 4, 8192, 4, Problem::kHeadsFirst},
      {"f32 tokens first, group 4", DType::kFloat32, 4, 8192, 4, Problem::kTokensFirst},
      {"f32 K and V in turn, group 4", DType::kFloat32, 4, 8192, 4, Problem::kInterleaved},
      {"f32 heads first, group 1", DType::kFloat32, 4, 8192, 1, Problem::kHeadsFirst},
      {"f32 heads first, group 8", DType::kFloat32, 4, 8192, 8, Problem::kHeadsFirst},
      {"f32 one sequence of 32k, group 4", DType::kFloat32, 1, 32768, 4, Problem::kHeadsFirst},
      {"bf16 heads first, group 4", DType::kBFloat16, 8, 8192, 4, Problem::kHeadsFirst},
      {"f16 tokens first, group 4", DType::kFloat16, 8, 8192, 4, Problem::kTokensFirst},
  };
  for (const Problem& problem : problems) run(problem, runs);
}
