// Compares the computations inside a chunk of linear attention with plain loops.
#include <algorithm>
#include <cmath>
#include <limits>

#include "maskctl/kernels/cpu/linear/chunk.h"
#include "support/catch_compat.h"
#include "support/tensors.h"

namespace linear_chunk_cases {

namespace {

using namespace maskctl;
using namespace maskctl::attention;
using namespace maskctl::test;

/// Draws log decays for a chunk: weak ones or strong ones, and at times one that erases the state.
Tensor gates(RandomTensors& r, Index count, Index width) {
  const float low = r.chance(0.5) ? -0.3f : -6.0f;
  Tensor g = r.uniform({count, width}, low, r.chance(0.2) ? -low / 2 : 0);
  for (Index n = r.below(4); n-- > 0;) {
    const bool none = r.chance(0.5);
    g.as<float>()[as_size(r.below(count * width))] =
        none ? -std::numeric_limits<float>::infinity() : -1e4f;
  }
  return g;
}

/// Returns the product of the decays of column x over the tokens s + 1 to t.
double decay(const Tensor& g, Index width, Index s, Index t, Index x) {
  double log = 0;
  for (Index i = s + 1; i <= t; ++i) {
    log += static_cast<double>(g.as<float>()[as_size(i * width + x)]);
  }
  return std::exp(log);
}

std::vector<Index> bounds_of(Decays& decays, const Tensor& g, Index count) {
  std::vector<Index> bounds{0};
  decays.start({Rows{data(g), decays.width()}, {}});
  while (bounds.back() < count) bounds.push_back(decays.add_segment(bounds.back(), count));
  decays.finish(bounds);
  return bounds;
}

void check_near(double seen, double expected) {
  CHECK(std::abs(seen - expected) <= 2e-5 * std::max(1.0, std::abs(expected)));
}

}  // namespace

TEST_CASE("products between segments of a chunk include the decays between the tokens") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    INFO("seed " << seed);
    RandomTensors r(seed);
    const Index count = 1 + r.below(kChunk), width = 1 + r.below(40);
    const Tensor g = gates(r, count, width), k = r.normal({count, width});
    DecayedRows reach(width, count);
    const std::vector<Index> bounds = bounds_of(reach.decays(), g, count);
    reach.load({data(k), width}, count);
    const auto key = [&](Index s, Index x) {
      return static_cast<double>(k.as<float>()[as_size(s * width + x)]);
    };
    for (Index x = 0; x < width; ++x) {
      check_near(reach.decays().enter()[x], decay(g, width, -1, 0, x));
    }
    for (std::size_t j = 0; j + 1 < bounds.size(); ++j) {
      const auto segment = static_cast<Index>(j);
      const float* const met = reach.meet(segment, {bounds[j], bounds[j + 1]});
      const float* const before = reach.decays().before(segment);
      for (Index t = bounds[j]; t < bounds[j + 1]; t += 1 + r.below(4)) {
        for (Index x = 0; x < width; ++x) {
          const double p = reach.decays().cells()[t * width + x];
          check_near(p * (before ? before[x] : 1), decay(g, width, 0, t, x));
          for (Index s = 0; s <= t; ++s) {
            check_near(p * met[s * width + x], decay(g, width, s, t, x) * key(s, x));
          }
        }
      }
    }
    const Tensor by_row = r.normal({count});
    const float* const left = reach.leave(bounds, data(by_row));
    for (Index s = 0; s < count; ++s) {
      const double row = by_row.as<float>()[as_size(s)];
      for (Index x = 0; x < width; ++x) {
        check_near(left[s * width + x], row * decay(g, width, s, count - 1, x) * key(s, x));
      }
    }
  }
}

TEST_CASE("a new segment begins only where a product of decays would leave the range") {
  const Index count = 40, width = 3;
  Tensor g(DType::kFloat32, {count, width});
  Decays decays(width, count);
  CHECK(bounds_of(decays, g, count) == std::vector<Index>{0, count});
  g.as<float>()[7 * width + 1] = -1e4f;
  CHECK(bounds_of(decays, g, count) == std::vector<Index>{0, 7, count});
  for (Index t = 20; t < count; ++t) g.as<float>()[as_size(t * width + 2)] = -4;
  // The product of seven decays of exp(-4) stays in the permitted range, that of eight does not.
  // The decay exp(-1e4) of token 7 begins another segment.
  CHECK(bounds_of(decays, g, count) == std::vector<Index>{0, 7, 27, 35, count});
  decays.start({});
  CHECK(decays.add_segment(0, count) == count);
  decays.finish(std::vector<Index>{0, count});
  CHECK(!decays.cells());
  CHECK(!decays.enter());
  CHECK(!decays.after(0));
}

TEST_CASE("products of token pairs in a segment equal plain loops") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    INFO("seed " << seed);
    RandomTensors r(seed);
    const Index begin = r.below(kChunk), end = begin + 1 + r.below(kChunk - begin);
    const Index rows = pair_rows(kChunk), columns = kColumnGroup * (1 + r.below(2));
    const Tensor pair = r.normal({rows, kChunk}), b = r.normal({end, columns});
    Tensor scores = r.normal({rows, kChunk});
    const Tensor first = scores;
    const bool weighs = r.chance(0.5), apart = r.chance(0.5);
    Buffer own(as_size(rows));
    mask_later({data(scores), kChunk}, {begin, end}, weighs ? data(pair) : nullptr, kChunk,
               apart ? own.data() : nullptr);
    const auto score = [&](Index t, Index s) {
      const auto i = as_size(t * kChunk + s);
      const double weight = weighs && s < t ? static_cast<double>(pair.as<float>()[i]) : 1;
      return s > t || (apart && s == t) ? 0 : weight * static_cast<double>(first.as<float>()[i]);
    };
    for (Index t = end; t < begin + round_up(end - begin, kRowGroup); ++t) {
      std::fill_n(data(scores) + t * kChunk, end, 0.0f);
    }
    const PairSpans spans({begin, end});
    Buffer packed(as_size(end * columns)), read(as_size(rows * columns)), passed(read.size());
    pack_rows(data(b), columns, end, columns, packed.data());
    multiply_depths(data(scores) + begin * kChunk, kChunk, end, packed.data(), columns,
                    spans.earlier(), read.data(), columns);
    pack_rows(data(b) + begin * columns, columns, end - begin, columns, packed.data());
    multiply_transposed(data(scores) + begin * kChunk, kChunk, end - begin, packed.data(), columns,
                        spans.later(), passed.data(), columns);
    for (Index c = 0; c < columns; ++c) {
      const auto cell = [&](Index row) {
        return static_cast<double>(b.as<float>()[as_size(row * columns + c)]);
      };
      for (Index t = begin; t < end; ++t) {
        if (apart) CHECK(own[as_size(t)] == first.as<float>()[as_size(t * kChunk + t)]);
        double sum = 0;
        for (Index s = 0; s <= t; ++s) sum += score(t, s) * cell(s);
        check_near(read[as_size((t - begin) * columns + c)], sum);
        CHECK(spans.columns()[as_size((t - begin) / kRowGroup)].contains(t));
      }
      for (Index s = 0; s < end; ++s) {
        double sum = 0;
        for (Index t = std::max(s, begin); t < end; ++t) sum += score(t, s) * cell(t);
        check_near(passed[as_size(s * columns + c)], sum);
      }
    }
  }
}

}  // namespace linear_chunk_cases
