// Draws a mask step of any kind from the list of its arguments, so that new steps are tested
// without code of their own.
#pragma once

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "maskctl/base/text.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::twin {

/// Draws argument values that are valid by themselves; the step may still refuse a mask of this
/// shape. `arrays` and `masks` hold what the arguments name.
class StepMaker {
 public:
  StepMaker(std::mt19937_64& random, const MaskShape& shape) : random_(random), shape_(shape) {}

  Step step(const StepInfo& info) {
    for (;;) {
      Given given;
      Step out = draft(info, given);
      const RuleInfo& rule = out.row();
      if (rule.misfit && rule.misfit(out, given)) continue;
      if (rule.limit) rule.limit(out, kMaxBytes);
      return out;
    }
  }

  /// Returns the step with another value of this argument; nothing if the step has no such argument
  /// or no other value was found.
  std::optional<Step> changed(const Step& step, const Field& field) {
    if (std::holds_alternative<std::monostate>(field.get(step))) return std::nullopt;
    for (int tries = 0; tries < 20; ++tries) {
      Step out = step;
      field.set(out, value(field));
      if (out != step) return out;
    }
    return std::nullopt;
  }

  std::map<std::string, Tensor> arrays;
  std::map<std::string, Mask> masks;
  static constexpr Index kMaxBytes = Index{8} << 30;  // the limit that BindContext has

 private:
  using Given = std::vector<std::string_view>;
  Step draft(const StepInfo& info, Given& given) {
    Step out = info.make();
    const int group = one_group(info);
    bool any = false;
    for (const Field& field : info.args) {
      if (field.group != 0 && field.group != group) continue;
      if (field.type == FieldType::kPadId && !reads_source(info, group)) continue;
      const bool last = &field == &info.args.back();
      if (!field.required && (coin() && !(last && group != 0 && !any))) continue;
      any = any || field.group != 0;
      given.push_back(field.name);
      field.set(out, value(field));
    }
    if (info.chain) *info.chain(out) = inner_chain();
    return out;
  }

  Index draw(Index low, Index high) {
    return std::uniform_int_distribution<Index>(low, std::max(low, high))(random_);
  }
  bool coin() { return draw(0, 1) == 1; }
  Index longest() const { return std::max(shape_.queries, shape_.keys); }

  int one_group(const StepInfo& info) {
    std::set<int> groups;
    for (const Field& field : info.args) {
      if (field.group != 0) groups.insert(field.group);
    }
    return groups.empty() ? 0 : *std::next(groups.begin(), draw(0, std::ssize(groups) - 1));
  }
  static bool reads_source(const StepInfo& info, int group) {
    return std::ranges::any_of(info.args, [group](const Field& field) {
      return field.group == group && field.type == FieldType::kSource;
    });
  }

  FieldValue value(const Field& field) {
    switch (field.type) {
      case FieldType::kInteger:
        return number(field);
      case FieldType::kSide:
        return coin() ? FieldValue(number(field)) : FieldValue();
      case FieldType::kReal:
        return static_cast<double>(draw(0, 8)) / 8;
      case FieldType::kSeed:
        return static_cast<std::uint64_t>(draw(0, 1 << 20));
      case FieldType::kChoice:
        return draw(0, std::ssize(split(field.choices, '|')) - 1);
      case FieldType::kLengths:
        return lengths();
      case FieldType::kRanges:
        return ranges();
      case FieldType::kRange: {
        const Index begin = draw(0, longest() - 1);
        return Range{begin, begin + draw(1, 3)};
      }
      case FieldType::kBlockSize:
        return BlockSize{draw(1, 4), draw(1, 4)};
      case FieldType::kSource:
        return named(array(field.name));
      case FieldType::kSideOrSource:
        if (coin()) return FieldValue();
        [[fallthrough]];
      case FieldType::kIntegerOrSource:
        return coin() ? FieldValue(number(field)) : FieldValue(fields::numbers(per_batch(field)));
      case FieldType::kMaskSource:
        return other_mask();
      case FieldType::kPadId:
        return draw(-1, 2);
    }
    return {};
  }
  Index number(const Field& field) {
    return draw(std::max(field.min, -longest() - 1), std::min(field.max, longest() + 2));
  }
  std::vector<Index> per_batch(const Field& field) {
    std::vector<Index> out(as_size(std::max<Index>(shape_.batch, 2)));
    for (Index& value : out) value = number(field);
    return out;
  }
  /// Draws lengths, of documents or one for each batch.
  std::vector<Index> lengths() {
    std::vector<Index> out(as_size(coin() ? shape_.batch : draw(1, 3)));
    for (Index& length : out) length = draw(0, std::min(shape_.queries, shape_.keys) / 2 + 1);
    return out;
  }
  std::vector<Range> ranges() {
    std::vector<Range> out;
    for (Index n = draw(1, 2); n > 0; --n) {
      const Index begin = draw(0, longest() - 1);
      out.push_back({begin, begin + draw(1, 2)});
    }
    return out;
  }
  /// Draws an array with one element for each query or each key, as the argument name says; "SRC"
  /// may have other shapes too.
  Tensor array(std::string_view name) {
    Index length = coin() ? shape_.queries : shape_.keys;
    if (name == "q") length = shape_.queries;
    if (name == "kv") length = shape_.keys;
    std::vector<Index> extents{length};
    if (name == "SRC" && draw(0, 3) == 0) extents = {shape_.batch};
    if (name == "SRC" && draw(0, 3) == 0) extents = {longest(), longest()};
    if (coin()) extents.insert(extents.begin(), shape_.batch);
    const bool flags = coin();
    Tensor out(flags ? DType::kBool : DType::kInt32, extents);
    for (Index i = 0; i < out.elements(); ++i) {
      if (flags) {
        out.as<std::uint8_t>()[as_size(i)] = coin() ? 1 : 0;
      } else {
        out.as<std::int32_t>()[as_size(i)] = static_cast<std::int32_t>(draw(0, 3));
      }
    }
    return out;
  }
  NamedArray named(Tensor array) {
    std::string name = "array" + std::to_string(arrays.size()) + ".npy";
    arrays.emplace(name, array);
    return {std::move(array), std::move(name)};
  }
  NamedMask other_mask() {
    Tensor dense(DType::kBool, {coin() ? 1 : shape_.batch, coin() ? 1 : shape_.heads,
                                shape_.queries, shape_.keys});
    for (std::uint8_t& cell : dense.as<std::uint8_t>()) cell = coin() ? 1 : 0;
    std::string name = "mask" + std::to_string(masks.size()) + ".npy";
    const Mask mask = mask_from_dense(dense);
    masks.emplace(name, mask);
    return {mask, name};
  }
  Chain inner_chain() {
    const auto infos = step_infos();
    for (;;) {
      const StepInfo& info = infos[as_size(draw(0, std::ssize(infos) - 1))];
      if (!info.chain) return {step(info)};
    }
  }

  std::mt19937_64& random_;
  MaskShape shape_;
};

}  // namespace maskctl::twin
