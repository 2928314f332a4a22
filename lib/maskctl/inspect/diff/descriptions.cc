#include "maskctl/inspect/diff/descriptions.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

/// What one array says of the tokens of one row; -1 where it says nothing.
struct Row {
  std::vector<std::int8_t> real, starts;
};
using Rows = std::vector<Row>;

[[noreturn]] void refuse(const TokenArray& given, const char* expected) {
  throw Error(Errc::kShape,
              fmt::format("{}: {} {}; expected {}", printable(given.name),
                          name(given.array.dtype()), shape_text(given.array.shape()), expected));
}

Row row_of(const TokenArray& given, std::span<const std::int64_t> values) {
  Row out{std::vector<std::int8_t>(values.size(), -1), std::vector<std::int8_t>(values.size(), -1)};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool follows =
        i > 0 && values[i] == values[i - 1] + (given.form == TokenForm::kPositions);
    if (given.form == TokenForm::kPadding) out.real[i] = values[i] != 0;
    if (given.form == TokenForm::kSegments) out.real[i] = values[i] != given.pad_id;
    if (given.form != TokenForm::kPadding) out.starts[i] = !follows;
  }
  return out;
}

Rows rows_of(const TokenArray& given) {
  const Tensor& array = given.array;
  const bool is_flag = given.form == TokenForm::kPadding && array.dtype() == DType::kBool;
  if (array.rank() < 1 || array.rank() > 2 || (!is_integer(array.dtype()) && !is_flag)) {
    refuse(given, "integers, or bools for padding, [S] or [B,S]");
  }
  const std::vector<std::int64_t> values = as_int64(astype(array, DType::kInt64), "ids");
  const auto tokens = as_size(array.extent(array.rank() - 1));
  Rows out;
  const std::size_t rows = array.rank() == 1 ? 1 : as_size(array.extent(0));
  for (std::size_t row = 0; row < rows; ++row) {
    out.push_back(row_of(given, std::span(values).subspan(row * tokens, tokens)));
  }
  return out;
}

std::vector<Index> lengths_of(const TokenArray& given) {
  if (given.array.rank() != 1 || given.array.elements() == 0 || !is_integer(given.array.dtype())) {
    refuse(given, "cumulative lengths, integers [N+1]");
  }
  const auto ends = as_int64(astype(given.array, DType::kInt64), "cumulative lengths");
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

/// Cumulative lengths as documents of one row of so many tokens, or of as many as they need.
Row packed_row(const std::vector<Index>& lengths, std::size_t tokens) {
  Row out;
  for (const Index length : lengths) {
    for (Index i = 0; i < length; ++i) {
      out.real.push_back(1);
      out.starts.push_back(i == 0);
    }
  }
  // Tokens past the last document are padding.
  if (out.real.size() < tokens) out.real.resize(tokens, 0), out.starts.resize(tokens, -1);
  return out;
}

using What = Contradiction::What;

/// Compares what two arrays say, row by row.
class Comparison {
 public:
  Comparison(const Rows& a, const Rows& b) : a_(a), b_(b) {}

  std::optional<Contradiction> run(std::size_t first, std::size_t second) const {
    for (const What what : {What::kTokens, What::kPadding, What::kStart}) {
      Contradiction out{what, first, second, 0, 0, 0};
      const std::size_t rows = std::max(a_.size(), b_.size());
      for (std::size_t row = 0; row < rows; ++row) {
        count(a_[a_.size() == 1 ? 0 : row], b_[b_.size() == 1 ? 0 : row], static_cast<Index>(row),
              out);
      }
      if (out.count > 0) return out;
    }
    return std::nullopt;
  }

 private:
  static void add(bool of_first, Index row, std::size_t token, Contradiction& out) {
    if (out.count++ > 0) return;
    out.batch = row;
    out.token = static_cast<Index>(token);
    if (!of_first) std::swap(out.first, out.second);
  }
  static void count(const Row& a, const Row& b, Index row, Contradiction& out) {
    const std::size_t tokens = std::min(a.real.size(), b.real.size());
    if (out.what == What::kTokens) {
      const std::size_t longer = std::max(a.real.size(), b.real.size());
      for (std::size_t i = tokens; i < longer; ++i) add(a.real.size() > tokens, row, i, out);
      return;
    }
    for (std::size_t i = 0; i < tokens; ++i) {
      const bool padding = out.what == What::kPadding;
      const int x = padding ? a.real[i] : a.starts[i], y = padding ? b.real[i] : b.starts[i];
      if (x < 0 || y < 0 || x == y) continue;
      const bool real = a.real[i] != 0 && b.real[i] != 0;
      if (padding || real) add(x > y, row, i, out);
    }
  }

  const Rows &a_, &b_;
};

/// Cumulative lengths of a batch of several rows: each row's number of real tokens. A row in which
/// these numbers differ has a token that is real for one of the arrays only.
std::optional<Contradiction> compare_lengths(const std::vector<Index>& lengths, const Rows& rows,
                                             std::size_t of_lengths, std::size_t of_rows) {
  for (std::size_t row = 0; row < std::max(rows.size(), lengths.size()); ++row) {
    const Index said = row < lengths.size() ? lengths[row] : 0;
    Index real = 0;
    if (row < rows.size())
      real = std::ranges::count_if(rows[row].real, [](int r) { return r != 0; });
    if (said == real) continue;
    const bool more = said > real;
    return Contradiction{
        What::kTokens,           more ? of_lengths : of_rows, more ? of_rows : of_lengths,
        static_cast<Index>(row), std::min(said, real),        std::abs(said - real)};
  }
  return std::nullopt;
}

Index count_real(const Rows& rows) {
  Index out = 0;
  for (const Row& row : rows) out += std::ranges::count(row.real, std::int8_t{1});
  return out;
}
/// True if cumulative lengths are those of the real tokens of a padding mask, wherever these stand,
/// as kernels take them after padding is cut out.
bool counts_real(const Rows& lengths, const TokenArray& other, const Rows& rows) {
  return other.form == TokenForm::kPadding && rows.size() == 1 &&
         count_real(lengths) == count_real(rows);
}

}  // namespace

std::optional<Contradiction> contradiction(std::span<const TokenArray> arrays) {
  std::vector<Rows> said(arrays.size());
  std::vector<std::vector<Index>> lengths(arrays.size());
  std::size_t tokens = 0, rows = 1;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].form == TokenForm::kCuSeqlens) {
      lengths[i] = lengths_of(arrays[i]);
      continue;
    }
    said[i] = rows_of(arrays[i]);
    if (said[i].empty()) refuse(arrays[i], "at least one row");
    rows = std::max(rows, said[i].size());
    tokens = std::max(tokens, said[i].front().real.size());
    if (said[i].size() > 1 && said[i].size() != rows)
      refuse(arrays[i], "as many rows as the others");
  }
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].form == TokenForm::kCuSeqlens) said[i] = {packed_row(lengths[i], tokens)};
  }
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    for (std::size_t j = i + 1; j < arrays.size(); ++j) {
      const bool cu_i = arrays[i].form == TokenForm::kCuSeqlens,
                 cu_j = arrays[j].form == TokenForm::kCuSeqlens;
      std::optional<Contradiction> found;
      if (cu_i != cu_j &&
          counts_real(said[cu_i ? i : j], arrays[cu_i ? j : i], said[cu_i ? j : i])) {
        continue;
      }
      if (cu_i != cu_j && rows > 1) {
        const std::size_t cu = cu_i ? i : j, other = cu_i ? j : i;
        if (said[other].size() > 1) found = compare_lengths(lengths[cu], said[other], cu, other);
      } else {
        found = Comparison(said[i], said[j]).run(i, j);
      }
      if (found) return found;
    }
  }
  return std::nullopt;
}

std::string contradiction_words(const Contradiction& found, std::span<const TokenArray> arrays) {
  const std::string first = printable(arrays[found.first].name),
                    second = printable(arrays[found.second].name);
  const auto rows = [](const TokenArray& one) {
    return one.array.rank() == 2 ? one.array.extent(0) : Index{1};
  };
  const bool batches = rows(arrays[found.first]) > 1 || rows(arrays[found.second]) > 1;
  const std::string row = batches ? fmt::format("batch {}, ", found.batch) : "";
  const std::string more =
      found.count > 1 ? fmt::format(" ({} tokens in all)", found.count) : std::string();
  switch (found.what) {
    case What::kTokens:
      return fmt::format("{}{} has {} more than {}, which ends after {}", row, first,
                         counted(found.count, "token"), second, counted(found.token, "token"));
    case What::kPadding:
      return fmt::format("{}{} says that token {} is real, {} that it is padding{}", row, first,
                         found.token, second, more);
    case What::kStart:
      break;
  }
  return fmt::format("{}{} starts a document at token {}, where one of {} goes on{}", row, first,
                     found.token, second, more);
}

}  // namespace maskctl
