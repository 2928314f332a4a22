#include "maskctl/inspect/diff/descriptions.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/mask/arrays/array_kinds.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

using What = Contradiction::What;
using Says = std::int8_t;  // 1 or 0; -1 where an array says nothing

/// What one array says of the tokens of all rows, one row after another.
struct Tokens {
  Index rows = 0, length = 0;
  std::vector<Says> real, starts;
  std::vector<bool> padding;  // for this array, or for another of the batch
  /// Tokens that cumulative lengths of real tokens leave out: padding by this array or, if it tells
  /// of none, by the others or as guessed from positions.
  std::vector<bool> left_out;

  Index size() const { return rows * length; }
  bool tells_padding() const { return !real.empty() && real[0] >= 0; }
};

[[noreturn]] void refuse_array(const TokenArray& given, const char* expected) {
  throw Error(Errc::kShape,
              fmt::format("{}: {} {}; expected {}", printable(given.name),
                          name(given.array.dtype()), shape_text(given.array.shape()), expected));
}

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();

/// An id for each token: that of its document, 0 for a real token of flags, or kNone for padding.
std::vector<std::int64_t> ids_in(const TokenArray& given) {
  const bool positions = given.form == TokenForm::kPositions;
  std::vector<std::int64_t> out =
      as_int64(positions ? documents_from_positions(given.array) : given.array, "ids");
  for (std::int64_t& one : out) {
    if (given.form == TokenForm::kPadding) {
      one = one == 0 ? kNone : 0;
    } else if (one == (positions ? -1 : given.pad_id)) {
      one = kNone;
    }
  }
  return out;
}

/// Converts ids or flags to integers.
TokenArray in_integers(TokenArray given) {
  if (given.form == TokenForm::kPadding) {
    given.array = astype(astype(token_flags(given.array), DType::kBool), DType::kInt64);
  }
  const Index rank = given.array.rank();
  if (rank < 1 || rank > 2 || !is_integer(given.array.dtype())) {
    refuse_array(given, "integers, or flags of padding, [S] or [B,S]");
  }
  return given;
}

Tokens tokens_of(const TokenArray& given) {
  const Tensor& array = given.array;
  const std::vector<std::int64_t> ids = ids_in(given);
  Tokens out{
      array.rank() == 1 ? 1 : array.extent(0), array.extent(array.rank() - 1), {}, {}, {}, {}};
  const bool flags = given.form == TokenForm::kPadding;
  const bool tells =
      flags || (given.form == TokenForm::kSegments && std::ranges::find(ids, kNone) != ids.end());
  bool before = false;  // whether a token stands before in the row
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const bool begins = static_cast<Index>(i) % out.length == 0, is_token = ids[i] != kNone;
    if (begins) before = false;
    // Of flags, it is only known that the first token of a row starts a document.
    const bool knows = is_token && !(flags && before);
    out.starts.push_back(knows ? begins || ids[i] != ids[i - 1] : Says{-1});
    out.real.push_back(tells ? is_token : Says{-1});
    out.padding.push_back(!is_token);
    before = before || is_token;
  }
  return out;
}

std::vector<Index> lengths_of(const TokenArray& given) {
  if (given.array.rank() != 1 || given.array.elements() == 0 || !is_integer(given.array.dtype())) {
    refuse_array(given, "cumulative lengths, integers [N+1]");
  }
  const auto ends = as_int64(given.array, "cumulative lengths");
  std::vector<Index> out;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (i == 0 ? ends[0] != 0 : ends[i] < ends[i - 1]) {
      throw Error(Errc::kInvalidArgument,
                  fmt::format("{}: entry {} is {}; cumulative lengths start with 0 and never fall",
                              printable(given.name), i, ends[i]));
    }
    if (i > 0) out.push_back(ends[i] - ends[i - 1]);
  }
  return out;
}

Index sum_of(const std::vector<Index>& lengths) {
  Index out = 0;
  for (const Index length : lengths) out += length;
  return out;
}

/// Counts the tokens in which two arrays contradict each other in one way, and keeps the first.
struct Tally {
  Contradiction found;

  Tally(What what, std::size_t first, std::size_t second) : found{what, first, second, 0, 0, 0} {}
  void add(bool of_first, Index batch, Index token, Index tokens = 1) {
    if (tokens <= 0) return;
    if (found.count == 0) {
      found.batch = batch, found.token = token;
      if (!of_first) std::swap(found.first, found.second);
    }
    found.count += tokens;
  }
};

std::optional<Contradiction> first_of(std::initializer_list<const Tally*> tallies) {
  for (const Tally* one : tallies) {
    if (one->found.count > 0) return one->found;
  }
  return std::nullopt;
}

/// Compares two arrays with an element for each token.
std::optional<Contradiction> compare_tokens(const Tokens& a, const Tokens& b, std::size_t first,
                                            std::size_t second) {
  Tally tokens(What::kTokens, first, second), padding(What::kPadding, first, second),
      starts(What::kStart, first, second);
  const Index rows = std::max(a.rows, b.rows), length = std::min(a.length, b.length);
  for (Index row = 0; row < rows; ++row) {
    tokens.add(a.length > b.length, row, length, std::max(a.length, b.length) - length);
    const auto at_a = as_size((a.rows == 1 ? 0 : row) * a.length),
               at_b = as_size((b.rows == 1 ? 0 : row) * b.length);
    for (Index i = 0; i < length; ++i) {
      const std::size_t x = at_a + as_size(i), y = at_b + as_size(i);
      if (a.real[x] >= 0 && b.real[y] >= 0 && a.real[x] != b.real[y]) {
        padding.add(a.real[x] > b.real[y], row, i);
      }
      const bool known = a.starts[x] >= 0 && b.starts[y] >= 0 && !a.padding[x] && !b.padding[y];
      if (known && a.starts[x] != b.starts[y]) starts.add(a.starts[x] > b.starts[y], row, i);
    }
  }
  return first_of({&tokens, &padding, &starts});
}

/// Compares two arrays of cumulative lengths.
std::optional<Contradiction> compare_ends(const std::vector<Index>& a, const std::vector<Index>& b,
                                          std::size_t first, std::size_t second) {
  if (a == b) return std::nullopt;
  Tally ends(What::kPaddedEnds, first, second);
  const bool more = sum_of(a) > sum_of(b);
  const std::vector<Index>&padded = more ? a : b, &real = more ? b : a;
  bool fits = a.size() == b.size();
  Index begin = 0;
  for (std::size_t i = 0; fits && i < padded.size(); ++i) {
    fits = real[i] <= padded[i];
    ends.add(more, 0, begin + real[i], padded[i] - real[i]);
    begin += padded[i];
  }
  if (fits) return first_of({&ends});
  Tally starts(What::kStart, first, second), tokens(What::kTokens, first, second);
  const Index least = std::min(sum_of(a), sum_of(b));
  Index of_a = 0, of_b = 0;
  for (std::size_t i = 0, j = 0; std::min(of_a, of_b) < least;) {
    if (of_a != of_b) starts.add(of_a < of_b, 0, std::min(of_a, of_b));
    const Index at = std::min(of_a, of_b);
    while (of_a <= at && i < a.size()) of_a += a[i++];
    while (of_b <= at && j < b.size()) of_b += b[j++];
  }
  tokens.add(more, 0, least, std::max(sum_of(a), sum_of(b)) - least);
  return first_of({&starts, &tokens});
}

/// Compares cumulative lengths with an array that has an element for each token.
class AgainstLengths {
 public:
  AgainstLengths(const std::vector<Index>& lengths, const Tokens& tokens, std::size_t of_lengths,
                 std::size_t of_tokens)
      : lengths_(lengths), tokens_(tokens), first_(of_lengths), second_(of_tokens) {}

  std::optional<Contradiction> run() const {
    const Index total = sum_of(lengths_);
    std::vector<Index> rows(as_size(tokens_.rows)), places, all;
    for (Index i = 0; i < tokens_.size(); ++i) {
      all.push_back(i);
      if (tokens_.left_out[as_size(i)]) continue;
      places.push_back(i);
      ++rows[as_size(i / tokens_.length)];
    }
    if (total == std::ssize(places)) return in(places);
    const bool a_row_each = tokens_.rows > 1 && rows.size() == lengths_.size();
    if (!a_row_each || total == tokens_.size()) return in(all);
    return tokens_.tells_padding() ? by_row(rows) : std::nullopt;
  }

 private:
  std::optional<Contradiction> by_row(const std::vector<Index>& rows) const {
    Tally out(What::kRowTokens, first_, second_);
    for (std::size_t i = 0; i < rows.size() && out.found.count == 0; ++i) {
      out.add(lengths_[i] > rows[i], static_cast<Index>(i), std::min(lengths_[i], rows[i]),
              std::abs(lengths_[i] - rows[i]));
    }
    return first_of({&out});
  }

  /// Lays the documents over these tokens, one after another, and returns the first contradiction.
  std::optional<Contradiction> in(const std::vector<Index>& places) const {
    Tally tokens(What::kTokens, first_, second_), padding(What::kPadding, first_, second_),
        starts(What::kStart, first_, second_), ends(What::kPaddedEnds, first_, second_);
    bool all_at_ends = true;
    std::size_t at = 0;
    for (const Index length : lengths_) {
      bool ended = false;
      for (Index i = 0; i < length && at < places.size(); ++i, ++at) {
        const auto place = as_size(places[at]);
        const Index batch = places[at] / tokens_.length, token = places[at] % tokens_.length;
        const bool is_padding = tokens_.real[place] == 0;
        if (is_padding) padding.add(true, batch, token), ends.add(true, batch, token);
        ended = ended || is_padding;
        if (tokens_.padding[place]) continue;
        all_at_ends = all_at_ends && !ended;
        const Says starts_there = tokens_.starts[place];
        if (starts_there >= 0 && starts_there != (i == 0)) starts.add(i == 0, batch, token);
      }
    }
    const Index excess = sum_of(lengths_) - std::ssize(places);
    tokens.add(true, tokens_.rows - 1, tokens_.length, excess);
    for (; at < places.size(); ++at) {
      if (tokens_.real[as_size(places[at])] != 1) continue;
      all_at_ends = false;
      padding.add(false, places[at] / tokens_.length, places[at] % tokens_.length);
    }
    if (all_at_ends && starts.found.count == 0 && excess <= 0) return first_of({&ends});
    return first_of({&tokens, &padding, &starts});
  }

  const std::vector<Index>& lengths_;
  const Tokens& tokens_;
  std::size_t first_, second_;
};

/// All arrays of a batch, read.
struct Read {
  std::vector<Tokens> tokens;               // empty for cumulative lengths
  std::vector<std::vector<Index>> lengths;  // empty for others
};

/// Marks in each array the tokens that are padding for any array. If a token is padding only for
/// other arrays, it is not known whether the next one starts a document.
void share_padding(std::vector<Tokens>& all) {
  for (Tokens& one : all) {
    std::vector<bool> others(one.padding.size());
    bool told = false;
    for (const Tokens& other : all) {
      if (other.length != one.length || (other.rows != one.rows && other.rows != 1)) continue;
      if (!other.tells_padding()) continue;
      told = true;
      for (Index i = 0; i < one.size(); ++i) {
        if (other.real[as_size(other.rows == 1 ? i % one.length : i)] == 0)
          others[as_size(i)] = true;
      }
    }
    one.left_out = told && !one.tells_padding() ? others : one.padding;
    for (std::size_t i = 0; i < others.size(); ++i) {
      if (others[i]) one.padding[i] = true;
      const bool begins = static_cast<Index>(i) % one.length == 0;
      if (!begins && one.padding[i - 1] && one.real[i - 1] != 0) one.starts[i] = -1;
    }
  }
}

Read read_arrays(std::span<const TokenArray> arrays) {
  Read out;
  out.tokens.resize(arrays.size());
  out.lengths.resize(arrays.size());
  Index rows = 1;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].form == TokenForm::kCuSeqlens) {
      out.lengths[i] = lengths_of(arrays[i]);
      continue;
    }
    out.tokens[i] = tokens_of(in_integers(arrays[i]));
    if (out.tokens[i].size() == 0) refuse_array(arrays[i], "at least one token");
    if (rows > 1 && out.tokens[i].rows > 1 && out.tokens[i].rows != rows) {
      refuse_array(arrays[i], "as many rows as the others");
    }
    rows = std::max(rows, out.tokens[i].rows);
  }
  share_padding(out.tokens);
  return out;
}

}  // namespace

std::vector<Contradiction> contradictions(std::span<const TokenArray> arrays) {
  const Read read = read_arrays(arrays);
  std::vector<Contradiction> out;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    for (std::size_t j = i + 1; j < arrays.size(); ++j) {
      const bool cu_i = arrays[i].form == TokenForm::kCuSeqlens,
                 cu_j = arrays[j].form == TokenForm::kCuSeqlens;
      const std::size_t cu = cu_i ? i : j, other = cu_i ? j : i;
      const auto found = cu_i && cu_j ? compare_ends(read.lengths[i], read.lengths[j], i, j)
                         : cu_i || cu_j
                             ? AgainstLengths(read.lengths[cu], read.tokens[other], cu, other).run()
                             : compare_tokens(read.tokens[i], read.tokens[j], i, j);
      if (found) out.push_back(*found);
    }
  }
  return out;
}

std::string contradiction_words(const Contradiction& found, std::span<const TokenArray> arrays) {
  const std::string first = printable(arrays[found.first].name),
                    second = printable(arrays[found.second].name);
  const auto rows = [](const TokenArray& one) {
    return one.array.rank() >= 2 ? one.array.extent(0) : Index{1};
  };
  const bool batches = rows(arrays[found.first]) > 1 || rows(arrays[found.second]) > 1;
  const std::string row = batches ? fmt::format("batch {}, ", found.batch) : "";
  const std::string more =
      found.count > 1 ? fmt::format(" ({} tokens in all)", found.count) : std::string();
  switch (found.what) {
    case What::kTokens:
      return fmt::format("{}{} has {} more than {}, which has {}", row, first,
                         counted(found.count, "token"), second, found.token);
    case What::kRowTokens: {
      const bool cu_first = arrays[found.first].form == TokenForm::kCuSeqlens;
      const Index larger = found.token + found.count;
      return fmt::format("document {} of {} has {}, row {} of {} has {} that are real", found.batch,
                         cu_first ? first : second,
                         counted(cu_first ? larger : found.token, "token"), found.batch,
                         cu_first ? second : first, cu_first ? found.token : larger);
    }
    case What::kPadding:
      return fmt::format("{}{} says that token {} is real, {} that it is padding{}", row, first,
                         found.token, second, more);
    case What::kPaddedEnds:
      return fmt::format("{}{} counts token {} as one of a document, at whose end {} has padding{}",
                         row, first, found.token, second, more);
    case What::kStart:
      break;
  }
  return fmt::format("{}{} starts a document at token {}, where one of {} goes on{}", row, first,
                     found.token, second, more);
}

}  // namespace maskctl
