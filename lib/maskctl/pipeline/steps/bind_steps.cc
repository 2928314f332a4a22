// From checked arguments to the Step structs of the mask layer.
#include "maskctl/pipeline/steps/bind_steps.h"

#include <fmt/format.h>

#include "maskctl/mask/arrays/dense.h"

namespace maskctl {
namespace {

Align align_of(const StepArguments& arguments) {
  const auto choice = arguments.choice("align");
  if (!choice) return Align::kUnset;
  return *choice == 0 ? Align::kTopLeft : Align::kBottomRight;
}

Step combine_with(Op op, const StepArguments& arguments) {
  return {step::Combine{op, arguments.mask("SRC"), arguments.text("SRC")}};
}

Step scoped_to(step::Scoped::Axis axis, const StepArguments& arguments) {
  return {step::Scoped{axis, arguments.ranges("LIST"), arguments.nested()}};
}

/// The kv side of a step that takes one SOURCE for both sides or q= and kv=.
template <typename Rule>
void bind_sides(const StepArguments& arguments, Rule& rule) {
  rule.shared = arguments.has("SRC");
  rule.q = arguments.array(rule.shared ? "SRC" : "q");
  if (!rule.shared) rule.kv = arguments.array("kv");
}

}  // namespace

Step bind_causal(StepArguments& arguments) {
  return {step::Causal{align_of(arguments), arguments.integer_or_array("offset")}};
}

Step bind_window(StepArguments& arguments) {
  step::Window rule;
  rule.align = align_of(arguments);
  arguments.number_or_each("offset", rule.offset, rule.offsets);
  if (arguments.has("keys")) {
    rule.spelling = step::Window::Spelling::kKeys;
    rule.left = arguments.integer("keys") - 1;
    rule.right = 0;
  } else if (arguments.has("both")) {
    rule.spelling = step::Window::Spelling::kBoth;
    rule.left = rule.right = arguments.integer("both");
  } else {
    rule.left = arguments.side("left");
    rule.right = arguments.side("right");
  }
  return {rule};
}

Step bind_chunk(StepArguments& arguments) {
  return {step::Chunk{arguments.integer("size"), arguments.integer("offset"), align_of(arguments),
                      arguments.integer_or_array("origin")}};
}

Step bind_doc(StepArguments& arguments) {
  if (arguments.has("lens")) {
    if (arguments.has("pad-id")) {
      arguments.refuse("pad-id", "pad-id= of doc goes with ids, not with lens=");
    }
    return {step::DocumentLengths{arguments.lengths("lens")}};
  }
  step::Document rule;
  bind_sides(arguments, rule);
  rule.pad_id = arguments.pad_id();
  return {std::move(rule)};
}

Step bind_pad(StepArguments& arguments) {
  step::Pad rule;
  rule.valid = arguments.has("lens") ? arguments.list("lens") : arguments.array("SRC");
  const Tensor& array = rule.valid.array;
  rule.is_lengths = arguments.has("lens") || (array.dtype() != DType::kBool && array.rank() < 2);
  if (!rule.is_lengths) rule.valid.array = token_flags(array);
  if (arguments.has("side") && !rule.is_lengths) {
    arguments.refuse("side", fmt::format("side= of pad goes with lengths, but the array is {} {}: "
                                         "one flag per key",
                                         name(array.dtype()), shape_text(array.shape())));
  }
  rule.left = arguments.choice("side") == 0;
  rule.both = arguments.choice("of") == 1;
  return {std::move(rule)};
}

Step bind_dilated(StepArguments& arguments) { return {step::Dilated{arguments.integer("stride")}}; }

Step bind_block(StepArguments& arguments) {
  const auto [q, k] = arguments.block_size("size");
  return {step::Block{arguments.array("SRC"), q, k}};
}

Step bind_random(StepArguments& arguments) {
  const auto stream = static_cast<step::Random::Stream>(*arguments.choice("stream"));
  const std::uint64_t seed = arguments.seed("seed");
  if (stream == step::Random::Stream::kNumpy && seed > 0xffffffffU) {
    arguments.refuse("seed", fmt::format("seed= of random must be 0 to {} for numpy's stream, got "
                                         "{}",
                                         0xffffffffU, seed));
  }
  return {step::Random{arguments.real("sparsity", 0.0, 1.0), seed, stream, arguments.max_bytes()}};
}

Step bind_and(StepArguments& arguments) { return combine_with(Op::kAnd, arguments); }
Step bind_or(StepArguments& arguments) { return combine_with(Op::kOr, arguments); }
Step bind_xor(StepArguments& arguments) { return combine_with(Op::kXor, arguments); }
Step bind_sub(StepArguments& arguments) { return combine_with(Op::kSub, arguments); }

Step bind_prefix(StepArguments& arguments) {
  step::Prefix rule;
  arguments.number_or_each("n", rule.n, rule.each);
  return {std::move(rule)};
}
Step bind_sinks(StepArguments& arguments) {
  step::Sinks rule;
  arguments.number_or_each("n", rule.n, rule.each);
  return {std::move(rule)};
}
Step bind_global(StepArguments& arguments) { return {step::Global{arguments.ranges("tokens")}}; }

namespace {

Step bind_region(bool open, StepArguments& arguments) {
  step::Region rule{open, {}, {}};
  if (arguments.has("q")) rule.q = arguments.ranges("q");
  if (arguments.has("k")) rule.k = arguments.ranges("k");
  return {std::move(rule)};
}

}  // namespace

Step bind_open(StepArguments& arguments) { return bind_region(true, arguments); }
Step bind_close(StepArguments& arguments) { return bind_region(false, arguments); }

Step bind_tokens(StepArguments& arguments) {
  step::Tokens rule;
  bind_sides(arguments, rule);
  rule.join = static_cast<step::Tokens::Join>(*arguments.choice("combine"));
  rule.zero = static_cast<step::Tokens::Zero>(*arguments.choice("zero"));
  return {std::move(rule)};
}

Step bind_not(StepArguments&) { return {step::Not{}}; }

Step bind_slice(StepArguments& arguments) {
  return {step::Slice{arguments.slice("b"), arguments.slice("h"), arguments.slice("q"),
                      arguments.slice("k")}};
}

Step bind_kv_lengths(StepArguments& arguments) {
  step::KvLengths rule;
  rule.lengths = arguments.has("lens") ? arguments.list("lens") : arguments.array("SRC");
  if (arguments.has("q_len")) rule.q_len = arguments.integer("q_len");
  rule.window = arguments.side("window");
  rule.end = arguments.integer_or_array("end");
  return {std::move(rule)};
}

Step bind_heads(StepArguments& arguments) {
  return scoped_to(step::Scoped::Axis::kHeads, arguments);
}

Step bind_within(StepArguments& arguments) {
  step::Within rule;
  rule.chain = arguments.nested();
  if (arguments.has("lens") || arguments.has("q-lens")) {
    if (arguments.has("pad-id")) {
      arguments.refuse("pad-id", "pad-id= of within goes with ids, not with lengths");
    }
    rule.lengths = arguments.lengths(arguments.has("lens") ? "lens" : "q-lens");
    if (arguments.has("kv-lens")) rule.kv_lengths = arguments.lengths("kv-lens");
    if (!rule.kv_lengths.empty() && rule.kv_lengths.size() != rule.lengths.size()) {
      arguments.refuse("kv-lens", fmt::format("within: {} documents of queries and {} of keys",
                                              rule.lengths.size(), rule.kv_lengths.size()));
    }
    return {std::move(rule)};
  }
  bind_sides(arguments, rule);
  rule.pad_id = arguments.pad_id();
  return {std::move(rule)};
}

Step bind_batch(StepArguments& arguments) {
  return scoped_to(step::Scoped::Axis::kBatch, arguments);
}

}  // namespace maskctl
