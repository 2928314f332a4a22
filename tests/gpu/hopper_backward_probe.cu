// The backward kernel of Hopper GPUs by itself: gradients of small calls against sums in float64 on
// the host, then its rate. Prints one line for each case. Arguments: "check", "time", or neither
// for both.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

/// A mask of one plane: what a tile of 64 x 64 holds, and each cell.
struct TestMask {
  std::string name;
  std::function<bool(Index, Index)> open;
  bool is_causal = false, is_full = false;
};

/// The table of a mask; rows and columns change places where `by_key`.
TileTableView table(Pool& pool, const TestMask& mask, Index queries, Index keys, bool by_key) {
  const Index rows = by_key ? keys : queries, columns = by_key ? queries : keys;
  const auto open = [&](Index r, Index c) { return by_key ? mask.open(c, r) : mask.open(r, c); };
  std::vector<Index> begins{0}, partial_offsets{0};
  std::vector<TileRun> runs;
  std::vector<PayloadId> payloads;
  std::vector<Run> intervals;
  std::vector<std::uint64_t> words;
  std::map<std::string, PayloadId> known;
  for (Index r0 = 0; r0 < rows; r0 += 64) {
    for (Index c0 = 0; c0 < columns; c0 += 64) {
      const Index r1 = std::min(rows, r0 + 64), c1 = std::min(columns, c0 + 64);
      Index count = 0;
      std::uint64_t bits[64] = {};
      const Index q0 = by_key ? c0 : r0, q1 = by_key ? c1 : r1, k0 = by_key ? r0 : c0,
                  k1 = by_key ? r1 : c1;
      if (mask.is_full || (mask.is_causal && q0 >= k1 - 1)) {
        count = (r1 - r0) * (c1 - c0);
      } else if (!(mask.is_causal && q1 - 1 < k0)) {
        for (Index r = r0; r < r1; ++r) {
          for (Index c = c0; c < c1; ++c) {
            if (open(r, c)) bits[r - r0] |= std::uint64_t{1} << (c - c0), ++count;
          }
        }
      }
      if (count == 0) continue;
      const Fill fill = count == (r1 - r0) * (c1 - c0) ? Fill::kFull : Fill::kPartial;
      const auto t = static_cast<std::int32_t>(c0 / 64);
      if (static_cast<Index>(runs.size()) > begins.back() && runs.back().fill == fill &&
          runs.back().first + runs.back().count == t) {
        ++runs.back().count;
      } else {
        runs.push_back({t, 1, fill});
      }
      if (fill == Fill::kFull) continue;
      const std::string content(reinterpret_cast<const char*>(bits), sizeof(bits));
      const auto [at, is_new] = known.try_emplace(content, 0);
      if (is_new) {
        Run of_row[64];
        bool are_intervals = true;
        for (int r = 0; r < 64; ++r) {
          const std::uint64_t x = bits[r];
          const int begin = x == 0 ? 0 : __builtin_ctzll(x);
          const int end = x == 0 ? 0 : 64 - __builtin_clzll(x);
          of_row[r] = {begin, end};
          are_intervals &= __builtin_popcountll(x) == end - begin;
        }
        if (are_intervals) {
          at->second = static_cast<PayloadId>(intervals.size() / 64);
          intervals.insert(intervals.end(), of_row, of_row + 64);
        } else {
          at->second = ~static_cast<PayloadId>(words.size() / 64);
          words.insert(words.end(), bits, bits + 64);
        }
      }
      payloads.push_back(at->second);
    }
    begins.push_back(static_cast<Index>(runs.size()));
    partial_offsets.push_back(static_cast<Index>(payloads.size()));
  }
  TileTableView view{};
  const Index* const p = pool.copy(begins);
  view.row_begins = p, view.row_ends = p + 1;
  view.runs = pool.copy(runs);
  view.partial_offsets = pool.copy(partial_offsets);
  view.payloads = pool.copy(payloads);
  view.intervals = pool.copy(intervals);
  view.words = pool.copy(words);
  view.payload_rows = 64, view.words_per_row = 1;
  return view;
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

/// An array on both sides.
struct Both {
  std::vector<std::uint16_t> bits;
  std::vector<double> x;
  const std::uint16_t* there = nullptr;
};
Both noise(Pool& pool, std::mt19937& random, Index n, DType dtype) {
  std::normal_distribution<float> normal;
  Both b;
  for (Index i = 0; i < n; ++i) {
    b.bits.push_back(rounded(normal(random), dtype));
    b.x.push_back(value(b.bits.back(), dtype));
  }
  b.there = pool.copy(b.bits);
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

bool check_case(const Case& t) {
  alarm(60);
  Pool pool;
  std::mt19937 random(7);
  const Dims& d = t.d;
  const Index group = d.q_heads / d.kv_heads;
  Both q = noise(pool, random, d.batch * d.queries * d.q_heads * d.dim, t.dtype);
  Both k = noise(pool, random, d.batch * d.keys * d.kv_heads * d.dim, t.dtype);
  Both v = noise(pool, random, d.batch * d.keys * d.kv_heads * d.value_dim, t.dtype);
  Both g = noise(pool, random, d.batch * d.queries * d.q_heads * d.value_dim, t.dtype);
  std::vector<float> bias;
  for (Index i = 0; i < d.queries * d.keys; ++i)
    bias.push_back(static_cast<float>(random() % 100) / 50);
  const double scale = 1 / std::sqrt(static_cast<double>(d.dim));
  std::vector<double> dq(q.x.size()), dk(k.x.size()), dv(v.x.size());
  std::vector<std::uint16_t> out(g.x.size());
  std::vector<float> lse(static_cast<std::size_t>(d.batch * d.q_heads * d.queries));
  for (Index j = 0; j < d.keys; ++j) {  // keys that nobody sees
    bool seen = false;
    for (Index i = 0; i < d.queries && !seen; ++i) seen = t.mask.open(i, j);
    if (seen) continue;
    for (Index n = 0; n < d.batch; ++n) {
      for (Index c = 0; c < d.kv_heads * d.dim; ++c)
        k.bits[(n * d.keys + j) * d.kv_heads * d.dim + c] = 0x7fff;
      for (Index c = 0; c < d.kv_heads * d.value_dim; ++c)
        v.bits[(n * d.keys + j) * d.kv_heads * d.value_dim + c] = 0x7fff;
    }
  }
  k.there = pool.copy(k.bits), v.there = pool.copy(v.bits);
  for (Index n = 0; n < d.batch; ++n) {
    for (Index h = 0; h < d.q_heads; ++h) {
      for (Index i = 0; i < d.queries; ++i) {
        const Index qi = ((n * d.queries + i) * d.q_heads + h) * d.dim;
        const Index oi = ((n * d.queries + i) * d.q_heads + h) * d.value_dim;
        std::vector<double> p(d.keys, 0), slope(d.keys, 1);
        double sum = 0;
        for (Index j = 0; j < d.keys; ++j) {
          if (!t.mask.open(i, j)) continue;
          const Index kj = ((n * d.keys + j) * d.kv_heads + h / group) * d.dim;
          double s = 0;
          for (Index c = 0; c < d.dim; ++c) s += q.x[qi + c] * k.x[kj + c];
          s *= scale;
          if (t.has_bias) s += bias[i * d.keys + j];
          if (t.soft_cap != 0) {
            const double th = std::tanh(s / t.soft_cap);
            s = t.soft_cap * th, slope[j] = 1 - th * th;
          }
          p[j] = std::exp(s), sum += p[j];
        }
        lse[(n * d.q_heads + h) * d.queries + i] = static_cast<float>(std::log(sum));
        std::vector<double> o(d.value_dim, 0);
        for (Index j = 0; j < d.keys; ++j) {
          if (p[j] == 0) continue;
          p[j] /= sum;
          const Index vj = ((n * d.keys + j) * d.kv_heads + h / group) * d.value_dim;
          for (Index c = 0; c < d.value_dim; ++c) o[c] += p[j] * v.x[vj + c];
        }
        double delta = 0;
        for (Index c = 0; c < d.value_dim; ++c) {
          out[oi + c] = rounded(static_cast<float>(o[c]), t.dtype);
          delta += o[c] * g.x[oi + c];
        }
        for (Index j = 0; j < d.keys; ++j) {
          if (p[j] == 0) continue;
          const Index kj = ((n * d.keys + j) * d.kv_heads + h / group) * d.dim;
          const Index vj = ((n * d.keys + j) * d.kv_heads + h / group) * d.value_dim;
          double dp = 0;
          for (Index c = 0; c < d.value_dim; ++c) {
            dp += g.x[oi + c] * v.x[vj + c];
            dv[vj + c] += p[j] * g.x[oi + c];
          }
          const double ds = p[j] * (dp - delta) * slope[j] * scale;
          for (Index c = 0; c < d.dim; ++c) {
            dq[qi + c] += ds * k.x[kj + c];
            dk[kj + c] += ds * q.x[qi + c];
          }
        }
      }
    }
  }
  BackwardParams b;
  b.p.d = d;
  b.p.query = view(q.there, t.dtype, d.queries, d.q_heads, d.dim);
  b.p.key = view(k.there, t.dtype, d.keys, d.kv_heads, d.dim);
  b.p.value = view(v.there, t.dtype, d.keys, d.kv_heads, d.value_dim);
  b.d_out = view(g.there, t.dtype, d.queries, d.q_heads, d.value_dim);
  b.out = view(pool.copy(out), t.dtype, d.queries, d.q_heads, d.value_dim);
  b.p.by_query = on_device(pool, t.mask, d.queries, d.keys, false);
  b.p.by_key = on_device(pool, t.mask, d.queries, d.keys, true);
  b.p.scale = static_cast<float>(scale);
  b.p.soft_cap = t.soft_cap;
  if (t.has_bias) {
    b.p.bias = {pool.copy(bias), DType::kFloat32};
    b.p.bias_stride[2] = d.keys, b.p.bias_stride[3] = 1;
  }
  b.lse = pool.copy(lse);
  auto* const delta = static_cast<float*>(pool.raw(lse.size() * 4));
  b.delta = delta;
  std::vector<std::uint16_t> results[2][3];
  const DeviceBuffer order = hopper::key_order(b.p.by_key, d, nullptr);
  Workspace workspace(nullptr);
  for (auto& run : results) {
    void* const there[3] = {pool.raw(dq.size() * 2), pool.raw(dk.size() * 2),
                            pool.raw(dv.size() * 2)};
    if (const std::string why = hopper::unsupported_backward(b); !why.empty()) {
      std::printf("FAILED: not supported: %s\n", why.c_str());
      return false;
    }
    hopper::backward(workspace, b, order, t.deterministic, delta, nullptr, there[0], there[1],
                     there[2]);
    must(cudaDeviceSynchronize(), "the kernel");
    const std::size_t sizes[3] = {dq.size(), dk.size(), dv.size()};
    for (int i = 0; i < 3; ++i) {
      run[i].resize(sizes[i]);
      must(cudaMemcpy(run[i].data(), there[i], sizes[i] * 2, cudaMemcpyDeviceToHost), "cudaMemcpy");
    }
  }
  const Compared c[3] = {compare(results[0][0], dq, t.dtype), compare(results[0][1], dk, t.dtype),
                         compare(results[0][2], dv, t.dtype)};
  bool same = true, good = true;
  for (int i = 0; i < 3; ++i) {
    same &= results[0][i] == results[1][i];
    good &= !c[i].is_nan && c[i].rms < (t.dtype == DType::kFloat16 ? 0.002 : 0.01);
  }
  good &= same || !t.deterministic;
  std::printf(
      "%s %s B%d Tq%d Tk%d Hq%d Hkv%d D%d Dv%d %s%s%s%s: rms dq %.2e dk %.2e dv %.2e, most %.1e "
      "%.1e "
      "%.1e%s\n",
      good ? "ok    " : "FAILED", t.mask.name.c_str(), static_cast<int>(d.batch),
      static_cast<int>(d.queries), static_cast<int>(d.keys), static_cast<int>(d.q_heads),
      static_cast<int>(d.kv_heads), static_cast<int>(d.dim), static_cast<int>(d.value_dim),
      t.dtype == DType::kFloat16 ? "f16" : "bf16", t.deterministic ? "" : " any order",
      t.soft_cap != 0 ? " cap" : "", t.has_bias ? " bias" : "", c[0].rms, c[1].rms, c[2].rms,
      c[0].most, c[1].most, c[2].most, same ? "" : ", bits differ between equal calls");
  std::fflush(stdout);
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

void time_case(Index batch, Index heads, Index tokens, Index dim, const TestMask& mask) {
  alarm(20);
  Pool pool;
  Dims d{batch, tokens, tokens, heads, heads, dim, dim};
  const std::size_t n = static_cast<std::size_t>(batch * tokens * heads * dim);
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<std::uint16_t> numbers(1 << 20), many(n);
  for (auto& x : numbers) x = rounded(normal(random), DType::kBFloat16);
  const auto array = [&](std::size_t first) {
    for (std::size_t i = 0; i < n; ++i) many[i] = numbers[(first + i) % numbers.size()];
    return view(pool.copy(many), DType::kBFloat16, tokens, heads, dim);
  };
  BackwardParams b;
  b.p.d = d;
  b.p.query = array(0), b.p.key = array(12345), b.p.value = array(54321);
  b.d_out = array(999), b.out = array(7777);
  b.p.by_query = on_device(pool, mask, tokens, tokens, false);
  b.p.by_key = on_device(pool, mask, tokens, tokens, true);
  b.p.scale = 1 / std::sqrt(static_cast<float>(dim));
  std::vector<float> lse(static_cast<std::size_t>(batch * heads * tokens));
  double pairs = 0;
  for (Index i = 0; i < tokens; ++i) {
    const Index seen =
        mask.is_full ? tokens
        : mask.is_causal
            ? i + 1
            : std::min<Index>(i + 1, mask.name == kSinks.name && i >= 1088 ? 1088 : 1024);
    pairs += static_cast<double>(seen);
    for (Index bh = 0; bh < batch * heads; ++bh) {
      lse[bh * tokens + i] = std::log(static_cast<float>(seen)) + 0.5f;
    }
  }
  b.lse = pool.copy(lse);
  auto* const delta = static_cast<float*>(pool.raw(lse.size() * 4));
  b.delta = delta;
  void* const there[3] = {pool.raw(n * 2), pool.raw(n * 2), pool.raw(n * 2)};
  const DeviceBuffer order = hopper::key_order(b.p.by_key, d, nullptr);
  Workspace workspace(nullptr);
  double seconds[2];
  for (const bool deterministic : {false, true}) {
    seconds[deterministic] = seconds_of([&] {
      hopper::backward(workspace, b, order, deterministic, delta, nullptr, there[0], there[1],
                       there[2]);
    });
  }
  const double work = 10.0 * pairs * static_cast<double>(batch * heads * dim) * 1e-12;
  std::printf("B%d H%d S%d D%d %s: %.1f TFLOP/s in any order, %.1f deterministic (%.3f, %.3f ms)\n",
              static_cast<int>(batch), static_cast<int>(heads), static_cast<int>(tokens),
              static_cast<int>(dim), mask.name.c_str(), work / seconds[0], work / seconds[1],
              seconds[0] * 1e3, seconds[1] * 1e3);
  std::fflush(stdout);
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
