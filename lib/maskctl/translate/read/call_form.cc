// The form of a mask from the arguments of a call.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "maskctl/translate/read/call.h"

namespace maskctl {
namespace {

class CallForm {
 public:
  /// `position` is that of the call in the text.
  CallForm(const LibrarySource& source, Index position) : source_(source), position_(position) {}
  MaskForm of(const ParsedCall& parsed) const;

 private:
  std::vector<Index> key_starts(const ParsedCall& parsed, std::size_t documents) const;
  void place_keys(MaskForm& form, const std::vector<Index>& starts) const;
  void use_part(MaskForm& form, const ParsedCall& parsed) const;

  const LibrarySource& source_;
  Index position_;
};

/// The first key of each document, then the number of all keys; empty if documents are contiguous.
std::vector<Index> CallForm::key_starts(const ParsedCall& parsed, std::size_t documents) const {
  if (!parsed.key_stride) return parsed.key_starts.value_or(std::vector<Index>{});
  std::vector<Index> out;
  for (std::size_t i = 0; i <= documents; ++i) {
    out.push_back(static_cast<Index>(i) * *parsed.key_stride);
  }
  return out;
}

/// Inserts documents without queries for the keys in the gaps between documents.
void CallForm::place_keys(MaskForm& form, const std::vector<Index>& starts) const {
  const std::vector<Index> lengths = std::exchange(form.lengths, {});
  const std::vector<Index> keys =
      form.kv_lengths.empty() ? lengths : std::exchange(form.kv_lengths, {});
  if (keys.size() != lengths.size() || starts.size() != keys.size() + 1) {
    source_.fail(position_,
                 fmt::format("{} documents of queries, {} of keys and {} starts of keys: expected "
                             "one start more than documents",
                             lengths.size(), keys.size(), starts.size()));
  }
  const auto add = [&](Index queries, Index of_keys) {
    form.lengths.push_back(queries);
    form.kv_lengths.push_back(of_keys);
  };
  if (starts.front() > 0) add(0, starts.front());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Index room = starts[i + 1] - starts[i];
    if (keys[i] > room) {
      source_.fail(position_, fmt::format("{} keys do not fit into {} places", keys[i], room));
    }
    add(lengths[i], keys[i]);
    add(0, room - keys[i]);
  }
}

/// Divides documents of which only the first queries and keys are used: the rest sees nothing.
void CallForm::use_part(MaskForm& form, const ParsedCall& parsed) const {
  const std::vector<Index> queries = std::exchange(form.lengths, {});
  const std::vector<Index> keys =
      form.kv_lengths.empty() ? queries : std::exchange(form.kv_lengths, {});
  const std::vector<Index> used_queries = parsed.used_queries.value_or(queries);
  const std::vector<Index> used_keys = parsed.used_keys.value_or(keys);
  const auto add = [&](Index of_queries, Index of_keys) {
    if (of_queries == 0 && of_keys == 0) return;
    form.lengths.push_back(of_queries);
    form.kv_lengths.push_back(of_keys);
  };
  const bool each = queries.size() == keys.size() && used_queries.size() == queries.size() &&
                    used_keys.size() == keys.size();
  for (std::size_t i = 0; each && i < queries.size(); ++i) {
    if (used_queries[i] > queries[i] || used_keys[i] > keys[i]) {
      source_.fail(
          position_,
          fmt::format("document {} has {} queries and {} keys, of which {} and {} are used", i,
                      queries[i], keys[i], used_queries[i], used_keys[i]));
    }
    add(used_queries[i], used_keys[i]);
    add(queries[i] - used_queries[i], 0);
    add(0, keys[i] - used_keys[i]);
  }
  if (!each) {
    source_.fail(position_,
                 fmt::format("{} documents, of which {} numbers of queries and {} of keys are used",
                             queries.size(), used_queries.size(), used_keys.size()));
  }
}

MaskForm CallForm::of(const ParsedCall& parsed) const {
  MaskForm out;
  out.align = parsed.align;
  out.left = parsed.left;
  out.right = parsed.right;
  if (parsed.keys) out.left = parsed.causal ? *parsed.keys - 1 : *parsed.keys;
  if (parsed.keys && !parsed.causal) out.right = *parsed.keys;
  if (parsed.both) out.left = out.right = parsed.both;
  if (parsed.causal) out.right = 0;
  if (out.left) *out.left -= parsed.offset;
  if (out.right) *out.right += parsed.offset;
  out.chunk = parsed.chunk;
  if (parsed.chunk && parsed.align == Align::kBottomRight) out.chunk_align = parsed.align;
  if (parsed.lengths) {
    out.documents = true;
    out.inside = true;
    out.lengths = *parsed.lengths;
    if (parsed.key_lengths && parsed.key_lengths != parsed.lengths)
      out.kv_lengths = *parsed.key_lengths;
    const std::vector<Index> starts = key_starts(parsed, out.lengths.size());
    if (!starts.empty()) place_keys(out, starts);
    if (parsed.used_queries || parsed.used_keys) use_part(out, parsed);
    if (out.kv_lengths.empty()) {
      out.align = Align::kUnset;
    } else if (out.kv_lengths.size() != out.lengths.size()) {
      source_.fail(position_, fmt::format("{} documents of queries and {} of keys",
                                          out.lengths.size(), out.kv_lengths.size()));
    }
  }
  if (parsed.valid_keys || parsed.valid_queries) {
    out.padding = parsed.valid_keys.value_or(*parsed.valid_queries);
    const bool same =
        !parsed.valid_queries || !parsed.valid_keys || parsed.valid_queries == parsed.valid_keys;
    if (!parsed.valid_keys || !same) {
      source_.fail(position_, "lengths of queries without equal ones of keys are not read");
    }
    out.pad_queries = parsed.valid_queries.has_value();
  }
  return out;
}

}  // namespace

MaskForm form_of_parsed(const LibrarySource& source, Index position, const ParsedCall& parsed) {
  return CallForm(source, position).of(parsed);
}

}  // namespace maskctl
