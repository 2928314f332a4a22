// The methods of MaskInfo in a table of steps, and how their arguments are bound.
#include "maskctl/ejkernel/chain/ejkernel_chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/base/printable.h"
#include "maskctl/mask/steps/random.h"
#include "maskctl/pipeline/load.h"
#include "maskctl/pipeline/parse/arguments.h"
#include "maskctl/pipeline/parse/values.h"
#include "maskctl/pipeline/steps/generate.h"

namespace maskctl {
namespace {

constexpr Index kAny = -kMaxArgument;

constexpr Field number(std::string_view name, std::string_view help, Index min, int group = 0,
                       bool required = false) {
  return {.name = name, .help = help, .required = required, .min = min, .group = group};
}
constexpr Field number_or_file(std::string_view name, std::string_view help) {
  return {.name = name, .type = FieldType::kIntegerOrSource, .help = help, .min = kAny};
}
constexpr Field source(std::string_view name, std::string_view help, int group) {
  return {.name = name, .type = FieldType::kSource, .help = help, .required = true, .group = group};
}
constexpr Field bare(std::string_view help, int group) {
  return {.name = "SRC",
          .type = FieldType::kSource,
          .help = help,
          .required = true,
          .group = group,
          .positional = true};
}
constexpr Field choice(std::string_view name, std::string_view choices, std::string_view help) {
  return {.name = name, .type = FieldType::kChoice, .help = help, .choices = choices};
}

constexpr std::array kCausal = {number_or_file("offset", "one, or one per batch")};
constexpr std::array kWindow = {
    number("left", "keys before the query's own", kAny, 1, true),
    number("right", "keys after the query's own", kAny, 1, true),
    number("both", "ejkernel's single int: left = right", kAny, 2, true),
    number("keys", "left = keys - 1, right = 0", 1, 3, true),
    number_or_file("offset", "one, or one per batch"),
    choice("mode", "decode|prefill|default", "cut the mask to what a decoder or prefill reads"),
    number_or_file("index", "the query being decoded, one or one per batch")};
constexpr std::array kChunk = {number("size", "tokens in a chunk", kAny, 0, true),
                               number("offset", "added to the queries", kAny)};
constexpr std::array kTokens = {
    bare("types [B,S] of both sides", 1),
    source("q", "types of the queries", 2),
    source("kv", "types of the keys", 2),
    choice("combine", "union|intersect|replace", "how to join the current mask"),
    choice("zero", "q|kv|both|none", "the side on which type 0 matches nothing"),
    choice("update", "yes|no", "whether the segment ids become the types")};
constexpr std::array kKvLengths = {bare("lengths [B]", 1),
                                   Field{.name = "lens",
                                         .type = FieldType::kLengths,
                                         .help = "lengths",
                                         .required = true,
                                         .group = 2},
                                   number("q_len", "queries to keep of each batch", kAny),
                                   number("window", "keys to keep of each batch", kAny),
                                   number_or_file("end", "one past the last query kept")};

constexpr std::array kMethods = {
    StepInfo{.name = "causal", .example = "causal:offset=0", .args = kCausal},
    StepInfo{.name = "window", .example = "window:both=4,mode=decode,index=7", .args = kWindow},
    StepInfo{.name = "chunk", .example = "chunk:size=128", .args = kChunk},
    StepInfo{.name = "tokens", .example = "tokens:types.npy", .args = kTokens},
    StepInfo{.name = "kv-lengths", .example = "kv-lengths:lens=5+8,q_len=1", .args = kKvLengths}};

const StepInfo* find_method(std::string_view name) {
  const auto found = std::ranges::find(kMethods, name, &StepInfo::name);
  return found == kMethods.end() ? nullptr : &*found;
}

/// An argument with one value per batch. A number in the text applies to all batches, and so does a
/// file with a single element and no axes.
PerBatch per_batch(const StepArguments& arguments, std::string_view name) {
  NamedArray values = arguments.integer_or_array(name);
  if (is_integer_text(arguments.text(name))) return values.array.as<Index>()[0];
  return make_array(std::move(values.array));
}

Array array_of(NamedArray named) { return make_array(std::move(named.array)); }

EjkernelCall causal(const StepArguments& arguments) {
  const PerBatch offset = arguments.has("offset") ? per_batch(arguments, "offset") : Index{0};
  return [=](MaskInfo& info) { return info.apply_causal(offset); };
}

EjkernelCall window(const StepArguments& arguments) {
  SlidingWindow size = arguments.integer("both");
  if (arguments.has("keys")) size = std::pair(arguments.integer("keys") - 1, Index{0});
  if (arguments.has("left")) {
    size = std::pair(arguments.integer("left"), arguments.integer("right"));
  }
  SlidingWindowOptions options;
  if (arguments.has("offset")) options.offset = per_batch(arguments, "offset");
  if (arguments.choice("mode")) options.mode = arguments.text("mode");
  if (arguments.has("index")) options.index = per_batch(arguments, "index");
  return [=](MaskInfo& info) { return info.apply_sliding_window(size, options); };
}

EjkernelCall chunk(const StepArguments& arguments) {
  const Index size = arguments.integer("size"), offset = arguments.integer("offset");
  return [=](MaskInfo& info) { return info.apply_chunked(size, offset); };
}

EjkernelCall tokens(const StepArguments& arguments) {
  const bool shared = arguments.has("SRC");
  const Array q = array_of(arguments.array(shared ? "SRC" : "q"));
  const Array kv = shared ? nullptr : array_of(arguments.array("kv"));
  TokenTypeOptions options;
  if (arguments.choice("combine")) options.combine = arguments.text("combine");
  if (arguments.choice("zero")) options.zero_policy = arguments.text("zero");
  if (const auto update = arguments.choice("update")) options.update_segment_ids = *update == 0;
  return [=](MaskInfo& info) { return info.apply_token_type_ids(*q, kv, options); };
}

EjkernelCall kv_lengths(const StepArguments& arguments) {
  const Array lengths =
      array_of(arguments.has("lens") ? arguments.list("lens") : arguments.array("SRC"));
  KvLengthOptions options;
  if (arguments.has("q_len")) options.q_len = arguments.integer("q_len");
  if (arguments.has("window")) options.sliding_window = arguments.integer("window");
  if (arguments.has("end")) options.end_index = per_batch(arguments, "end");
  return [=](MaskInfo& info) { return info.apply_kv_lengths(*lengths, options); };
}

EjkernelCall bind_one(const StepArguments& arguments, std::string_view name) {
  if (name == "causal") return causal(arguments);
  if (name == "window") return window(arguments);
  if (name == "chunk") return chunk(arguments);
  return name == "tokens" ? tokens(arguments) : kv_lengths(arguments);
}

[[noreturn]] void refuse(const Pipeline& pipeline, const StepText& step) {
  std::vector<std::string_view> names;
  names.reserve(std::size(kMethods));
  for (const StepInfo& entry : kMethods) names.push_back(entry.name);
  const auto near = nearest(step.name, names);
  fail_at(pipeline, step.position.begin,
          fmt::format("MaskInfo has no method for '{}'; {}it has causal, window, chunk, tokens "
                      "and kv-lengths",
                      printable(step.name), near ? fmt::format("did you mean '{}'? ", *near) : ""));
}

}  // namespace

std::span<const StepInfo> ejkernel_step_infos() { return kMethods; }

std::optional<OtherRules> ejkernel_argument(std::string_view step, std::string_view argument) {
  const StepInfo* own = find_step(step);
  const StepInfo* method = find_method(step);
  const auto has = [argument](const StepInfo* info) {
    return info && std::ranges::count(info->args, argument, &Field::name) > 0;
  };
  if (!own || has(own) || !has(method)) return std::nullopt;
  return OtherRules{"MaskInfo", {Remedy::kUseSemantics, "ejkernel"}};
}

MaskInfo generate_ejkernel(std::string_view text, const BindContext& context) {
  const auto parts = generate_parts(text, context);
  if (!parts) return MaskInfo::from_segments(std::get<Tensor>(generate(text, context)));
  const auto& [start, chain] = *parts;
  const auto* random = chain.empty() ? nullptr : chain.front().get_if<step::Random>();
  if (random && random->stream == step::Random::Stream::kJax && start.heads() == 1) {
    return MaskInfo::from_random(start.batch(), start.queries(), start.keys(), random->sparsity,
                                 static_cast<std::int64_t>(random->seed));
  }
  const bool full = chain.empty() && start.count() == start.cells();
  if (full && start.heads() == 1 && start.queries() == start.keys()) {
    return MaskInfo::dynamic_init({.input_ids_shape = {{start.batch(), start.queries()}}});
  }
  return MaskInfo::from_attention_mask(MaskArray(maskctl::apply(start, chain)));
}

std::vector<EjkernelCall> bind_ejkernel(const Pipeline& pipeline, const BindContext& context) {
  std::vector<EjkernelCall> calls;
  for (const StepText& step : pipeline.steps) {
    const StepInfo* method = find_method(step.name);
    if (!method) refuse(pipeline, step);
    calls.push_back(bind_one({pipeline, step, *method, context}, method->name));
  }
  return calls;
}

MaskInfo apply_ejkernel(MaskInfo info, std::span<const std::string> texts,
                        const BindContext& context) {
  std::vector<EjkernelCall> calls;
  for (const std::string& text : texts) {
    auto part = bind_ejkernel(parse(pipeline_text(text)), context);
    std::ranges::move(part, std::back_inserter(calls));
  }
  for (const EjkernelCall& call : calls) info = call(info);
  return info;
}

}  // namespace maskctl
