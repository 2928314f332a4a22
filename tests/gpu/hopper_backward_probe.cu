// The backward kernel of Hopper GPUs by itself: gradients of small calls against sums in float64 on
// the host, then its rate. Prints one line for each case. Arguments: "check", "time", or neither
// for both.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "maskctl/attention/cuda/hopper/backward.h"
#include "maskctl/attention/cuda/launch.cuh"

namespace {

using namespace maskctl;
using namespace maskctl::attention;
using namespace maskctl::attention::cuda;

void must(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("FAILED: %s: %s\n", what, cudaGetErrorString(error));
  std::fflush(stdout);
  std::_Exit(1);
}

/// Memory of the GPU that is never given back before the case ends.
struct Pool {
  std::vector<void*> all;
  ~Pool() {
    for (void* p : all) cudaFree(p);
  }
  void* raw(std::size_t bytes) {
    void* p = nullptr;
    must(cudaMalloc(&p, std::max<std::size_t>(bytes, 256)), "cudaMalloc");
    must(cudaMemset(p, 0xFF, std::max<std::size_t>(bytes, 256)), "cudaMemset");
    all.push_back(p);
    return p;
  }
  template <class T>
  T* copy(const std::vector<T>& x) {
    T* const p = static_cast<T*>(raw(x.size() * sizeof(T)));
    must(cudaMemcpy(p, x.data(), x.size() * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
    return p;
  }
};

/// A mask of one plane.
struct TestMask {
  std::string name;
  std::function<bool(Index, Index)> open;
  bool is_causal = false, is_full = false;

  /// How many keys a query sees.
  Index seen(Index i, Index keys) const {
    if (is_full || is_causal) return is_full ? keys : i + 1;
    Index count = 0;
    for (Index j = 0; j < keys; ++j) count += open(i, j) ? 1 : 0;
    return count;
  }
};

/// A table that grows tile by tile.
struct TableOnHost {
  std::vector<Index> begins{0}, partial_offsets{0};
  std::vector<TileRun> runs;
  std::vector<PayloadId> payloads;
  std::vector<Run> intervals;
  std::vector<std::uint64_t> words;
  std::map<std::string, PayloadId> known;

  void add_tile(std::int32_t number, Fill fill, const std::uint64_t (&bits)[64]) {
    const bool goes_on = static_cast<Index>(runs.size()) > begins.back() &&
                         runs.back().fill == fill &&
                         runs.back().first + runs.back().count == number;
    if (goes_on) {
      ++runs.back().count;
    } else {
      runs.push_back({number, 1, fill});
    }
    if (fill == Fill::kPartial) payloads.push_back(payload(bits));
  }
  void end_row() {
    begins.push_back(static_cast<Index>(runs.size()));
    partial_offsets.push_back(static_cast<Index>(payloads.size()));
  }
  TileTableView on_device(Pool& pool) const {
    TileTableView view{};
    view.row_begins = pool.copy(begins), view.row_ends = view.row_begins + 1;
    view.runs = pool.copy(runs);
    view.partial_offsets = pool.copy(partial_offsets);
    view.payloads = pool.copy(payloads);
    view.intervals = pool.copy(intervals), view.words = pool.copy(words);
    view.payload_rows = 64, view.words_per_row = 1;
    return view;
  }

 private:
  PayloadId payload(const std::uint64_t (&bits)[64]) {
    const auto [at, is_new] =
        known.try_emplace(std::string(reinterpret_cast<const char*>(bits), sizeof(bits)), 0);
    if (!is_new) return at->second;
    std::vector<Run> rows;
    bool are_intervals = true;
    for (const std::uint64_t x : bits) {
      rows.push_back(x == 0 ? Run{0, 0} : Run{std::countr_zero(x), 64 - std::countl_zero(x)});
      are_intervals &= std::popcount(x) == rows.back().end - rows.back().begin;
    }
    if (are_intervals) {
      at->second = static_cast<PayloadId>(intervals.size() / 64);
      intervals.insert(intervals.end(), rows.begin(), rows.end());
    } else {
      at->second = ~static_cast<PayloadId>(words.size() / 64);
      words.insert(words.end(), bits, bits + 64);
    }
    return at->second;
  }
};

/// The fill of a tile of queries and keys, and its cells: bits of rows, which are keys where
/// `by_key`.
Fill read_tile(const TestMask& mask, Range queries, Range keys, bool by_key,
               std::uint64_t (&bits)[64]) {
  if (mask.is_full || (mask.is_causal && queries.begin >= keys.end - 1)) return Fill::kFull;
  if (mask.is_causal && queries.end - 1 < keys.begin) return Fill::kEmpty;
  Index count = 0;
  for (Index i = queries.begin; i < queries.end; ++i) {
    for (Index j = keys.begin; j < keys.end; ++j) {
      if (!mask.open(i, j)) continue;
      const Index row = by_key ? j - keys.begin : i - queries.begin;
      const Index column = by_key ? i - queries.begin : j - keys.begin;
      bits[row] |= std::uint64_t{1} << column, ++count;
    }
  }
  return count == 0                              ? Fill::kEmpty
         : count == queries.size() * keys.size() ? Fill::kFull
                                                 : Fill::kPartial;
}

/// The table of a mask; rows are keys where `by_key`.
TileTableView table(Pool& pool, const TestMask& mask, Index queries, Index keys, bool by_key) {
  const Index rows = by_key ? keys : queries, columns = by_key ? queries : keys;
  TableOnHost table;
  for (Index r = 0; r < rows; r += 64) {
    for (Index c = 0; c < columns; c += 64) {
      const Range of_row{r, std::min(rows, r + 64)}, of_column{c, std::min(columns, c + 64)};
      std::uint64_t bits[64] = {};
      const Fill fill =
          read_tile(mask, by_key ? of_column : of_row, by_key ? of_row : of_column, by_key, bits);
      if (fill != Fill::kEmpty) table.add_tile(static_cast<std::int32_t>(c / 64), fill, bits);
    }
    table.end_row();
  }
  return table.on_device(pool);
}

MaskView on_device(Pool& pool, const TestMask& mask, Index queries, Index keys, bool by_key) {
  MaskView view{};
  view.tables = pool.copy(std::vector<TileTableView>{table(pool, mask, queries, keys, by_key)});
  view.table_of = pool.copy(std::vector<std::uint32_t>{0});
  view.batch = view.heads = view.count = 1;
  return view;
}

std::uint16_t rounded(float x, DType dtype) {
  if (dtype == DType::kFloat16) {
    const __half h = __float2half_rn(x);
    return reinterpret_cast<const std::uint16_t&>(h);
  }
  const __nv_bfloat16 h = __float2bfloat16_rn(x);
  return reinterpret_cast<const std::uint16_t&>(h);
}
double value(std::uint16_t x, DType dtype) {
  if (dtype == DType::kFloat16) return __half2float(reinterpret_cast<const __half&>(x));
  return __bfloat162float(reinterpret_cast<const __nv_bfloat16&>(x));
}

HeadsView view(const void* data, DType dtype, Index tokens, Index heads, Index dim) {
  return {data, dtype, tokens * heads * dim, heads * dim, dim};
}

struct Case {
  Dims d;
  TestMask mask;
  DType dtype = DType::kBFloat16;
  bool deterministic = true;
  float soft_cap = 0;
  bool has_bias = false;
};

/// An array as the kernel and as the answer read it.
struct Both {
  std::vector<std::uint16_t> bits;
  std::vector<double> x;
};
Both noise(std::mt19937& random, Index n, DType dtype) {
  std::normal_distribution<float> normal;
  Both b;
  for (Index i = 0; i < n; ++i) {
    b.bits.push_back(rounded(normal(random), dtype));
    b.x.push_back(value(b.bits.back(), dtype));
  }
  return b;
}

struct Compared {
  double most = 0, rms = 0;
  bool is_nan = false;
};
Compared compare(const std::vector<std::uint16_t>& got, const std::vector<double>& want,
                 DType dtype) {
  Compared c;
  double errors = 0, squares = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double x = value(got[i], dtype), e = x - want[i];
    c.is_nan |= std::isnan(x);
    c.most = std::max(c.most, std::abs(e));
    errors += e * e, squares += want[i] * want[i];
  }
  c.rms = std::sqrt(errors / std::max(squares, 1e-30));
  return c;
}

/// What a case reads.
struct Inputs {
  Both query, key, value, d_out;
  std::vector<float> bias;
};
/// What it must give, and what the forward pass gave.
struct Answer {
  std::vector<double> d_query, d_key, d_value;
  std::vector<std::uint16_t> out;
  std::vector<float> lse;
};

/// Keys that nobody sees are NaN.
void poison(const Case& t, Inputs& in) {
  constexpr std::uint16_t kNan = 0x7fff;
  const Dims& d = t.d;
  for (Index j = 0; j < d.keys; ++j) {
    bool seen = false;
    for (Index i = 0; i < d.queries && !seen; ++i) seen = t.mask.open(i, j);
    if (seen) continue;
    for (Index b = 0; b < d.batch; ++b) {
      const Index row = (b * d.keys + j) * d.kv_heads;
      std::fill_n(in.key.bits.begin() + row * d.dim, d.kv_heads * d.dim, kNan);
      std::fill_n(in.value.bits.begin() + row * d.value_dim, d.kv_heads * d.value_dim, kNan);
    }
  }
}

Inputs inputs_of(const Case& t) {
  std::mt19937 random(7);
  const Dims& d = t.d;
  const Index queries = d.batch * d.queries * d.q_heads, keys = d.batch * d.keys * d.kv_heads;
  Inputs in{noise(random, queries * d.dim, t.dtype),
            noise(random, keys * d.dim, t.dtype),
            noise(random, keys * d.value_dim, t.dtype),
            noise(random, queries * d.value_dim, t.dtype),
            {}};
  for (Index n = 0; n < d.queries * d.keys; ++n) {
    in.bias.push_back(static_cast<float>(random() % 100) / 50);
  }
  poison(t, in);
  return in;
}

double dot(const double* a, const double* b, Index n) {
  double sum = 0;
  for (Index i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}
void add(double factor, const double* from, double* to, Index n) {
  for (Index i = 0; i < n; ++i) to[i] += factor * from[i];
}

/// The answer for one query of one head, in float64.
void answer_row(const Case& t, const Inputs& in, Index b, Index h, Index i, Answer& a) {
  const Dims& d = t.d;
  const double scale = 1 / std::sqrt(static_cast<double>(d.dim));
  const Index row = (b * d.queries + i) * d.q_heads + h;
  const auto key = [&](Index j) { return (b * d.keys + j) * d.kv_heads + d.kv_head(h); };
  const double *const query = &in.query.x[row * d.dim], *const d_out =
                                                            &in.d_out.x[row * d.value_dim];
  std::vector<double> weights(d.keys), slopes(d.keys, 1), out(d.value_dim);
  double sum = 0;
  for (Index j = 0; j < d.keys; ++j) {
    if (!t.mask.open(i, j)) continue;
    double s = scale * dot(query, &in.key.x[key(j) * d.dim], d.dim);
    if (t.has_bias) s += in.bias[i * d.keys + j];
    if (t.soft_cap != 0) {
      const double tanh = std::tanh(s / t.soft_cap);
      s = t.soft_cap * tanh, slopes[j] = 1 - tanh * tanh;
    }
    weights[j] = std::exp(s), sum += weights[j];
  }
  a.lse[(b * d.q_heads + h) * d.queries + i] = static_cast<float>(std::log(sum));
  for (Index j = 0; j < d.keys; ++j) {
    if (weights[j] == 0) continue;
    weights[j] /= sum;
    add(weights[j], &in.value.x[key(j) * d.value_dim], out.data(), d.value_dim);
  }
  for (Index c = 0; c < d.value_dim; ++c) {
    a.out[row * d.value_dim + c] = rounded(static_cast<float>(out[c]), t.dtype);
  }
  const double delta = dot(out.data(), d_out, d.value_dim);
  for (Index j = 0; j < d.keys; ++j) {
    if (weights[j] == 0) continue;
    const double d_weight = dot(d_out, &in.value.x[key(j) * d.value_dim], d.value_dim);
    const double d_score = weights[j] * (d_weight - delta) * slopes[j] * scale;
    add(weights[j], d_out, &a.d_value[key(j) * d.value_dim], d.value_dim);
    add(d_score, &in.key.x[key(j) * d.dim], &a.d_query[row * d.dim], d.dim);
    add(d_score, query, &a.d_key[key(j) * d.dim], d.dim);
  }
}

Answer answer_of(const Case& t, const Inputs& in) {
  const Dims& d = t.d;
  Answer a{std::vector<double>(in.query.x.size()), std::vector<double>(in.key.x.size()),
           std::vector<double>(in.value.x.size()), std::vector<std::uint16_t>(in.d_out.x.size()),
           std::vector<float>(d.batch * d.q_heads * d.queries)};
  for (Index b = 0; b < d.batch; ++b) {
    for (Index h = 0; h < d.q_heads; ++h) {
      for (Index i = 0; i < d.queries; ++i) answer_row(t, in, b, h, i, a);
    }
  }
  return a;
}

BackwardParams params_of(Pool& pool, const Case& t, const Inputs& in, const Answer& a) {
  const Dims& d = t.d;
  BackwardParams b;
  b.p.d = d;
  b.p.query = view(pool.copy(in.query.bits), t.dtype, d.queries, d.q_heads, d.dim);
  b.p.key = view(pool.copy(in.key.bits), t.dtype, d.keys, d.kv_heads, d.dim);
  b.p.value = view(pool.copy(in.value.bits), t.dtype, d.keys, d.kv_heads, d.value_dim);
  b.d_out = view(pool.copy(in.d_out.bits), t.dtype, d.queries, d.q_heads, d.value_dim);
  b.out = view(pool.copy(a.out), t.dtype, d.queries, d.q_heads, d.value_dim);
  b.p.by_query = on_device(pool, t.mask, d.queries, d.keys, false);
  b.p.by_key = on_device(pool, t.mask, d.queries, d.keys, true);
  b.p.scale = 1 / std::sqrt(static_cast<float>(d.dim));
  b.p.soft_cap = t.soft_cap;
  if (t.has_bias) {
    b.p.bias = {pool.copy(in.bias), DType::kFloat32};
    b.p.bias_stride[2] = d.keys, b.p.bias_stride[3] = 1;
  }
  b.lse = pool.copy(a.lse);
  return b;
}

using Gradients = std::array<std::vector<std::uint16_t>, 3>;

Gradients run(Pool& pool, const Case& t, const BackwardParams& b, const Answer& a) {
  const std::size_t sizes[3] = {a.d_query.size(), a.d_key.size(), a.d_value.size()};
  void* there[3];
  for (int i = 0; i < 3; ++i) there[i] = pool.raw(sizes[i] * 2);
  Workspace workspace(nullptr);
  const DeviceBuffer order = hopper::key_order(b.p.by_key, t.d, nullptr);
  hopper::backward(workspace, b, order, t.deterministic,
                   static_cast<float*>(pool.raw(a.lse.size() * 4)), nullptr, there[0], there[1],
                   there[2]);
  must(cudaDeviceSynchronize(), "the kernel");
  Gradients out;
  for (int i = 0; i < 3; ++i) {
    out[i].resize(sizes[i]);
    must(cudaMemcpy(out[i].data(), there[i], sizes[i] * 2, cudaMemcpyDeviceToHost), "cudaMemcpy");
  }
  return out;
}

std::string text_of(const Case& t) {
  const Dims& d = t.d;
  std::string text = t.mask.name;
  const std::pair<const char*, Index> extents[] = {
      {" B", d.batch},      {" Tq", d.queries}, {" Tk", d.keys},     {" Hq", d.q_heads},
      {" Hkv", d.kv_heads}, {" D", d.dim},      {" Dv", d.value_dim}};
  for (const auto& [what, extent] : extents) text += what + std::to_string(extent);
  text += ' ', text += name(t.dtype);
  if (!t.deterministic) text += ", any order";
  if (t.soft_cap != 0) text += ", cap";
  if (t.has_bias) text += ", bias";
  return text;
}

bool check_case(const Case& t) {
  alarm(60);
  Pool pool;
  const Inputs in = inputs_of(t);
  const Answer a = answer_of(t, in);
  const BackwardParams b = params_of(pool, t, in, a);
  if (const std::string why = hopper::unsupported_backward(b); !why.empty()) {
    std::printf("FAILED %s: not supported: %s\n", text_of(t).c_str(), why.c_str());
    return false;
  }
  const Gradients first = run(pool, t, b, a), second = run(pool, t, b, a);
  const std::vector<double>* const wanted[3] = {&a.d_query, &a.d_key, &a.d_value};
  const bool same = first == second;
  bool good = same || !t.deterministic;
  Compared c[3];
  for (int i = 0; i < 3; ++i) {
    c[i] = compare(first[i], *wanted[i], t.dtype);
    good &= !c[i].is_nan && c[i].rms < (t.dtype == DType::kFloat16 ? 0.002 : 0.01);
  }
  std::printf("%s %s: rms %.2e %.2e %.2e, most %.1e %.1e %.1e%s\n", good ? "ok    " : "FAILED",
              text_of(t).c_str(), c[0].rms, c[1].rms, c[2].rms, c[0].most, c[1].most, c[2].most,
              same ? "" : ", bits differ between equal calls");
  return good;
}

const TestMask kFull{"full", [](Index, Index) { return true; }, false, true};
const TestMask kCausal{"causal", [](Index i, Index j) { return j <= i; }, true, false};
TestMask window(Index n) {
  return {"window", [n](Index i, Index j) { return j <= i && j > i - n; }};
}
const TestMask kSinks{"64 sinks and window",
                      [](Index i, Index j) { return j <= i && (j > i - 1024 || j < 64); }};
/// Whole tiles of 64 x 64, cells, and keys that nobody sees, at random.
const TestMask kRandom{"random", [](Index i, Index j) {
                         const auto hash = [](std::uint64_t x) {
                           x *= 0x9E3779B97F4A7C15, x ^= x >> 29, x *= 0xBF58476D1CE4E5B9;
                           return x ^ x >> 32;
                         };
                         if (j % 13 == 5 || i % 17 == 3) return false;
                         const std::uint64_t tile = hash(i / 64 * 1000 + j / 64 + 77);
                         if (tile % 3 == 0) return false;
                         return tile % 3 == 1 || hash(i * 100003 + j) % 2 == 0;
                       }};
/// Whole tiles alone.
const TestMask kBlocks{
    "blocks", [](Index i, Index j) { return (i / 64 * 7 + j / 64 * 3 + i / 128) % 4 == 0; }};

void check() {
  std::vector<Case> cases;
  cases.push_back({{1, 128, 128, 1, 1, 128, 128}, kFull});
  cases.push_back({{1, 128, 128, 1, 1, 128, 128}, kFull, DType::kBFloat16, false});
  cases.push_back({{1, 128, 128, 1, 1, 64, 64}, kFull});
  for (const Index dim : {128, 64, 256}) {
    for (const DType dtype : {DType::kBFloat16, DType::kFloat16}) {
      cases.push_back({{1, 512, 512, 2, 2, dim, dim}, kFull, dtype});
      cases.push_back({{2, 512, 512, 2, 2, dim, dim}, kCausal, dtype});
      cases.push_back({{1, 300, 300, 2, 1, dim, dim}, kCausal, dtype});
      cases.push_back({{1, 333, 459, 4, 2, dim, dim}, kRandom, dtype});
    }
    cases.push_back({{1, 500, 1000, 2, 2, dim, dim}, kFull});
    cases.push_back({{1, 1000, 1000, 2, 2, dim, dim}, window(200)});
    cases.push_back({{1, 640, 640, 2, 1, dim, dim}, kBlocks});
    cases.push_back({{1, 1000, 1000, 2, 2, dim, dim}, kRandom, DType::kBFloat16, false});
    cases.push_back({{1, 1, 200, 2, 2, dim, dim}, kFull});
    cases.push_back({{1, 200, 3, 2, 2, dim, dim}, kFull});
    cases.push_back({{1, 300, 300, 2, 1, dim, dim}, kCausal, DType::kBFloat16, true, 5});
    cases.push_back({{1, 333, 300, 2, 1, dim, dim}, kRandom, DType::kBFloat16, true, 0, true});
  }
  cases.push_back({{1, 300, 300, 2, 1, 80, 96}, kCausal});
  cases.push_back({{1, 300, 300, 2, 1, 32, 128}, kRandom});
  cases.push_back({{1, 300, 300, 2, 1, 40, 16}, kRandom});
  cases.push_back({{1, 300, 300, 2, 1, 192, 128}, kRandom});
  cases.push_back({{1, 4096, 4096, 1, 1, 128, 128}, kCausal});
  int failed = 0;
  for (const Case& t : cases) failed += check_case(t) ? 0 : 1;
  std::printf("%d of %d cases failed\n", failed, static_cast<int>(cases.size()));
  std::fflush(stdout);
}

/// Runs for a quarter of a second, three times; the median of what the second halves took.
double seconds_of(const std::function<void()>& run) {
  cudaEvent_t marks[17];
  for (cudaEvent_t& mark : marks) must(cudaEventCreate(&mark), "cudaEventCreate");
  std::vector<double> kept;
  for (int round = 0; round < 3; ++round) {
    for (double spent = 0; spent < 0.25;) {
      const bool counts = spent >= 0.125;
      constexpr int kRuns = 4;
      must(cudaEventRecord(marks[0]), "cudaEventRecord");
      for (int i = 1; i <= kRuns; ++i) run(), must(cudaEventRecord(marks[i]), "cudaEventRecord");
      for (int i = 1; i <= kRuns; ++i) {
        float ms = 0;
        must(cudaEventSynchronize(marks[i]), "the kernel");
        must(cudaEventElapsedTime(&ms, marks[i - 1], marks[i]), "cudaEventElapsedTime");
        if (counts) kept.push_back(ms * 1e-3);
        spent += ms * 1e-3;
      }
    }
  }
  for (cudaEvent_t mark : marks) cudaEventDestroy(mark);
  std::ranges::sort(kept);
  return kept[kept.size() / 2];
}

/// Queries, keys, values, out and d_out of one shape, and an lse that fits them.
struct TimedInputs {
  BackwardParams b;
  double pairs = 0;  // open cells of a head

  TimedInputs(Pool& pool, const Dims& d, const TestMask& mask) {
    std::mt19937 random(3);
    const Index n = d.batch * d.queries * d.q_heads * d.dim;
    const std::vector<std::uint16_t> numbers = noise(random, 1 << 20, DType::kBFloat16).bits;
    std::vector<std::uint16_t> many(n);
    HeadsView* const arrays[] = {&b.p.query, &b.p.key, &b.p.value, &b.out, &b.d_out};
    for (std::size_t first = 0; HeadsView* const array : arrays) {
      for (Index i = 0; i < n; ++i) many[i] = numbers[(first + i) % numbers.size()];
      *array = view(pool.copy(many), DType::kBFloat16, d.queries, d.q_heads, d.dim);
      first += 12345;
    }
    b.p.d = d;
    b.p.by_query = on_device(pool, mask, d.queries, d.keys, false);
    b.p.by_key = on_device(pool, mask, d.queries, d.keys, true);
    b.p.scale = 1 / std::sqrt(static_cast<float>(d.dim));
    std::vector<float> lse(d.batch * d.q_heads * d.queries);
    for (Index i = 0; i < d.queries; ++i) {
      const Index seen = mask.seen(i, d.keys);
      pairs += static_cast<double>(seen);
      for (std::size_t row = i; row < lse.size(); row += d.queries) {
        lse[row] = std::log(static_cast<float>(seen)) + 0.5f;
      }
    }
    b.lse = pool.copy(lse);
  }
};

void time_case(Index batch, Index heads, Index tokens, Index dim, const TestMask& mask) {
  alarm(20);
  Pool pool;
  const Dims d{batch, tokens, tokens, heads, heads, dim, dim};
  const TimedInputs in(pool, d, mask);
  const Index rows = batch * heads * tokens;
  auto* const delta = static_cast<float*>(pool.raw(rows * 4));
  void* const there[3] = {pool.raw(rows * dim * 2), pool.raw(rows * dim * 2),
                          pool.raw(rows * dim * 2)};
  const DeviceBuffer order = hopper::key_order(in.b.p.by_key, d, nullptr);
  Workspace workspace(nullptr);
  double seconds[2];
  for (const bool deterministic : {false, true}) {
    seconds[deterministic] = seconds_of([&] {
      hopper::backward(workspace, in.b, order, deterministic, delta, nullptr, there[0], there[1],
                       there[2]);
    });
  }
  const double work = 10.0 * in.pairs * static_cast<double>(batch * heads * dim) * 1e-12;
  std::printf("B%d H%d S%d D%d %s: %.1f TFLOP/s in any order, %.1f deterministic (%.3f, %.3f ms)\n",
              static_cast<int>(batch), static_cast<int>(heads), static_cast<int>(tokens),
              static_cast<int>(dim), mask.name.c_str(), work / seconds[0], work / seconds[1],
              seconds[0] * 1e3, seconds[1] * 1e3);
}

}  // namespace

int main(int count, char** arguments) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::string what = count > 1 ? arguments[1] : "all";
  if (what != "time") check();
  if (what == "check") return 0;
  for (const TestMask& mask : {kCausal, kFull}) {
    time_case(8, 16, 4096, 128, mask);
    time_case(2, 16, 16384, 128, mask);
    time_case(8, 8, 4096, 256, mask);
    time_case(2, 8, 16384, 256, mask);
    time_case(8, 32, 4096, 64, mask);
    time_case(2, 32, 16384, 64, mask);
  }
  time_case(1, 16, 16384, 128, window(1024));
  time_case(1, 16, 16384, 128, kSinks);
}
