#include "maskctl/verify/solve/slots.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/operations/paged/checked.h"
#include "maskctl/attention/operations/paged/spec.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

constexpr Index kMostSlotCells = Index{1} << 28;
constexpr std::array<std::string_view, 4> kPaged = {"page_attention", "ragged_decode_attention",
                                                    "ragged_page_attention",
                                                    "ragged_page_attention_v3"};

const Tensor& query_of(const VerifyRequest& request) {
  const Operation& form = form_of(*request.operation, request.arguments);
  return request.arguments.arrays.at(std::string(form.fields.front().name));
}

/// Copies one array of the cache (keys or values) to an array [1, slots, Hkv, D].
Tensor slots_of(const PagedCache& cache, const std::byte* elements) {
  Tensor out(cache.dtype, {1, cache.pages * cache.page_size, cache.heads, cache.dim});
  const Index bytes = size_bytes(cache.dtype), row = cache.dim * bytes;
  std::byte* to = out.bytes().data();
  for (Index page = 0; page < cache.pages; ++page) {
    for (Index slot = 0; slot < cache.page_size; ++slot) {
      for (Index head = 0; head < cache.heads; ++head, to += row) {
        const Index at =
            page * cache.page_stride + slot * cache.slot_stride + head * cache.head_stride;
        std::copy_n(elements + at * bytes, row, to);
      }
    }
  }
  return out;
}

/// Returns the mask that opens the slots that each row sees.
Mask declared_slots(const PagedProblem& problem) {
  const PagedCache& cache = problem.cache;
  const Index slots = cache.pages * cache.page_size, rows = problem.rows();
  if (rows > kMostSlotCells / std::max<Index>(slots, 1)) {
    throw Error(Errc::kLimit, fmt::format("{} rows with {} slots of the cache are more than "
                                          "2^28 cells; give fewer "
                                          "sequences, or the pages that matter",
                                          rows, slots));
  }
  Tensor open(DType::kBool, {1, 1, rows, slots});
  std::ranges::fill(open.bytes(), std::byte{0});
  for (const PagedSequence& s : problem.sequences) {
    for (Index row = s.rows.begin; row < s.rows.end; ++row) {
      const Range seen = problem.visible(s, row);
      for (Index position = seen.begin; position < seen.end; ++position) {
        const Index page = problem.tables[as_size(s.table + position / cache.page_size)];
        const Index slot = page * cache.page_size + position % cache.page_size;
        open.bytes()[as_size(row * slots + slot)] = std::byte{1};
      }
    }
  }
  return mask_from_dense(open);
}

/// Rewrites a call over pages as a call over slots, instead of running a kernel.
class SlotCalls : public CallRunner {
 public:
  explicit SlotCalls(const VerifyRequest& from) : from_(from) {}

  AnyValue run_forward(const Operation& operation, const void* call) override {
    const Tensor& query = query_of(from_);
    if (operation.name == kPaged[0]) take(problem_of<PageAttentionOp>(call), query);
    if (operation.name == kPaged[1]) take(problem_of<RaggedDecodeAttentionOp>(call), query);
    if (operation.name == kPaged[2]) take(problem_of<RaggedPageAttentionOp>(call), query);
    if (operation.name == kPaged[3]) take_v3(operation, call, query);
    return std::make_shared<Tensor>(query);
  }
  AnyValue run_backward(const Operation&, const void*, const void*, const Cotangents&) override {
    return {};
  }

  SlotCall taken;

 private:
  template <class Op>
  static PagedProblem problem_of(const void* any) {
    const auto& call = *static_cast<const typename Op::Call*>(any);
    return attention::problem_of(call.in, call.options);
  }

  void take_v3(const Operation& form, const void* any, const Tensor& query) {
    if (form.find("key_pages", true)) {
      const auto& call = *static_cast<const RaggedPageAttentionv3PagesOp::Call*>(any);
      const RaggedV3Problem own = attention::problem_of(call.in, call.options);
      return take(own.problem, query, own.sinks);
    }
    const auto& call = *static_cast<const RaggedPageAttentionv3Op::Call*>(any);
    const RaggedV3Problem own = attention::problem_of(call.in, *call.in.kv_cache, call.options);
    take(own.problem, own.queries.value_or(query), own.sinks);
  }

  void take(const PagedProblem& problem, const Tensor& query,
            const std::optional<Tensor>& sinks = {}) {
    VerifyRequest& request = taken.request;
    request = from_;
    request.operation = find_operation("flash_attention");
    request.declared = declared_slots(problem);
    request.arguments = {};
    request.arguments.context = from_.arguments.context;
    std::map<std::string, Tensor>& arrays = request.arguments.arrays;
    arrays["query"] = query;
    arrays["query"].reshape({1, problem.rows(), problem.q_heads, problem.cache.dim});
    arrays["key"] = slots_of(problem.cache, problem.cache.keys);
    arrays["value"] = slots_of(problem.cache, problem.cache.values);
    if (problem.value_scale != 1) scale(arrays["value"], problem.value_scale);
    const auto given = from_.arguments.arrays.find("softmax_aux");
    if (sinks) {
      arrays["softmax_aux"] = *sinks;
    } else if (given != from_.arguments.arrays.end()) {
      arrays["softmax_aux"] = given->second;
    }
    request.arguments.options["softmax_scale"] = fmt::format("{}", problem.scale);
    if (problem.soft_cap) {
      request.arguments.options["logits_soft_cap"] = fmt::format("{}", *problem.soft_cap);
    }
    taken.page_size = problem.cache.page_size;
  }

  static void scale(Tensor& values, double by) {
    values = astype(values, DType::kFloat32);
    for (float& x : values.as<float>()) x *= static_cast<float>(by);
  }

  const VerifyRequest& from_;
};

}  // namespace

std::optional<SlotCall> over_slots(const VerifyRequest& request, const NamedResults& given) {
  if (std::ranges::find(kPaged, request.operation->name) == kPaged.end()) return {};
  SlotCalls calls(request);
  NamedArguments arguments = request.arguments;
  arguments.runner = &calls;
  arguments.gradient_seed.reset();
  run(*request.operation, arguments);
  SlotCall out = std::move(calls.taken);
  const Tensor& query = out.request.arguments.arrays.at("query");
  for (const auto& [name, array] : given) {
    Tensor result = array;
    if (name == "out") {
      check_shape("the output", array, query_of(request).shape());
      result.reshape({1, query.extent(1), query.extent(2), query.extent(3)});
    }
    out.given.emplace(name, std::move(result));
  }
  return out;
}

}  // namespace maskctl::attention
