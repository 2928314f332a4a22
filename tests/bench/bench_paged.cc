// Times decoding over a paged cache on all threads, beside a loop that only reads as many bytes.
// Prints for each cache: GB/s of both sides, and the median of the ratios, which is the fraction of
// the memory's bandwidth that decoding reaches. usage: bench_paged [runs]
#include <immintrin.h>

#include <cstdint>
#include <numeric>
#include <random>

#include "bench.h"
#include "maskctl/attention/operations/paged/page_attention.h"
#include "maskctl/attention/operations/paged/ragged_page_attention.h"
#include "maskctl/base/threads.h"

namespace {

using namespace maskctl;
using namespace maskctl::attention;

constexpr Index kPageSize = 16, kKvHeads = 8, kDim = 128;

/// Decoding of `sequences` sequences of `tokens` tokens each, `group` query heads per key head,
/// with the pages in random order.
struct Problem {
  const char* name;
  DType dtype;
  Index sequences, tokens, group;
  enum { kHeadsFirst, kTokensFirst, kInterleaved } layout;
};

/// A tensor of arbitrary finite numbers, fast to make.
Tensor noise(DType dtype, std::vector<Index> shape) {
  Tensor t(dtype, std::move(shape));
  std::uint32_t state = 1;
  for (std::byte& byte : t.bytes()) {
    state = state * 1664525 + 1013904223;
    byte = std::byte((state >> 24) & 0x3F);  // no sign, no high exponent: small positive numbers
  }
  return t;
}

/// Reads bytes as fast as the memory allows: adds each vector to one of four sums.
#define READ_VECTORS(type, load, add)                                           \
  const auto* const from = reinterpret_cast<const type*>(bytes);                \
  type s0{}, s1{}, s2{}, s3{};                                                  \
  for (Index i = 0; i + 4 <= size / static_cast<Index>(sizeof(type)); i += 4) { \
    s0 = add(s0, load(from + i)), s1 = add(s1, load(from + i + 1));             \
    s2 = add(s2, load(from + i + 2)), s3 = add(s3, load(from + i + 3));         \
  }                                                                             \
  bench::keep(add(add(s0, s1), add(s2, s3)))

__attribute__((target("avx512f"))) void read_512(const std::byte* bytes, Index size) {
  READ_VECTORS(__m512i, _mm512_load_si512, _mm512_add_epi64);
}
__attribute__((target("avx2"))) void read_256(const std::byte* bytes, Index size) {
  READ_VECTORS(__m256i, _mm256_load_si256, _mm256_add_epi64);
}
#undef READ_VECTORS

/// Reads every byte of the array once, on all threads.
void read_all(const Tensor& array) {
  constexpr Index kPiece = 1 << 20;
  const bool wide = __builtin_cpu_supports("avx512f");
  const Index size = static_cast<Index>(array.bytes().size());
  parallel_for(ceil_div(size, kPiece), [&](Index i) {
    const Index begin = i * kPiece, part = std::min(kPiece, size - begin);
    (wide ? read_512 : read_256)(array.bytes().data() + begin, part);
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
  const double bytes = static_cast<double>(keys.bytes().size() + values.bytes().size());
  std::printf("%-32s decode %6.2f GB/s  read %6.2f GB/s  ratio %.2f\n", p.name,
              bytes / pair.a.median() / 1e9, bytes / pair.b.median() / 1e9, pair.median_ratio());
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
