#include "maskctl/inspect/diff/known_documents.h"

#include <algorithm>
#include <map>
#include <span>
#include <variant>

#include "maskctl/inspect/diff/diff.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/words.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl {
namespace {

using IdSpan = std::span<const std::int32_t>;

/// The lengths of documents that follow each other from token 0 on, before tokens that are in none;
/// nothing for other ids.
std::optional<std::vector<Index>> lengths_of(IdSpan ids, std::int32_t pad_id) {
  std::vector<Index> out;
  std::map<std::int32_t, bool> seen;
  bool ended = false;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == pad_id) {
      ended = true;
    } else if (ended) {
      return std::nullopt;
    } else if (i > 0 && ids[i] == ids[i - 1]) {
      ++out.back();
    } else if (seen.emplace(ids[i], true).second) {
      out.push_back(1);
    } else {
      return std::nullopt;
    }
  }
  return out.empty() ? std::nullopt : std::optional(std::move(out));
}

NamedArray array_of(IdSpan ids) {
  NamedArray out{Tensor(DType::kInt32, {std::ssize(ids)}), ""};
  std::ranges::copy(ids, out.array.as<std::int32_t>().begin());
  return out;
}

Step step_of(IdSpan q, IdSpan kv, std::int32_t pad_id) {
  const bool shared = std::ranges::equal(q, kv);
  if (shared) {
    if (auto lengths = lengths_of(q, pad_id)) return {step::DocumentLengths{std::move(*lengths)}};
  }
  step::Document rule;
  rule.shared = shared;
  rule.pad_id = pad_id;
  rule.q = array_of(q);
  if (!shared) rule.kv = array_of(kv);
  return {std::move(rule)};
}

/// True if the arguments of a step are the same for each batch and head.
bool is_of_planes(const Step& step) {
  const StepInfo& info = info_of(step);
  return !info.chain && std::ranges::none_of(info.args, [&](const Field& field) {
    const FieldValue value = field.get(step);
    const auto* array = std::get_if<NamedArray>(&value);
    return array && !array->empty();
  });
}

/// For each row the first key that it sees, and the first row that sees each key; -1 for none.
struct FirstSeen {
  std::vector<std::int32_t> key_of_row, row_of_key;
};
FirstSeen first_seen(const Plane& plane) {
  FirstSeen out{std::vector<std::int32_t>(as_size(plane.queries()), -1),
                std::vector<std::int32_t>(as_size(plane.keys()), -1)};
  std::vector<Run> scratch;
  plane.rows({0, plane.queries()}, [&](Range rows, const Keys& keys) {
    const std::span<const Run> runs = as_runs(keys, scratch);
    if (runs.empty()) return;
    const std::int32_t first = runs.front().begin;
    std::fill(out.key_of_row.begin() + rows.begin, out.key_of_row.begin() + rows.end, first);
    if (out.row_of_key[as_size(first)] >= 0) return;  // the keys of a document that was seen before
    for (const Run& run : runs) {
      std::fill(out.row_of_key.begin() + run.begin, out.row_of_key.begin() + run.end,
                static_cast<std::int32_t>(rows.begin));
    }
  });
  return out;
}

}  // namespace

std::optional<Chain> documents_chain(const Documents& documents, Index batch, const Chain& steps,
                                     const PlanePtr& plane) {
  if (!std::ranges::all_of(steps, is_of_planes)) return std::nullopt;
  const IdSpan q = ids_of_batch(documents.q, batch), kv = ids_of_batch(documents.kv, batch);
  if (std::ssize(q) != plane->queries() || std::ssize(kv) != plane->keys()) return std::nullopt;
  Chain out{step_of(q, kv, documents.pad_id)};
  out.insert(out.end(), steps.begin(), steps.end());
  const Mask made = maskctl::apply(Mask(full_plane(plane->queries(), plane->keys())), out);
  const bool exact = made.queries() == plane->queries() && made.keys() == plane->keys() &&
                     differing_cells(made.plane(0, 0), plane) == 0;
  return exact ? std::optional(std::move(out)) : std::nullopt;
}

std::optional<Chain> documents_chain(const std::optional<Documents>& documents,
                                     const std::optional<Chain>& steps, Index batch,
                                     const PlanePtr& plane) {
  if (!documents || !steps) return std::nullopt;
  return documents_chain(*documents, batch, *steps, plane);
}

std::optional<Documents> documents_made_of(const Mask& mask) {
  Documents out{Tensor(DType::kInt32, {mask.batch(), mask.queries()}),
                Tensor(DType::kInt32, {mask.batch(), mask.keys()}), -1};
  for (Index b = 0; b < mask.batch(); ++b) {
    const PlanePtr& plane = mask.plane(b, 0);
    if (plane->queries() * plane->keys() == 0) return std::nullopt;
    const FirstSeen seen = first_seen(*plane);
    const auto q = out.q.as<std::int32_t>().subspan(as_size(b * mask.queries()));
    const auto kv = out.kv.as<std::int32_t>().subspan(as_size(b * mask.keys()));
    // The id of a document is its first key.
    std::ranges::copy(seen.key_of_row, q.begin());
    for (std::size_t k = 0; k < seen.row_of_key.size(); ++k) {
      const std::int32_t row = seen.row_of_key[k];
      kv[k] = row < 0 ? -1 : seen.key_of_row[as_size(row)];
    }
    for (Index h = 0; h < mask.heads(); ++h) {
      if (!documents_chain(out, b, {}, mask.plane(b, h))) return std::nullopt;
    }
  }
  return out;
}

}  // namespace maskctl
