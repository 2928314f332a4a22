// Says when findings about several arrays of one batch are true, from plain ids and numbers.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "inspect/claims/claim.h"

namespace maskctl::test {

/// One array that describes the tokens of a batch.
struct Described {
  std::string name;
  DocumentForm form = DocumentForm::kSegments;
  bool flags = false;  // of padding; then `form` says nothing
  std::int32_t pad_id = -1;
  std::vector<std::vector<std::int64_t>> rows;

  bool is(DocumentForm other) const { return !flags && form == other; }
  Index length() const { return std::ssize(rows[0]); }
  std::int64_t total() const { return rows[0].back(); }
  std::int64_t at(Index b, Index i) const {
    return rows[rows.size() == 1 ? 0 : static_cast<std::size_t>(b)][static_cast<std::size_t>(i)];
  }
  /// True if the token is real and not padding; nothing if the array does not say.
  std::optional<bool> is_real(Index b, Index i) const {
    if (flags) return at(b, i) != 0;
    if (is(DocumentForm::kPositions)) return std::nullopt;
    for (const auto& row : rows) {
      if (std::ranges::count(row, pad_id) > 0) return at(b, i) != pad_id;
    }
    return std::nullopt;
  }
  bool starts(Index b, Index i) const {
    if (i == 0) return true;
    if (flags) return at(b, i) != 0 && at(b, i - 1) == 0;
    return at(b, i) != at(b, i - 1) + (is(DocumentForm::kPositions) ? 1 : 0);
  }
};

/// The two arrays of a batch that a finding names, in the order of its message.
class TwoDescribed {
 public:
  explicit TwoDescribed(const Claimed& claim) : message_(claim.finding.message) {
    if (claim.given.own_documents) add(*claim.given.own_documents);
    if (claim.given.documents) add(*claim.given.documents);
    for (const DocumentSource& source : claim.given.also) add(source);
    std::ranges::sort(all_, {}, [this](const Described& one) { return message_.find(one.name); });
  }

  const Described& first() const { return all_[0]; }
  const Described& second() const { return all_[1]; }
  bool are_ends() const {
    return first().is(DocumentForm::kCuSeqlens) && second().is(DocumentForm::kCuSeqlens);
  }
  bool says(const char* words) const { return message_.find(words) != std::string::npos; }

  /// The index of a token among the tokens that cumulative lengths count: all tokens, or only real
  /// ones.
  std::optional<Index> number(const Described& ends, Index b, Index i) const {
    const Described& other = &ends == &first() ? second() : first();
    Index real = 0;
    std::optional<Index> own;
    for (Index row = 0; row < std::ssize(other.rows); ++row)
      for (Index t = 0; t < other.length(); ++t) {
        if (!other.is_real(row, t).value_or(!is_padding(row, t))) continue;
        if (row == b && t == i) own = real;
        ++real;
      }
    return real == ends.total() ? own : b * other.length() + i;
  }
  std::optional<bool> is_real(const Described& one, Index b, Index i) const {
    if (!one.is(DocumentForm::kCuSeqlens)) return one.is_real(b, i);
    const auto number = this->number(one, b, i);
    return number && *number < one.total();
  }
  bool starts(const Described& one, Index b, Index i) const {
    if (!one.is(DocumentForm::kCuSeqlens)) return one.starts(b, i);
    const auto number = this->number(one, b, i);
    return number && std::ranges::count(one.rows[0], *number) > 0;
  }
  /// The number of tokens in documents of the first array that are padding in the second; -1 if one
  /// of them is before another token of its document.
  Index padded_ends() const {
    Index out = 0;
    for (std::size_t d = 0; d + 1 < first().rows[0].size(); ++d) {
      bool ended = false;
      for (std::int64_t i = first().rows[0][d]; i < first().rows[0][d + 1]; ++i) {
        const Index behind = i - first().rows[0][d], length = second().length();
        const bool elsewhere = !are_ends() && is_padding(i / length, i % length);
        if (elsewhere && second().is_real(i / length, i % length).value_or(true)) continue;
        const bool padding = are_ends() ? behind >= second().rows[0][d + 1] - second().rows[0][d]
                                        : !second().is_real(i / length, i % length).value_or(true);
        if (ended && !padding) return -1;
        ended = padding;
        out += padding;
      }
    }
    return out;
  }

 private:
  void add(const DocumentSource& source) {
    const auto add_array = [&](const Tensor& array, bool flags, const std::string& name) {
      Described one{name, source.form, flags, source.pad_id, {}};
      for (Index b = 0; b < (array.rank() == 1 ? 1 : array.extent(0)); ++b)
        one.rows.push_back(Claimed::row(array, b));
      all_.push_back(std::move(one));
    };
    if (source.q.elements() > 0) add_array(source.q, false, source.text);
    if (source.real) add_array(*source.real, true, source.real_text);
  }
  /// True if the token is padding in some array.
  bool is_padding(Index b, Index i) const {
    return std::ranges::any_of(all_, [&](const Described& one) {
      return !one.is(DocumentForm::kCuSeqlens) && !one.is_real(b, i).value_or(true);
    });
  }

  std::string message_;
  std::vector<Described> all_;
};

inline DocumentSource described(DocumentForm form, const Tensor& array, std::string name) {
  return {.form = form, .q = array, .text = std::move(name)};
}

/// True if two arrays of a batch contradict each other as the message says.
inline bool descriptions_differ(const Claimed& claim) {
  const TwoDescribed two(claim);
  const Index b = claim.b(), i = claim.at(claim.finding.where.entry);
  const Described &first = two.first(), &second = two.second();
  if (two.says("is real")) {
    return two.is_real(first, b, i) == true && two.is_real(second, b, i) == false;
  }
  if (two.says("starts a document")) {
    if (!two.are_ends()) return two.starts(first, b, i) && !two.starts(second, b, i);
    return std::ranges::count(first.rows[0], i) > 0 && std::ranges::count(second.rows[0], i) == 0;
  }
  if (two.says("that are real")) {
    const bool ends_first = first.is(DocumentForm::kCuSeqlens);
    const auto& ends = (ends_first ? first : second).rows[0];
    const Described& other = ends_first ? second : first;
    Index real = 0;
    for (Index t = 0; t < other.length(); ++t) real += other.is_real(b, t).value_or(true);
    const auto length = ends[static_cast<std::size_t>(b) + 1] - ends[static_cast<std::size_t>(b)];
    return std::abs(length - real) == claim.count() && length != real;
  }
  const auto tokens = [](const Described& one) {
    return one.is(DocumentForm::kCuSeqlens) ? one.total() : one.length() * std::ssize(one.rows);
  };
  return two.says("more than") && tokens(first) > tokens(second);
}

/// True if the two arrays differ only in padding at the ends of documents of the first.
inline bool lengths_are_padded(const Claimed& claim) {
  const TwoDescribed two(claim);
  return two.first().is(DocumentForm::kCuSeqlens) && two.padded_ends() == claim.count();
}

template <>
struct Claim<FindingId::kPositionsSegments> {
  static Example example() {
    return {.has = "ids.npy --as segments --positions a.npy",
            .lacks = "ids.npy --as segments --positions b.npy",
            .arrays = {{"ids", i32({1, 6}, {0, 0, 1, 1, 2, 2})},
                       {"a", i32({1, 6}, {0, 1, 2, 3, 0, 1})},
                       {"b", i32({1, 6}, {0, 1, 0, 1, 0, 1})}}};
  }
  static CheckedMask question() {
    const Tensor ids = i32({1, 6}, {0, 0, 1, 1, 2, 2}), on = i32({1, 6}, {0, 1, 2, 3, 0, 1});
    return {.start = mask_from_segments(ids, ids, -1),
            .documents = described(DocumentForm::kPositions, on, "a.npy"),
            .own_documents = described(DocumentForm::kSegments, ids, "ids.npy")};
  }
  static bool holds(const Claimed& claim) { return descriptions_differ(claim); }
};

template <>
struct Claim<FindingId::kDescriptionsDiffer> {
  static Example example() {
    return {.has = "cu.npy --as cu_seqlens --segments a.npy",
            .lacks = "cu.npy --as cu_seqlens --segments b.npy",
            .arrays = {{"cu", i32({0, 3, 9})},
                       {"a", i32({0, 0, 0, 1, 1, 1, 2, 2, 2})},
                       {"b", i32({0, 0, 0, 1, 1, 1, 1, 1, 1})}}};
  }
  static CheckedMask question() {
    return {
        .start = {},
        .documents = described(DocumentForm::kSegments, i32({0, 0, 0, 1, 1, 1, 2, 2, 2}), "a.npy"),
        .own_documents = described(DocumentForm::kCuSeqlens, i32({0, 3, 9}), "cu.npy")};
  }
  static bool holds(const Claimed& claim) { return descriptions_differ(claim); }
};

template <>
struct Claim<FindingId::kLengthsPadded> {
  static Example example() {
    return {.has = "cu.npy --as cu_seqlens --padding a.npy",
            .lacks = "cu.npy --as cu_seqlens --padding b.npy",
            .arrays = {{"cu", i32({0, 3, 9})},
                       {"a", i32({1, 1, 0, 1, 1, 1, 1, 1, 0})},
                       {"b", i32({1, 1, 1, 1, 1, 1, 1, 1, 1})}}};
  }
  static CheckedMask question() {
    CheckedMask out{.start = {},
                    .own_documents = described(DocumentForm::kCuSeqlens, i32({0, 3, 9}), "cu.npy")};
    out.own_documents->real = i32({1, 1, 0, 1, 1, 1, 1, 1, 0});
    out.own_documents->real_text = "a.npy";
    return out;
  }
  static bool holds(const Claimed& claim) { return lengths_are_padded(claim); }
};

}  // namespace maskctl::test
