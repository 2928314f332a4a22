#include "maskctl/attention/verify/poison.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "maskctl/attention/verify/call_variants.h"
#include "maskctl/attention/verify/compare.h"
#include "maskctl/attention/verify/key_side.h"

namespace maskctl::attention {
namespace {

using State = VerifyCheck::State;

/// Marks the keys that some query of a plane sees.
void mark_seen(const Plane& plane, std::vector<bool>& seen) {
  std::vector<Index> edges(seen.size() + 1), counts(seen.size());
  for (std::size_t i = 0; i < edges.size(); ++i) edges[i] = static_cast<Index>(i);
  plane.counts({0, plane.queries()}, edges, counts);
  for (std::size_t j = 0; j < seen.size(); ++j) {
    if (counts[j] > 0) seen[j] = true;
  }
}

/// Whether the row of an output is the same, bit by bit.
bool same_row(const Tensor& a, const Tensor& b, Layout layout, Index batch, Index i, Index head) {
  const bool heads_last = layout == Layout::kBthd;
  const Index first = heads_last ? i : head, second = heads_last ? head : i;
  const Index at = ((batch * a.extent(1) + first) * a.extent(2) + second) * a.extent(3);
  const Index size = size_bytes(a.dtype());
  return std::equal(a.bytes().begin() + at * size, a.bytes().begin() + (at + a.extent(3)) * size,
                    b.bytes().begin() + at * size);
}

/// "batch 0, head 1, query 5", of the first row that changed although it does not see key j.
/// `mean`: rows without a key see all values.
std::string changed_row(const Tensor& clean, const Tensor& changed, const ProbeShape& shape,
                        const Mask& mask, bool mean, Index j) {
  for (Index b = 0; b < shape.batch; ++b) {
    for (Index h = 0; h < shape.heads; ++h) {
      const Plane& plane = *mask.plane(mask.batch() == 1 ? 0 : b, mask.heads() == 1 ? 0 : h);
      for (Index i = 0; i < shape.queries; ++i) {
        if (plane.count({i, i + 1}, {j, j + 1}) > 0) continue;
        if (mean && plane.count({i, i + 1}, {0, plane.keys()}) == 0) continue;
        if (!same_row(clean, changed, shape.layout, b, i, h)) {
          return fmt::format("batch {}, head {}, query {}", b, h, i);
        }
      }
    }
  }
  return {};
}

}  // namespace

VerifyCheck check_unseen_keys(const Operation& operation, const NamedArguments& arguments,
                              const Mask& mask) {
  VerifyCheck check{"unseen keys", State::kSkipped, "every key is seen"};
  if (empty_row_policy(arguments) != "zero" && has_empty_rows(mask)) {
    check.detail = "rows without a key read all values, or give NaN, under this empty_row";
    return check;
  }
  const ProbeShape shape = shape_of_call(operation, arguments);
  const Index group = shape.heads / shape.kv_heads;
  NamedArguments poisoned = arguments;
  Index unseen = 0;
  for (Index b = 0; b < shape.batch; ++b) {
    for (Index u = 0; u < shape.kv_heads; ++u) {
      std::vector<bool> seen(as_size(shape.keys));
      for (Index h = u * group; h < (u + 1) * group; ++h) {
        mark_seen(*mask.plane(mask.batch() == 1 ? 0 : b, mask.heads() == 1 ? 0 : h), seen);
      }
      for (Index j = 0; j < shape.keys; ++j) {
        if (seen[as_size(j)]) continue;
        ++unseen;
        fill_key(poisoned, shape, b, j, u, std::numeric_limits<float>::quiet_NaN());
      }
    }
  }
  if (unseen == 0) return check;
  const NamedResults clean = run(operation, arguments), dirty = run(operation, poisoned);
  check.state = State::kPassed;
  check.detail = fmt::format("{} of NaN change no bit", unseen);
  for (const auto& [name, array] : clean) {
    if (same_bits(array, dirty.at(name))) continue;
    check.state = State::kFailed;
    check.detail = fmt::format("NaN in {} keys that no query sees changes {}", unseen, name);
  }
  return check;
}

VerifyCheck check_closed_keys(const Operation& operation, const NamedArguments& arguments,
                              const Mask& mask) {
  constexpr Index kTried = 8;
  const ProbeShape shape = shape_of_call(operation, arguments);
  const NamedArguments forward = without_gradients(arguments);
  const Tensor clean = run(operation, forward).at("out");
  const bool mean = empty_row_policy(arguments) == "mean";
  const Index tried = std::min(kTried, shape.keys);
  for (Index n = 0; n < tried; ++n) {
    const Index j = n * (shape.keys - 1) / std::max<Index>(tried - 1, 1);
    NamedArguments changed = forward;
    for (Index b = 0; b < shape.batch; ++b) {
      for (Index u = 0; u < shape.kv_heads; ++u) {
        fill_key(changed, shape, b, j, u, n % 2 == 0 ? 1000.F : -1000.F);
      }
    }
    const std::string row =
        changed_row(clean, run(operation, changed).at("out"), shape, mask, mean, j);
    if (!row.empty()) {
      return {"closed keys", State::kFailed,
              fmt::format("key {} changes {}, which does not see it", j, row)};
    }
  }
  return {"closed keys", State::kPassed,
          fmt::format("{} keys changed, no other row by a bit", tried)};
}

}  // namespace maskctl::attention
