// Reads the lengths of documents from an array of ids.
#include <algorithm>

#include "maskctl/translate/read/expression.h"

namespace maskctl {
namespace {

bool has_name(const Python& call, std::string_view name) { return last_name(call.text) == name; }

/// Removes what only copies an array: ids[None] (a batch of one), ids.to(device).
Python without_copies(const LibrarySource& source, const Python& ids) {
  Python value = resolved(source.text, ids);
  for (int steps = 0; steps < 8; ++steps) {
    const bool row = value.kind == Python::Kind::kSubscript && value.items.size() == 2 &&
                     value.items[1].is_word("None");
    const bool copy = value.kind == Python::Kind::kCall && !value.items.empty() &&
                      (has_name(value, "to") || has_name(value, "cuda") ||
                       has_name(value, "asarray") || has_name(value, "array")) &&
                      resolved(source.text, value.items[0]).kind != Python::Kind::kList &&
                      value.text.find("repeat") == value.text.npos;
    if (!row && !copy) break;
    value = resolved(source.text, value.items[0]);
  }
  return value;
}

/// True if the ids that are repeated are 0, 1, 2, ..., so that each is a document of its own.
bool counts_up(const LibrarySource& source, const Python& repeat) {
  if (repeat.text.find("arange") != repeat.text.npos) return true;
  const Python what = resolved(source.text, repeat.items[0]);
  return what.kind == Python::Kind::kCall && has_name(what, "arange");
}

}  // namespace

std::optional<std::vector<Index>> id_lengths(const LibrarySource& source, const Python& ids,
                                             bool padded) {
  const Python value = without_copies(source, ids);
  const bool repeats =
      value.kind == Python::Kind::kCall && value.items.size() >= 2 &&
      (value.text.find("repeat_interleave") != value.text.npos || has_name(value, "repeat"));
  if (repeats && !counts_up(source, value)) return std::nullopt;
  if (repeats) return numbers_in(source.text, value.items[1]);
  const auto numbers = numbers_in(source.text, value);
  if (!numbers) return std::nullopt;
  std::vector<Index> out, seen;
  for (auto id = numbers->begin(); id != numbers->end(); ++id) {
    if (padded && *id < 0) {
      const bool rest = std::all_of(id, numbers->end(), [](Index n) { return n == -1; });
      return rest ? std::optional(out) : std::nullopt;
    }
    if (!seen.empty() && seen.back() == *id) {
      ++out.back();
    } else if (std::ranges::find(seen, *id) != seen.end()) {
      return std::nullopt;
    } else {
      seen.push_back(*id);
      out.push_back(1);
    }
  }
  return out;
}

}  // namespace maskctl
