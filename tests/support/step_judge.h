// Compares the mask steps of the library with plain loops over dense arrays.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "maskctl/base/error.h"
#include "support/twin_steps.h"

namespace maskctl::twin {

inline Dense random_matrices(Index b, Index h, Index q, Index k, std::mt19937& random) {
  return make(b, h, q, k, [&](Index, Index, Index, Index) { return random() % 3 != 0; });
}

inline std::vector<Index> random_values(Index n, Index low, Index high, std::mt19937& random) {
  std::vector<Index> out(static_cast<std::size_t>(n));
  for (Index& value : out)
    value = low + static_cast<Index>(random() % static_cast<unsigned>(high - low + 1));
  return out;
}

// Applies the step to both forms of a mask. Returns how the results differ; "" if they agree or
// both refuse the step.
inline std::string differs(const Mask& mask, const Dense& dense, const Step& step) {
  bool refused = false, thrown = false;
  Dense want;
  try {
    want = run_step(dense, step);
  } catch (const Refused&) {
    refused = true;
  }
  Mask got;
  std::string message;
  try {
    got = maskctl::apply(mask, step);
  } catch (const Error& error) {
    thrown = true;
    message = error.what();
  }
  if (refused != thrown) return thrown ? "refused: " + message : "not refused";
  if (thrown) return message.empty() || message.find('\n') != std::string::npos ? "message" : "";
  if (got.batch() != want.b || got.heads() != want.h || got.queries() != want.q ||
      got.keys() != want.k) {
    return "shape " + shape_text(got);
  }
  const Dense have = dense_of(got);
  if (have == want) return "";
  std::size_t at = 0;
  while (have.cells[at] == want.cells[at]) ++at;
  const Index plane = want.q * want.k, cell = static_cast<Index>(at);
  return "batch " + std::to_string(cell / plane / want.h) + " head " +
         std::to_string(cell / plane % want.h) + " query " + std::to_string(cell % plane / want.k) +
         " key " + std::to_string(cell % want.k);
}

// Applies many steps, each to the same mask, and keeps the first difference.
class Judge {
 public:
  explicit Judge(Dense dense) : dense_(std::move(dense)), mask_(mask_of(dense_)) {}
  void operator()(const Step& step, const std::string& what) {
    ++steps_;
    if (!first_.empty()) return;
    const std::string error = differs(mask_, dense_, step);
    if (error.empty()) return;
    first_ =
        what + " on " + std::to_string(dense_.q) + " x " + std::to_string(dense_.k) + ": " + error;
  }
  Index batch() const { return dense_.b; }
  const std::string& first() const { return first_; }
  int steps() const { return steps_; }

 private:
  Dense dense_;
  Mask mask_;
  std::string first_;
  int steps_ = 0;
};

inline std::string text(Index a) { return " " + std::to_string(a); }
inline std::string text(std::optional<Index> a) { return a ? text(*a) : " none"; }

inline constexpr Align kAligns[] = {Align::kUnset, Align::kTopLeft, Align::kBottomRight};

}  // namespace maskctl::twin
