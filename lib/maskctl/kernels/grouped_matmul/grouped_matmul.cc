// Checks a grouped product, sorts its rows by group, allocates the results and runs the kernels.
#include "maskctl/kernels/grouped_matmul/grouped_matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/arrays/outputs.h"
#include "maskctl/attention/arrays/slices.h"
#include "maskctl/kernels/grouped_matmul/checked.h"
#include "maskctl/kernels/problems/table.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

void check_operands(const GroupedMatmulInputs& in) {
  check_rank("lhs", in.lhs, 2);
  check_rank("rhs", in.rhs, 3);
  check_dtypes({{"lhs", in.lhs}, {"rhs", in.rhs}});
}

/// The elements of a 1-D int32 array, which must have `extent` of them; -1 allows any number.
std::vector<std::int32_t> int32_list(const char* what, const Tensor& array, Index extent) {
  if (array.dtype() == DType::kInt32) return integers(what, &array, {{extent}});
  refuse(fmt::format("{} is {}, expected int32", what, name(array.dtype())));
}

Index first_group(const Tensor* group_offset) {
  if (!group_offset) return 0;
  const Index offset = one_integer("group_offset", *group_offset);
  if (offset < 0) refuse(fmt::format("group_offset {} is below 0", offset));
  return offset;
}

void place_by_size(const GroupedMatmulInputs& in, Index first, RowGroups& groups) {
  const std::vector<std::int32_t> sizes = int32_list("group_sizes", *in.group_sizes, -1);
  const auto count = static_cast<Index>(sizes.size()), matrices = groups.matrices();
  if (in.group_offset ? first > count - matrices : count != matrices) {
    refuse_shape(fmt::format("group_sizes has {} groups and rhs {}{}", count, matrices,
                             in.group_offset ? fmt::format(" from group {} on", first)
                                             : "; give group_offset when rhs holds a part"));
  }
  Index end = 0;
  for (Index g = 0; g < count; ++g) {
    const Index size = sizes[as_size(g)];
    if (size < 0) refuse(fmt::format("group_sizes[{}] is {}, expected at least 0", g, size));
    end += size;
    if (g >= first && g < first + matrices)
      groups.positions[as_size(g - first)] = {end - size, end};
  }
  if (end > groups.rows) {
    refuse(fmt::format("group_sizes sum to {}, lhs has {} rows", end, groups.rows));
  }
}

/// Sorts rows by their group (a counting sort). Leaves out the rows of groups that rhs does not
/// hold.
void place_by_id(const GroupedMatmulInputs& in, Index first, RowGroups& groups) {
  const std::vector<std::int32_t> ids = int32_list("group_ids", *in.group_ids, groups.rows);
  const Index matrices = groups.matrices();
  const auto matrix = [&](Index id) { return id - first; };
  const auto held = [&](Index id) { return matrix(id) >= 0 && matrix(id) < matrices; };
  std::vector<Index> sizes(as_size(matrices));
  for (std::size_t row = 0; row < ids.size(); ++row) {
    if (ids[row] < 0 || (!in.group_offset && !held(ids[row]))) {
      refuse(fmt::format("group_ids[{}] is {}, expected 0 to {}", row, ids[row], matrices - 1));
    }
    if (held(ids[row])) ++sizes[as_size(matrix(ids[row]))];
  }
  std::vector<Index> next(sizes.size());
  std::exclusive_scan(sizes.begin(), sizes.end(), next.begin(), Index{0});
  for (std::size_t g = 0; g < sizes.size(); ++g)
    groups.positions[g] = {next[g], next[g] + sizes[g]};
  groups.order.resize(as_size(groups.rows));
  for (std::size_t row = 0; row < ids.size(); ++row) {
    if (!held(ids[row])) continue;
    groups.order[as_size(next[as_size(matrix(ids[row]))]++)] = static_cast<Index>(row);
  }
}

void check_parts(const GroupedMatmulInputs& in, Index parts) {
  if (parts < 1) refuse(fmt::format("group_parts {} is below 1", parts));
  if (in.rhs->extent(0) % parts != 0) {
    refuse_shape(fmt::format("rhs has {} groups, which {} group_parts do not divide",
                             in.rhs->extent(0), parts));
  }
}

Range groups_of(const GroupedProblem& whole, Index part, Index parts) {
  const Index size = whole.groups.matrices() / parts;
  return {part * size, (part + 1) * size};
}

/// A view of a range of the matrices in [G,k,n].
template <class View>
View matrices_of(const View& all, Range groups) {
  const Index shape[] = {groups.size(), all.extent(1), all.extent(2)};
  auto* const first = all.data() + groups.begin * all.stride(0) * size_bytes(all.dtype());
  return View(first, all.dtype(), shape, all.strides(), all.place());
}

/// The problem restricted to a range of the matrices.
GroupedProblem problem_part(const GroupedProblem& whole, Range groups) {
  GroupedProblem part = whole;
  const auto first = whole.groups.positions.begin();
  part.groups.positions.assign(first + groups.begin, first + groups.end);
  part.rhs = matrices_of(whole.rhs, groups);
  return part;
}

/// The dtype of the result: preferred_element_type, or that of lhs.
DType result_dtype(const GroupedMatmulInputs& in, const GroupedMatmulOptions& options) {
  return options.preferred_element_type.value_or(in.lhs->dtype());
}

}  // namespace

GroupedProblem checked_grouped(const GroupedMatmulInputs& in, const GroupedMatmulOptions& options) {
  check_operands(in);
  RowGroups groups;
  groups.rows = in.lhs->extent(0), groups.inner = in.lhs->extent(1);
  groups.columns = in.rhs->extent(options.transpose_rhs ? 1 : 2);
  groups.positions.resize(as_size(in.rhs->extent(0)));
  if (in.rhs->extent(options.transpose_rhs ? 2 : 1) != groups.inner) {
    refuse_shape(fmt::format("lhs is {} and rhs {}{}: the inner extents differ",
                             shape_text(in.lhs->shape()), shape_text(in.rhs->shape()),
                             options.transpose_rhs ? ", transposed" : ""));
  }
  if (!is_floating(result_dtype(in, options))) {
    refuse(fmt::format("preferred_element_type is {}, expected a float",
                       name(result_dtype(in, options))));
  }
  check_parts(in, options.group_parts);
  if ((in.group_sizes != nullptr) == (in.group_ids != nullptr)) {
    refuse(fmt::format("{} of group_sizes and group_ids given, expected one",
                       in.group_ids ? "both" : "neither"));
  }
  if (in.existing_out) {
    check_shape("existing_out", *in.existing_out, std::vector<Index>{groups.rows, groups.columns});
    if (in.existing_out->dtype() != result_dtype(in, options)) {
      refuse(fmt::format("existing_out is {} and the result {}; convert one",
                         name(in.existing_out->dtype()), name(result_dtype(in, options))));
    }
  }
  const Index first = first_group(in.group_offset);
  if (in.group_sizes) {
    place_by_size(in, first, groups);
  } else {
    place_by_id(in, first, groups);
  }
  return {std::move(groups),
          *in.lhs,
          *in.rhs,
          view_of(in.existing_out),
          options.transpose_rhs,
          options.existing_out_mode == ExistingOutMode::kAdd,
          options.block_m,
          options.block_n,
          options.block_k};
}

/// Multiplies the parts of the groups one after another; each adds to the result so far, which it
/// gets as existing_out.
Tensor grouped_matmul(const GroupedMatmulInputs& in, const GroupedMatmulOptions& options) {
  const Context& context = options.context;
  const GroupedProblem whole = checked_grouped(in, options);
  Tensor out;
  for (Index i = 0; i < options.group_parts; ++i) {
    GroupedProblem part = problem_part(whole, groups_of(whole, i, options.group_parts));
    if (i > 0) part.existing_out = out;
    Tensor next =
        Tensor::unwritten(result_dtype(in, options), {whole.groups.rows, whole.groups.columns});
    run_kernel(context, "grouped_forward", &MasklessKernels::grouped_forward, part, next);
    out = std::move(next);
  }
  return out;
}

GroupedMatmulGradients grouped_matmul_backward(const GroupedMatmulInputs& in, const Tensor& d_out,
                                               const GroupedMatmulOptions& options) {
  const Context& context = options.context;
  const GroupedProblem problem = checked_grouped(in, options);
  check_shape("d_out", d_out, std::vector<Index>{problem.groups.rows, problem.groups.columns});
  GroupedMatmulGradients gradients{unwritten_like(problem.lhs), unwritten_like(problem.rhs),
                                   unwritten_like(problem.existing_out)};
  const auto run = [&](Index i) {
    const Range groups = groups_of(problem, i, options.group_parts);
    run_kernel(context, "grouped_backward", &MasklessKernels::grouped_backward,
               problem_part(problem, groups), d_out,
               {gradients.lhs, matrices_of(MutableTensorView(gradients.rhs), groups)});
  };
  run(0);
  if (options.group_parts > 1) {
    Tensor sum = astype(gradients.lhs, DType::kFloat32);
    for (Index i = 1; i < options.group_parts; ++i) {
      run(i);
      add(gradients.lhs, sum);
    }
    gradients.lhs = astype(sum, gradients.lhs.dtype());
  }
  if (gradients.existing_out) {
    // The gradient of existing_out is d_out, either whole or only in rows that no matrix wrote.
    start_product(problem.groups, d_out, problem.adds_everywhere, *gradients.existing_out);
  }
  return gradients;
}

}  // namespace maskctl::attention
