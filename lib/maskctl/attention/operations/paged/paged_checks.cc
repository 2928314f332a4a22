#include "maskctl/attention/operations/paged/paged_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/arrays/packed_sequences.h"
#include "maskctl/base/error.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(Errc::kInvalidArgument, message);
}
[[noreturn]] void refuse_shape(const std::string& message) { throw Error(Errc::kShape, message); }

void check_pages(const PagedProblem& problem, const PagedSequence& s, std::size_t n,
                 const char* name) {
  const Range read = problem.read(s);
  if (read.empty()) return;
  const Index size = problem.cache.page_size;
  for (Index p = read.begin / size; p <= (read.end - 1) / size; ++p) {
    const Index page = problem.tables[as_size(s.table + p)];
    if (page >= 0 && page < problem.cache.pages) continue;
    refuse(fmt::format("{}: page {} of sequence {} is {}, outside the {} pages of the cache", name,
                       p, n, page, problem.cache.pages));
  }
}

}  // namespace

std::vector<std::int32_t> integers(const char* what, const Tensor* array,
                                   std::span<const Index> shape) {
  check_rank(what, array, static_cast<Index>(shape.size()));
  std::vector<Index> expected(shape.begin(), shape.end());
  for (std::size_t axis = 0; axis < expected.size(); ++axis) {
    if (expected[axis] < 0) expected[axis] = array->shape()[axis];
  }
  check_shape(what, *array, expected);
  check_integer(what, *array);
  return as_int32(*array, what);
}

Index one_integer(const char* what, const Tensor& array) {
  if (array.elements() != 1) {
    refuse_shape(fmt::format("{} is {}, expected (1,)", what, shape_text(array.shape())));
  }
  return integers(what, &array, array.shape())[0];
}

void check_call(const PagedProblem& problem) {
  check_head_groups(problem.q_heads, problem.cache.heads);
  check_soft_cap(problem.soft_cap);
  if (!problem.sinks) return;
  Dims dims;
  dims.q_heads = problem.q_heads, dims.kv_heads = problem.cache.heads;
  check_sinks(*problem.sinks, dims);
}

std::vector<Range> checked_rows(const char* what, const Tensor* starts, Index listed,
                                Index sequences, Index rows) {
  if (sequences < 0 || sequences > listed) {
    refuse(fmt::format("{} sequences, expected 0 to {}, the number listed", sequences, listed));
  }
  const std::vector<std::int32_t> all = integers(what, starts, {{listed + 1}});
  Tensor used(DType::kInt32, {sequences + 1});
  std::copy_n(all.begin(), used.elements(), used.as<std::int32_t>().begin());
  return packed_sequences(used, rows, what);
}

void add_sequences(PagedProblem& problem, const SequenceArrays& names, std::span<const Range> rows,
                   std::span<const std::int32_t> lengths, std::vector<std::int32_t> table,
                   Index width) {
  problem.tables = std::move(table);
  const Index size = problem.cache.page_size;
  for (std::size_t n = 0; n < rows.size(); ++n) {
    const Index length = lengths[n];
    if (length < 0 || length > width * size) {
      refuse(fmt::format("{}[{}] is {}, outside 0 to {}: {} pages of {}", names.lengths_name, n,
                         length, width * size, width, size));
    }
    if (length < rows[n].size()) {
      refuse(fmt::format("{}[{}] is {}, below the {} rows of the sequence, which it includes",
                         names.lengths_name, n, length, rows[n].size()));
    }
    problem.sequences.push_back({rows[n], {0, length}, static_cast<Index>(n) * width});
    check_pages(problem, problem.sequences.back(), n, names.table_name);
  }
}

std::optional<Index> left_of_window(std::optional<Index> sliding_window) {
  if (!sliding_window) return std::nullopt;
  if (*sliding_window < 1) {
    refuse(fmt::format("sliding_window {} is not above 0; leave it out for none", *sliding_window));
  }
  return *sliding_window - 1;
}

}  // namespace maskctl::attention
