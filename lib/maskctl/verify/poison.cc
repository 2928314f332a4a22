#include "maskctl/verify/poison.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <set>

#include "maskctl/base/text.h"
#include "maskctl/verify/call_variants.h"
#include "maskctl/verify/compare.h"
#include "maskctl/verify/key_side.h"

namespace maskctl::attention {
namespace {

constexpr float kPoison = std::numeric_limits<float>::quiet_NaN();

/// Marks the keys that some query of a plane sees.
void mark_seen(const Plane& plane, std::vector<bool>& seen) {
  std::vector<Index> edges(seen.size() + 1), counts(seen.size());
  for (std::size_t i = 0; i < edges.size(); ++i) edges[i] = static_cast<Index>(i);
  plane.counts({0, plane.queries()}, edges, counts);
  for (std::size_t j = 0; j < seen.size(); ++j) {
    if (counts[j] > 0) seen[j] = true;
  }
}

/// Whether row n has the same bits in both outputs; rows run along the last axis.
bool same_row(const Tensor& a, const Tensor& b, Index n) {
  const std::size_t bytes = as_size(a.shape().back() * size_bytes(a.dtype()));
  return std::ranges::equal(a.bytes().subspan(as_size(n) * bytes, bytes),
                            b.bytes().subspan(as_size(n) * bytes, bytes));
}

/// Returns the first row that changed although it does not see key j, as in "batch 0, head 1, query
/// 5"; empty if there is none. `mean`: rows without a key see all values.
std::string changed_row(const Tensor& clean, const Tensor& changed, const ProbeShape& shape,
                        const Mask& mask, bool mean, Index j) {
  for (Index b = 0; b < shape.batch; ++b) {
    for (Index h = 0; h < shape.heads; ++h) {
      const Plane& plane = *mask.plane(b, h);
      for (Index i = 0; i < shape.queries; ++i) {
        if (plane.count({i, i + 1}, {j, j + 1}) > 0) continue;
        if (mean && plane.count({i, i + 1}, {0, plane.keys()}) == 0) continue;
        if (!same_row(clean, changed,
                      vector_at(shape.layout, b, i, h, shape.queries, shape.heads))) {
          return fmt::format("batch {}, head {}, query {}", b, h, i);
        }
      }
    }
  }
  return {};
}

// Rows of inputs, for operations without a mask.

/// Some rows of all arrays that have the same number of rows, such as keys and values.
struct InputRows {
  std::vector<std::string> arrays;
  Range rows;
};

/// Returns all rows of the inputs of which a result may need only some rows. Gates and queries are
/// left out: gates determine where chunks are cut, and so change the rounding of everything in a
/// chunk.
std::vector<InputRows> all_inputs(const Operation& operation, const NamedArguments& arguments) {
  std::map<Index, InputRows> by_rows;
  for (const Field& field : form_of(operation, arguments).fields) {
    if (!field.is(kByRows)) continue;
    const auto found = arguments.arrays.find(std::string(field.name));
    if (found == arguments.arrays.end() || found->second.elements() == 0) continue;
    const Index rows = found->second.elements() / found->second.shape().back();
    InputRows& input = by_rows[rows];
    input.rows = {0, rows};
    input.arrays.push_back(found->first);
  }
  std::vector<InputRows> out;
  out.reserve(by_rows.size());
  for (auto& [rows, input] : by_rows) out.push_back(std::move(input));
  return out;
}

void fill(NamedArguments& arguments, const InputRows& input, float value) {
  for (const std::string& array : input.arrays) {
    for (Index n = input.rows.begin; n < input.rows.end; ++n) {
      fill_row(arguments.arrays.at(array), n, value);
    }
  }
}

NamedArguments filled(NamedArguments arguments, const InputRows& input, float value) {
  fill(arguments, input, value);
  return arguments;
}

/// Returns the results of a call without the cache that it updates, since the cache keeps rows that
/// nothing reads.
NamedResults results_on(Backend backend, const Operation& operation, NamedArguments arguments) {
  arguments.context.backend = backend;
  NamedResults results = run(operation, arguments);
  results.erase("kv_cache");
  return results;
}

/// The name of the first result whose bits differ; empty if there is none.
std::string changed_result(const NamedResults& a, const NamedResults& b) {
  for (const auto& [name, array] : a) {
    if (!same_bits(array, b.at(name))) return name;
  }
  return {};
}

/// How many runs of the reference are allowed: the smaller the call, the more.
Index most_calls(const NamedArguments& arguments) {
  Index elements = 1;
  for (const auto& [name, array] : arguments.arrays) elements += array.elements();
  return std::clamp<Index>((Index{1} << 24) / elements, 16, 512);
}

std::vector<InputRows> unread_inputs(const Operation& operation, const NamedArguments& arguments,
                                     Backend reference) {
  const NamedResults clean = results_on(reference, operation, arguments);
  const std::vector<InputRows> all = all_inputs(operation, arguments);
  std::deque<InputRows> left(all.begin(), all.end());
  std::vector<InputRows> unread;
  for (Index calls = most_calls(arguments); calls > 0 && !left.empty(); --calls) {
    const InputRows input = left.front();
    left.pop_front();
    const NamedArguments dirty = filled(arguments, input, kPoison);
    if (changed_result(clean, results_on(reference, operation, dirty)).empty()) {
      unread.push_back(input);
    } else if (input.rows.size() > 1) {
      const Index middle = input.rows.begin + input.rows.size() / 2;
      left.push_back({input.arrays, {input.rows.begin, middle}});
      left.push_back({input.arrays, {middle, input.rows.end}});
    }
  }
  return unread;
}

/// The results of an operation before and after some of its inputs changed.
struct Change {
  const NamedResults& before;
  NamedResults after;

  bool changes(const std::string& name, Index element) const {
    const Tensor &a = before.at(name), &b = after.at(name);
    const Index size = size_bytes(a.dtype());
    return !std::ranges::equal(a.bytes().subspan(as_size(element * size), as_size(size)),
                               b.bytes().subspan(as_size(element * size), as_size(size)));
  }
};

/// The name, such as "out", of the first result with an element that changed although the reference
/// left it unchanged; empty if there is none.
std::string changed_beside(const Change& seen, const Change& judged) {
  for (const auto& [name, array] : seen.before) {
    for (Index i = 0; i < array.elements(); ++i) {
      if (seen.changes(name, i) && !judged.changes(name, i)) return name;
    }
  }
  return {};
}

}  // namespace

VerifyCheck check_unseen_keys(const Operation& operation, const NamedArguments& arguments,
                              const Mask& mask) {
  VerifyCheck check{"unseen keys", VerifyCheck::State::kSkipped, "every key is seen"};
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
        mark_seen(*mask.plane(b, h), seen);
      }
      for (Index j = 0; j < shape.keys; ++j) {
        if (seen[as_size(j)]) continue;
        ++unseen;
        fill_key(poisoned, shape, b, j, u, kPoison);
      }
    }
  }
  if (unseen == 0) return check;
  const NamedResults clean = run(operation, arguments), dirty = run(operation, poisoned);
  check.state = VerifyCheck::State::kPassed;
  check.detail = fmt::format("{} of NaN change no bit", unseen);
  for (const auto& [name, array] : clean) {
    if (same_bits(array, dirty.at(name))) continue;
    check.state = VerifyCheck::State::kFailed;
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
      return {"closed keys", VerifyCheck::State::kFailed,
              fmt::format("key {} changes {}, which does not see it", j, row)};
    }
  }
  return {"closed keys", VerifyCheck::State::kPassed,
          fmt::format("{} keys changed, no other row by a bit", tried)};
}

VerifyCheck check_unread_inputs(const Operation& operation, const NamedArguments& arguments,
                                Backend against) {
  const std::vector<InputRows> unread = unread_inputs(operation, arguments, against);
  if (unread.empty()) return {"unread inputs", VerifyCheck::State::kSkipped, "every row is read"};
  NamedArguments dirty = arguments;
  std::set<std::string> names;
  Index rows = 0;
  for (const InputRows& input : unread) {
    fill(dirty, input, kPoison);
    names.insert(input.arrays.begin(), input.arrays.end());
    rows += input.rows.size();
  }
  const std::string where = fmt::format("NaN in {} rows of {}", rows,
                                        joined(std::vector(names.begin(), names.end()), ", "));
  const std::string changed =
      changed_result(results_on(arguments.context.backend, operation, arguments),
                     results_on(arguments.context.backend, operation, dirty));
  if (changed.empty()) {
    return {"unread inputs", VerifyCheck::State::kPassed, where + " changes no bit"};
  }
  return {"unread inputs", VerifyCheck::State::kFailed,
          fmt::format("{}, which the reference does not read, changes {}", where, changed)};
}

VerifyCheck check_other_outputs(const Operation& operation, const NamedArguments& arguments,
                                Backend against) {
  const NamedArguments forward = without_gradients(arguments);
  const NamedResults clean = results_on(forward.context.backend, operation, forward),
                     judged = results_on(against, operation, forward);
  Index tried = 0;
  for (const auto& [arrays, rows] : all_inputs(operation, arguments)) {
    for (const Index n : std::set<Index>{0, rows.size() / 2, rows.size() - 1}) {
      const InputRows one{arrays, {n, n + 1}};
      const float value = ++tried % 2 == 0 ? 1000.F : -1000.F;
      const Change seen{
          clean, results_on(forward.context.backend, operation, filled(forward, one, value))};
      const Change expected{judged, results_on(against, operation, filled(forward, one, kPoison))};
      const std::string changed = changed_beside(seen, expected);
      if (changed.empty()) continue;
      return {"other outputs", VerifyCheck::State::kFailed,
              fmt::format("row {} of {} changes elements of {} that the reference makes without it",
                          n, joined(arrays, ", "), changed)};
    }
  }
  return {"other outputs", VerifyCheck::State::kPassed,
          fmt::format("{} rows changed, no element beside theirs by a bit", tried)};
}

}  // namespace maskctl::attention
