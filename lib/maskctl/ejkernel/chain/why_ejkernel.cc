#include "maskctl/ejkernel/chain/why_ejkernel.h"

#include <fmt/format.h>

#include "maskctl/ejkernel/chain/ejkernel_chain.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/kv_lengths.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/mask/steps/tokens.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/pipeline/load.h"
#include "maskctl/pipeline/parse/arguments.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

/// The position of each token as an array [batch, tokens].
Array positions(Index batch, Index tokens) {
  Tensor out(DType::kInt32, {batch, tokens});
  const auto values = out.as<std::int32_t>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::int32_t>(static_cast<Index>(i) % tokens);
  }
  return make_array(std::move(out));
}

/// Returns which token of batch row b became token 0 when the mask was cut. `ids` are the segment
/// ids after the cut; before it, the id of each token was its position. Ids past the length of a
/// row are -1.
Index first_kept(const Array& ids, Index b) {
  const Index tokens = ids->extent(1);
  const auto row = ids->as<std::int32_t>().subspan(static_cast<std::size_t>(b * tokens));
  for (Index i = 0; i < tokens; ++i) {
    if (row[static_cast<std::size_t>(i)] >= 0) return row[static_cast<std::size_t>(i)] - i;
  }
  return 0;
}

/// The index of `cell` before a call that may cut the mask. Finds it by passing token positions
/// through the call as segment ids.
Cell cell_before(const EjkernelCall& call, const MaskInfo& info, const Mask& before,
                 const Mask& after, Cell cell) {
  if (before.queries() == after.queries() && before.keys() == after.keys()) return cell;
  MaskInfo probe = info.replace({.attention_mask = MaskArray(before),
                                 .q_segment_ids = positions(before.batch(), before.queries()),
                                 .kv_segment_ids = positions(before.batch(), before.keys())});
  const MaskInfo cut = call(probe);
  cell.query += first_kept(cut.fields().q_segment_ids, cell.batch);
  cell.key += first_kept(cut.fields().kv_segment_ids, cell.batch);
  return cell;
}

const StepInfo& method_of(const std::string& name) {
  const StepInfo* entry = ejkernel_step_infos().data();
  while (entry->name != name) ++entry;
  return *entry;
}

Index value_of(const StepArguments& arguments, std::string_view name, Index batch) {
  const auto values = as_int64(arguments.integer_or_array(name).array, "values");
  return values.empty()       ? 0
         : values.size() == 1 ? values.front()
                              : values[static_cast<std::size_t>(batch)];
}

Step causal_step(Index offset) {
  step::Causal rule{.align = Align::kTopLeft, .offsets = {}};
  Tensor value(DType::kInt64, {1});
  value.as<std::int64_t>()[0] = offset;
  rule.offsets.array = std::move(value);
  return {std::move(rule)};
}

Step window_step(const StepArguments& arguments, Index batch) {
  step::Window rule;
  rule.align = Align::kTopLeft;
  rule.left = arguments.has("left")   ? arguments.integer("left")
              : arguments.has("keys") ? arguments.integer("keys") - 1
                                      : arguments.integer("both");
  rule.right = arguments.has("left")   ? arguments.integer("right")
               : arguments.has("keys") ? 0
                                       : arguments.integer("both");
  if (arguments.has("offset")) rule.offset = value_of(arguments, "offset", batch);
  return {rule};
}

Step tokens_step(const StepArguments& arguments) {
  step::Tokens rule;
  rule.shared = arguments.has("SRC");
  rule.q = arguments.array(rule.shared ? "SRC" : "q");
  if (!rule.shared) rule.kv = arguments.array("kv");
  rule.join = static_cast<step::Tokens::Join>(arguments.choice("combine").value_or(0));
  rule.zero = static_cast<step::Tokens::Zero>(arguments.choice("zero").value_or(0));
  return {std::move(rule)};
}

/// Says why apply_chunked() opens or closes the cell. ejkernel combines two rules there: query and
/// key are in the same chunk (without offset=), and the query sees the key causally (with offset=).
std::string chunk_reason(const StepArguments& arguments, const MaskShape& shape, const Cell& cell) {
  const step::Chunk rule{arguments.integer("size"), 0};
  const Verdict chunk = verdict_of({rule}, shape, cell, true);
  const Verdict causal = verdict_of(causal_step(arguments.integer("offset")), shape, cell, true);
  return !chunk.after   ? chunk.reason
         : causal.after ? chunk.reason + ", and " + causal.reason
                        : causal.reason;
}

std::string reason_of(const Pipeline& pipeline, const StepText& step, const BindContext& context,
                      const MaskShape& shape, const Cell& cell) {
  const StepArguments arguments(pipeline, step, method_of(step.name), context);
  if (step.name == "causal") {
    const Index offset = arguments.has("offset") ? value_of(arguments, "offset", cell.batch) : 0;
    return verdict_of(causal_step(offset), shape, cell, true).reason;
  }
  if (step.name == "window") {
    return verdict_of(window_step(arguments, cell.batch), shape, cell, true).reason;
  }
  if (step.name == "chunk") return chunk_reason(arguments, shape, cell);
  if (step.name == "tokens") return verdict_of(tokens_step(arguments), shape, cell, true).reason;
  step::KvLengths rule;
  rule.lengths = arguments.has("lens") ? arguments.list("lens") : arguments.array("SRC");
  rule.lengths.array.reshape({rule.lengths.array.elements()});
  return verdict_of({std::move(rule)}, shape, cell, true).reason;
}

/// A context that reads each file once, as calls and reasons both need it and standard input cannot
/// be read twice.
BindContext remembering(const BindContext& context) {
  auto known = std::make_shared<std::vector<std::pair<std::string, Tensor>>>();
  BindContext out = context;
  out.read_array = [known, read = context.read_array](const std::string& source) {
    for (const auto& [name, tensor] : *known) {
      if (name == source) return tensor;
    }
    known->emplace_back(source, read(source));
    return known->back().second;
  };
  return out;
}

/// One call of the chain, and the masks before and after it.
struct Called {
  std::size_t pipeline = 0;
  StepText step;
  EjkernelCall call;
  MaskInfo info;  // before the call
  Mask before, after;
};

}  // namespace

Why why_ejkernel(MaskInfo info, std::span<const std::string> texts, const BindContext& given,
                 const Cell& cell) {
  const BindContext context = remembering(given);
  std::vector<Pipeline> pipelines;
  std::vector<Called> calls;
  for (const std::string& text : texts) {
    pipelines.push_back(parse(pipeline_text(text)));
    const auto bound = bind_ejkernel(pipelines.back(), context);
    for (std::size_t i = 0; i < bound.size(); ++i) {
      calls.push_back({pipelines.size() - 1, pipelines.back().steps[i], bound[i], {}, {}, {}});
    }
  }
  Mask mask = info.attention_mask().mask();
  const Mask source = mask;
  for (Called& call : calls) {
    call.info = info;
    call.before = mask;
    info = call.call(info);
    call.after = mask = info.attention_mask().mask();
  }
  Why out;
  out.cell = cell;
  out.open = is_open(mask, cell);
  Cell at = cell;
  out.steps.resize(calls.size());
  for (std::size_t i = calls.size(); i-- > 0;) {
    const Called& call = calls[i];
    const Cell from = cell_before(call.call, call.info, call.before, call.after, at);
    const Cell asked{at.batch, at.head, from.query, from.key};
    Cell wrapped = from;
    if (call.before.batch() == 1) wrapped.batch = 0;
    if (call.before.heads() == 1) wrapped.head = 0;
    out.steps[i] = {
        print(std::vector{call.step}),
        reason_of(pipelines[call.pipeline], call.step, context, shape_of(call.before), asked),
        is_open(call.before, wrapped),
        is_open(call.after, at),
        wrapped,
        at,
        0};
    at = wrapped;
  }
  out.source = at;
  out.source_open = is_open(source, at);
  out.decided_by = deciding_step(out.steps);
  return out;
}

}  // namespace maskctl
