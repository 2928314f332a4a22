// Makes a random attention call whose kernel applied another mask than the declared one, and scores
// how much of the applied mask solve_mask finds.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/cell.h"
#include "maskctl/tensor/convert.h"
#include "maskctl/verify/solve/solve.h"

namespace maskctl::twin {

/// A mask [B,H,Q,K] with one byte for each cell.
struct Cells {
  Index batch = 1, heads = 1, queries = 0, keys = 0;
  std::vector<std::uint8_t> open;

  std::uint8_t& at(Index b, Index h, Index i, Index j) {
    return open[as_size(((b * heads + h) * queries + i) * keys + j)];
  }
  Mask mask() const {
    Tensor array(DType::kBool, {batch, heads, queries, keys});
    for (std::size_t n = 0; n < open.size(); ++n) array.bytes()[n] = std::byte{open[n]};
    return mask_from_dense(array);
  }
  static Cells of(const Mask& mask) {
    Cells out{mask.batch(), mask.heads(), mask.queries(), mask.keys(), {}};
    out.open.resize(as_size(mask.cells()));
    for (Index b = 0; b < out.batch; ++b) {
      for (Index h = 0; h < out.heads; ++h) {
        mask.plane(b, h)->rows({0, out.queries}, [&](Range rows, const Keys& keys) {
          for (Index i = rows.begin; i < rows.end; ++i) {
            for (const Run& run : keys.runs) {
              for (Index j = run.begin; j < run.end; ++j) out.at(b, h, i, j) = 1;
            }
            for (std::size_t w = 0; w < keys.words.size(); ++w) {
              for (Index bit = 0; bit < 64; ++bit) {
                if (keys.words[w] >> bit & 1) out.at(b, h, i, static_cast<Index>(w) * 64 + bit) = 1;
              }
            }
          }
        });
      }
    }
    return out;
  }
};

struct SolvedProblem {
  attention::VerifyRequest request;
  attention::NamedResults given;
  Cells declared, applied;  // masks of the same shape
  std::string what;
  DType dtype = DType::kFloat32;
  Index heads = 1, kv_heads = 1, dim = 16;
};

struct SolvedScore {
  Index cells = 0, decided = 0, wrong = 0, differing = 0, found = 0;
  // Cells whose attention weight exceeds the rounding of the outputs.
  Index heavy = 0, heavy_undecided = 0;
  std::vector<Cell> first_wrong = {};
};

class SolvedProblemMaker {
 public:
  /// With `gradients`, the gradient of the queries is given too, so that half as many channels are
  /// enough to find the mask.
  SolvedProblemMaker(std::uint64_t seed, Index longest, bool gradients = false)
      : random_(seed), longest_(longest), gradients_(gradients) {}

  SolvedProblem draw() {
    SolvedProblem out;
    const Index keys = tokens();
    out.dim = Index{16} << number(0, 3);
    const Index kinds = number(0, 6);
    choose_heads(keys, kinds == 5 || (kinds == 6 && number(0, 1) == 0), out);
    draw_declared(keys, out);
    out.applied = out.declared;
    edit(kinds, out);
    make_call(out);
    return out;
  }

 private:
  Index number(Index low, Index high) {
    return std::uniform_int_distribution<Index>(low, std::max(low, high))(random_);
  }
  Index tokens() {
    std::uniform_real_distribution<double> exponent(std::log(64.0),
                                                    std::log(static_cast<double>(longest_)));
    return static_cast<Index>(std::exp(exponent(random_)));
  }

  /// Chooses the number of heads. If `many`, the heads that share a mask together give at least as
  /// many equations (one per output channel, or two with gradients) as there are keys.
  void choose_heads(Index keys, bool many, SolvedProblem& out) {
    out.heads = Index{1} << number(0, 3);
    if (many) {
      out.dim = std::max<Index>(out.dim, 64);
      const Index equations = gradients_ ? 2 : 1;  // equations from each channel
      while (out.heads * out.dim * equations < keys) out.heads *= 2;
    }
    out.kv_heads = out.heads;
    if (out.heads > 1 && number(0, 2) == 0) out.kv_heads = out.heads / 2;
    const bool apart = !many && number(0, 2) == 0;
    out.declared.batch = apart && out.heads < 8 ? number(1, 2) : 1;
    out.declared.heads = apart ? out.heads : 1;
  }

  void draw_declared(Index keys, SolvedProblem& out) {
    Cells& cells = out.declared;
    cells.keys = cells.queries = keys;
    cells.open.resize(as_size(cells.batch * cells.heads * keys * keys));
    const Index kind = number(0, 3), window = number(4, keys);
    std::vector<Index> document(as_size(keys));
    for (Index j = 1; j < keys; ++j) {
      document[as_size(j)] = document[as_size(j - 1)] + (number(0, 60) == 0 ? 1 : 0);
    }
    for (Index b = 0; b < cells.batch; ++b) {
      for (Index h = 0; h < cells.heads; ++h) {
        const Index left = h % 2 == 0 ? window : keys;
        for (Index i = 0; i < keys; ++i) {
          for (Index j = 0; j < keys; ++j) {
            const bool causal = j <= i, inside = i - j < left && j - i < left;
            const bool same = document[as_size(i)] == document[as_size(j)];
            const bool open = kind == 0   ? causal
                              : kind == 1 ? causal && inside
                              : kind == 2 ? causal && same
                                          : inside;
            cells.at(b, h, i, j) = open;
          }
        }
      }
    }
  }

  void edit(Index kind, SolvedProblem& out) {
    static constexpr const char* kWhat[] = {"nothing", "leaks",     "holes",    "blocks",
                                            "window",  "any cells", "odd cells"};
    out.what = kWhat[kind];
    Cells& cells = out.applied;
    for (Index b = 0; b < cells.batch; ++b) {
      for (Index h = 0; h < cells.heads; ++h) {
        if (cells.batch * cells.heads > 1 && number(0, 1) == 0) continue;
        if (kind == 1 || kind == 2) odd_cells(kind == 1, b, h, out);
        if (kind == 3) blocks(b, h, cells);
        if (kind == 4) window(b, h, cells);
        if (kind == 5) any(b, h, cells);
        if (kind == 6) scattered(b, h, cells);
      }
    }
  }

  void odd_cells(bool opens, Index b, Index h, SolvedProblem& out) {
    Cells& cells = out.applied;
    for (Index row = number(1, 8); row > 0; --row) {
      const Index i = number(0, cells.queries - 1);
      Index most = number(1, out.dim / 8);
      for (Index n = 0; n < 20 * most && most > 0; ++n) {
        std::uint8_t& cell = cells.at(b, h, i, number(0, cells.keys - 1));
        if (static_cast<bool>(cell) == opens) continue;
        cell = opens;
        --most;
      }
    }
  }

  void blocks(Index b, Index h, Cells& cells) {
    for (Index n = number(1, 4); n > 0; --n) {
      const Index q = number(0, cells.queries / 64) * 64, k = number(0, cells.keys / 64) * 64;
      const bool open = number(0, 3) == 0;
      for (Index i = q; i < std::min(q + 64, cells.queries); ++i) {
        for (Index j = k; j < std::min(k + 64, cells.keys); ++j) cells.at(b, h, i, j) = open;
      }
    }
  }

  void window(Index b, Index h, Cells& cells) {
    const Index left = number(1, cells.keys);
    for (Index i = 0; i < cells.queries; ++i) {
      for (Index j = 0; j < cells.keys; ++j) cells.at(b, h, i, j) = j <= i && i - j < left;
    }
  }

  void any(Index b, Index h, Cells& cells) {
    std::bernoulli_distribution open(0.5);
    for (Index i = 0; i < cells.queries; ++i) {
      for (Index j = 0; j < cells.keys; ++j) cells.at(b, h, i, j) = open(random_);
    }
  }

  /// Flips up to two random cells in each row.
  void scattered(Index b, Index h, Cells& cells) {
    for (Index i = 0; i < cells.queries; ++i) {
      for (Index n = number(0, 2); n > 0; --n) cells.at(b, h, i, number(0, cells.keys - 1)) ^= 1;
    }
  }

  void make_call(SolvedProblem& out) {
    static constexpr DType kDtypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};
    out.dtype = kDtypes[number(0, 2)];
    attention::VerifyRequest& request = out.request;
    request.operation = attention::find_operation("flash_attention");
    request.declared = out.declared.mask();
    attention::add_random_arrays(*request.operation,
                                 {.extents = {{"B", out.declared.batch},
                                              {"Tq", out.declared.queries},
                                              {"Tk", out.declared.keys},
                                              {"Hq", out.heads},
                                              {"Hkv", out.kv_heads},
                                              {"D", out.dim},
                                              {"Dv", out.dim}},
                                  .seed = random_(),
                                  .dtype = out.dtype},
                                 request.arguments);
    request.arguments.mask = out.applied.mask();
    request.arguments.context.backend = attention::Backend::kCpu;
    if (gradients_) {
      const std::vector<Index>& shape = request.arguments.arrays.at("query").shape();
      request.arguments.arrays["cotangent_out"] =
          astype(attention::random_normal(shape, random_()), out.dtype);
    }
    attention::NamedResults made = attention::run(*request.operation, request.arguments);
    out.given.emplace("out", std::move(made.at("out")));
    if (gradients_) out.given.emplace("grad_query", std::move(made.at("grad_query")));
    if (number(0, 3) == 0) out.given.emplace("lse", std::move(made.at("lse")));
    request.arguments.mask = request.declared;
    if (number(0, 1) == 0) return;
    for (auto& [name, array] : request.arguments.arrays) array = astype(array, DType::kFloat32);
    for (auto& [name, array] : out.given) array = astype(array, DType::kFloat32);
  }

  std::mt19937_64 random_;
  Index longest_;
  bool gradients_;
};

/// Computes the attention weight that each key has, or would have if it were open, under the
/// applied mask.
class CellWeights {
 public:
  explicit CellWeights(const SolvedProblem& problem)
      : problem_(problem),
        applied_(problem.applied),
        query_(astype(problem.request.arguments.arrays.at("query"), DType::kFloat64)),
        key_(astype(problem.request.arguments.arrays.at("key"), DType::kFloat64)) {}

  /// Returns for each key of query i its weight if it were open: the largest of all batches and
  /// heads that share plane (b, h) of the mask.
  std::vector<double> row(Index b, Index h, Index i) {
    std::vector<double> most(as_size(applied_.keys));
    for (Index batch = 0; batch < query_.extent(0); ++batch) {
      if (applied_.batch > 1 && batch != b) continue;
      for (Index head = 0; head < problem_.heads; ++head) {
        if (applied_.heads == 1 || head == h) add(batch, head, i, most);
      }
    }
    return most;
  }

 private:
  void add(Index b, Index head, Index i, std::vector<double>& most) {
    const Index keys = applied_.keys, dim = problem_.dim;
    const Index key_head = head / (problem_.heads / problem_.kv_heads);
    const double* const q =
        &query_.as<double>()[as_size(((b * applied_.queries + i) * problem_.heads + head) * dim)];
    const Index mask_b = applied_.batch == 1 ? 0 : b, mask_h = applied_.heads == 1 ? 0 : head;
    std::vector<double> e(as_size(keys));
    double sum = 0;
    for (Index j = 0; j < keys; ++j) {
      const double* const k =
          &key_.as<double>()[as_size(((b * keys + j) * problem_.kv_heads + key_head) * dim)];
      double s = 0;
      for (Index x = 0; x < dim; ++x) s += q[x] * k[x];
      e[as_size(j)] = std::exp(s / std::sqrt(static_cast<double>(dim)));
      if (applied_.at(mask_b, mask_h, i, j)) sum += e[as_size(j)];
    }
    for (Index j = 0; j < keys; ++j) {
      const bool open = applied_.at(mask_b, mask_h, i, j);
      const double weight = e[as_size(j)] / (sum + (open ? 0 : e[as_size(j)]));
      most[as_size(j)] = std::max(most[as_size(j)], weight);
    }
  }

  const SolvedProblem& problem_;
  Cells applied_;
  Tensor query_, key_;
};

inline SolvedScore score(const SolvedProblem& problem, const attention::SolvedMask& solved) {
  const Index batch = solved.mask.batch(), heads = solved.mask.heads();
  Cells got = Cells::of(solved.mask), light = Cells::of(solved.light);
  Cells alike = Cells::of(solved.alike), unsolved = Cells::of(solved.unsolved);
  Cells applied = problem.applied, declared = problem.declared;
  const double least = problem.dtype == DType::kBFloat16  ? 0x1p-8
                       : problem.dtype == DType::kFloat16 ? 0x1p-11
                                                          : 0x1p-24;
  SolvedScore out;
  CellWeights weights(problem);
  for (Index b = 0; b < batch; ++b) {
    for (Index h = 0; h < heads; ++h) {
      const Index mb = applied.batch == 1 ? 0 : b, mh = applied.heads == 1 ? 0 : h;
      for (Index i = 0; i < applied.queries; ++i) {
        const std::vector<double> weight = weights.row(b, h, i);
        for (Index j = 0; j < applied.keys; ++j) {
          const bool heavy = weight[as_size(j)] > least;
          ++out.cells, out.heavy += heavy;
          const bool is = applied.at(mb, mh, i, j), was = declared.at(mb, mh, i, j);
          const bool undecided =
              light.at(b, h, i, j) || alike.at(b, h, i, j) || unsolved.at(b, h, i, j);
          out.differing += is != was;
          if (undecided) {
            out.heavy_undecided += heavy;
            continue;
          }
          ++out.decided;
          const bool wrong = static_cast<bool>(got.at(b, h, i, j)) != is;
          if (wrong && out.first_wrong.size() < 8) out.first_wrong.push_back({b, h, i, j});
          out.wrong += wrong;
          out.found += is != was && static_cast<bool>(got.at(b, h, i, j)) == is;
        }
      }
    }
  }
  return out;
}

}  // namespace maskctl::twin
