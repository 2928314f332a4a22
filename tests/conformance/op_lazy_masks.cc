// Cases of ejkernel's lazy masks: trees of mask classes, indexing, equality, and functions that
// make arrays.
#include "conformance/mismatch.h"
#include "conformance/ops.h"
#include "maskctl/ejkernel/lazy/lazy_mask.h"
#include "maskctl/ejkernel/mask_info/python_error.h"

namespace conformance {

using maskctl::Index;
using maskctl::lazy::MaskPtr;
namespace attributes = maskctl::lazy::attributes;

namespace {

using WindowSize = std::pair<std::optional<Index>, std::optional<Index>>;

/// Builds lazy masks from the trees of a manifest; `inputs` has the arrays that a tree names.
class Expression {
 public:
  explicit Expression(Args& inputs) : inputs_(inputs) {}

  MaskPtr mask(const Value& tree) const;

 private:
  MaskPtr logical(const Value& tree, bool is_and) const;

  Args& inputs_;
};

std::optional<Index> optional_of(const Value& value) {
  if (value.is_none()) return std::nullopt;
  return value.as<std::int64_t>();
}

Index integer_or(const Value& dict, const std::string& key, Index absent) {
  const Value* value = dict.find(key);
  return value ? value->as<std::int64_t>() : absent;
}

std::vector<Index> shape_of(const Value& list) {
  std::vector<Index> shape;
  for (const Value& extent : list.as<Value::List>()) shape.push_back(extent.as<std::int64_t>());
  return shape;
}

WindowSize window_of(const Value& value) {
  const Value::List& sides = value.as<Value::List>();
  if (sides.size() != 2) throw Mismatch("window_size " + value.text() + " has not two sides");
  return {optional_of(sides[0]), optional_of(sides[1])};
}

void check_entries(const Value& tree, const std::set<std::string>& known) {
  for (const auto& [key, value] : tree.as<Value::Dict>()) {
    if (key != "class" && !known.contains(key)) {
      throw Mismatch("entry " + quoted(key) + " of a mask is not known");
    }
  }
}

MaskPtr Expression::logical(const Value& tree, bool is_and) const {
  check_entries(tree, {"left", "right", "operator"});
  const MaskPtr left = mask(tree.at("left")), right = mask(tree.at("right"));
  const Value* made_with = tree.find("operator");
  if (made_with && made_with->as<bool>()) return is_and ? left & right : left | right;
  return is_and ? maskctl::lazy::logical_and(left, right) : maskctl::lazy::logical_or(left, right);
}

MaskPtr Expression::mask(const Value& tree) const {
  const std::string& name = tree.at("class").as<std::string>();
  if (name == "LogicalAnd" || name == "LogicalOr") return logical(tree, name == "LogicalAnd");
  if (name == "NumpyMask") {
    check_entries(tree, {"array"});
    return maskctl::lazy::numpy_mask(inputs_.tensor_of(tree.at("array")));
  }
  if (name == "MultiHeadMask") {
    check_entries(tree, {"masks"});
    std::vector<MaskPtr> heads;
    for (const Value& head : tree.at("masks").as<Value::List>()) heads.push_back(mask(head));
    return maskctl::lazy::multi_head_mask(std::move(heads));
  }
  const std::vector<Index> shape = shape_of(tree.at("shape"));
  const Index shard_count = integer_or(tree, "shard_count", 1);
  if (name == "CausalMask") {
    check_entries(tree, {"shape", "offset", "shard_count"});
    return maskctl::lazy::causal_mask(shape, integer_or(tree, "offset", 0), shard_count);
  }
  if (name == "LocalMask") {
    check_entries(tree, {"shape", "window_size", "offset", "shard_count"});
    return maskctl::lazy::local_mask(shape, window_of(tree.at("window_size")),
                                     tree.at("offset").as<std::int64_t>(), shard_count);
  }
  if (name == "ChunkedCausalMask") {
    check_entries(tree, {"shape", "chunk_size", "shard_count"});
    return maskctl::lazy::chunked_causal_mask(shape, tree.at("chunk_size").as<std::int64_t>(),
                                              shard_count);
  }
  if (name != "FullMask") throw Mismatch("no mask class " + quoted(name));
  check_entries(tree, {"shape"});
  return maskctl::lazy::full_mask(shape);
}

/// Makes a mask of a shape and the attributes that another mask has.
struct FromAttributes {
  std::vector<Index> shape;

  MaskPtr operator()(const attributes::CausalMask& own) const {
    return maskctl::lazy::causal_mask(shape, own.offset);
  }
  MaskPtr operator()(const attributes::LocalMask& own) const {
    return maskctl::lazy::local_mask(shape, own.window_size, own.offset);
  }
  MaskPtr operator()(const attributes::ChunkedCausalMask& own) const {
    return maskctl::lazy::chunked_causal_mask(shape, own.chunk_size);
  }
  MaskPtr operator()(const attributes::FullMask&) const { return maskctl::lazy::full_mask(shape); }
  MaskPtr operator()(const attributes::NumpyMask& own) const {
    return maskctl::lazy::numpy_mask(own.array);
  }
  MaskPtr operator()(const attributes::LogicalAnd& own) const {
    return maskctl::lazy::logical_and(own.left, own.right);
  }
  MaskPtr operator()(const attributes::LogicalOr& own) const {
    return maskctl::lazy::logical_or(own.left, own.right);
  }
  MaskPtr operator()(const attributes::MultiHeadMask& own) const {
    return maskctl::lazy::multi_head_mask(own.masks);
  }
};

/// Builds a mask, and builds it again from its own attributes, so that each case tests these too.
MaskPtr mask_of(Args& args, const std::string& name) {
  const MaskPtr mask = Expression(args).mask(args.value(name));
  const MaskPtr again = std::visit(FromAttributes{mask->shape()}, mask->attributes());
  if (!again->equals(*mask)) throw Mismatch("the attributes of a mask describe another one");
  return again;
}

maskctl::lazy::Subscript subscript_of(Args& args, const Value& entry) {
  if (const Value* number = entry.find("int")) return number->as<std::int64_t>();
  if (const Value* array = entry.find("array")) return args.tensor_of(*array);
  const Value::List& parts = entry.at("slice").as<Value::List>();
  if (parts.size() < 2 || parts.size() > 3) throw Mismatch("no slice: " + entry.text());
  return maskctl::lazy::Slice{optional_of(parts[0]), optional_of(parts[1]),
                              parts.size() == 3 ? optional_of(parts[2]) : std::nullopt};
}

Value value_of_shape(const std::vector<Index>& shape) {
  return Value::List(shape.begin(), shape.end());
}

Outputs mask_getitem(Args& args) {
  const MaskPtr mask = mask_of(args, "expr");
  std::vector<maskctl::lazy::Subscript> index;
  for (const Value& entry : args.value("index").as<Value::List>()) {
    index.push_back(subscript_of(args, entry));
  }
  return {{"result", output_of(mask->at(index))}, {"shape", value_of_shape(mask->shape())}};
}

Outputs mask_eq(Args& args) {
  const MaskPtr left = mask_of(args, "left"), right = mask_of(args, "right");
  const bool equal = left->equals(*right);
  if (equal && left->hash() != right->hash()) throw Mismatch("equal masks hash differently");
  return {{"result", Value(equal)}};
}

Outputs mask_build(Args& args) {
  return {{"shape", value_of_shape(mask_of(args, "expr")->shape())}};
}

Outputs mask_bool(Args& args) { mask_of(args, "expr")->to_bool(); }

/// The argument `shape`, which must have two extents.
std::pair<Index, Index> extents_of(Args& args) {
  const std::vector<Index> shape = args.integers("shape");
  if (shape.size() != 2) throw Mismatch("shape " + args.value("shape").text() + " is not 2D");
  return {shape[0], shape[1]};
}

Outputs make_causal_mask(Args& args) {
  const auto [q, k] = extents_of(args);
  return {{"result", maskctl::lazy::make_causal_mask(q, k, args.integer("offset", 0))}};
}

Outputs make_local_attention_mask(Args& args) {
  const auto [q, k] = extents_of(args);
  const WindowSize window = window_of(args.value("window_size"));
  return {{"result",
           maskctl::lazy::make_local_attention_mask(q, k, window, args.integer("offset", 0))}};
}

Outputs make_chunk_attention_mask(Args& args) {
  const auto [q, k] = extents_of(args);
  return {{"result", maskctl::lazy::make_chunk_attention_mask(q, k, args.integer("chunk_size"))}};
}

Outputs make_random_mask(Args& args) {
  const auto [q, k] = extents_of(args);
  const double sparsity = args.value("sparsity").number();
  return {{"result", maskctl::lazy::make_random_mask(q, k, sparsity, args.integer("seed"))}};
}

}  // namespace

const Table<Function>& lazy_masks() {
  static const Table<Function> table = {
      {"mask_getitem", mask_getitem},
      {"mask_eq", mask_eq},
      {"mask_build", mask_build},
      {"mask_bool", mask_bool},
      {"make_causal_mask", make_causal_mask},
      {"make_local_attention_mask", make_local_attention_mask},
      {"make_chunk_attention_mask", make_chunk_attention_mask},
      {"make_random_mask", make_random_mask},
  };
  return table;
}

}  // namespace conformance
