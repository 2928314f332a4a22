#include "app/cli/commands/attention/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "app/cli/commands/attention/layout.h"
#include "app/cli/commands/attention/rank_arrays.h"
#include "app/cli/parser/values.h"
#include "maskctl/attention/calls/axes.h"
#include "maskctl/base/error.h"
#include "maskctl/base/text.h"
#include "maskctl/pipeline/parse/values.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::app {
namespace {

using attention::AxisExtents;
using attention::Field;
using attention::NamedArguments;
using attention::Operation;

/// Returns the argument with this name. If the operation does not have it, searches `other_form`,
/// the variant of the operation that takes other arrays. Null if neither has it.
const Field* find(const Operation& operation, std::string_view name, bool is_array) {
  const Field* const found = operation.find(name, is_array);
  return found || !operation.other_form ? found : operation.other_form->find(name, is_array);
}

/// The array argument with this name; null if NAME=VALUE sets an option. If the operation has both
/// an array and an option of this name, a `value` of digits sets the option.
const Field* array_named(const Operation& operation, std::string_view name,
                         std::string_view value) {
  const bool digits = value.find_first_not_of("0123456789") == value.npos;
  return digits && find(operation, name, false) ? nullptr : find(operation, name, true);
}

/// Returns `value` as a tensor without axes if it is a number and the argument may be a single
/// number, as in decay=-0.1.
std::optional<Tensor> number_of(const Field& field, std::string_view value) {
  const std::optional<double> number = number_from<double>(value);
  if (!number || !attention::axes_of_rank(field.axes, 0)) return std::nullopt;
  Tensor out(DType::kFloat64, {});
  out.as<double>()[0] = *number;
  return astype(out, field.is(attention::kIntegers) ? DType::kInt32 : DType::kFloat32);
}

void add_word(const Operation& operation, const CallOptions& options, const std::string& word,
              Loader& loader, RankArrays* parts, NamedArguments& arguments) {
  const std::size_t mark = word.find('=');
  if (mark == word.npos || mark == 0) {
    throw Error(Errc::kInvalidArgument, fmt::format("'{}' is not NAME=SOURCE or NAME=VALUE", word));
  }
  const std::string value = word.substr(mark + 1);
  std::string given = word.substr(0, mark);
  const bool is_own = find(operation, given, true) || find(operation, given, false);
  if (!is_own) given = full_name(given);
  const Field* const array = array_named(operation, given, value);
  const std::string name(array ? array->name : given);
  if (arguments.arrays.contains(name) || arguments.options.contains(name) ||
      (parts && parts->contains(name))) {
    throw Error(Errc::kInvalidArgument, fmt::format("{}: given more than once", name));
  }
  if (auto number = array ? number_of(*array, value) : std::nullopt) {
    arguments.arrays[name] = std::move(*number);
  } else if (parts && RankArrays::takes(array, name, value)) {
    parts->open(name, value, loader);
  } else if (array || name.starts_with("cotangent_")) {
    arguments.arrays[name] = transposed(operation, name, loader.array(value), options.layout);
  } else {
    arguments.options[name] = value;
  }
}

AxisExtents given_axes(const std::string& text) {
  const AxisExtents& usual = attention::usual_extents();
  AxisExtents out;
  if (text.empty()) return out;
  for (const std::string& part : parse_list(text)) {
    const std::string name = part.substr(0, part.find('='));
    // The linear-attention operations call this axis H.
    const std::string axis = name == "H" ? "Hq" : name;
    if (name.size() == part.size() || !usual.contains(axis)) {
      std::vector<std::string> known;
      for (const auto& [one, extent] : usual) known.push_back(one);
      throw Error(Errc::kInvalidArgument,
                  fmt::format("--axes: '{}' is not AXIS=N with one of the axes {}", part,
                              joined(known, ", ")));
    }
    out[axis] = parse_integer(part.substr(name.size() + 1), "--axes " + name, 1, kMaxArgument);
  }
  return out;
}

/// The names of the axes of all array arguments.
std::set<std::string> axes_of(const Operation& operation) {
  std::set<std::string> out;
  for (const attention::Field& field : operation.fields) {
    for (const auto& alternative : attention::axes_alternatives(field.axes)) {
      for (const attention::Axis& axis : alternative) out.insert(axis.name);
    }
  }
  return out;
}

void check_axes(const Operation& operation, const AxisExtents& given) {
  const std::set<std::string> known = axes_of(operation);
  for (const auto& [axis, extent] : given) {
    if (known.contains(axis)) continue;
    throw Error(Errc::kInvalidArgument, fmt::format("--axes {}={}: no array of {} has this axis",
                                                    axis, extent, operation.name));
  }
}

/// Throws if the query array seems to be in the wrong layout: its heads axis, not its time axis,
/// has the number of queries of the mask.
void check_layout(const Operation& operation, const CallOptions& options, const Mask& mask,
                  const NamedArguments& arguments) {
  const auto query = arguments.arrays.find("query");
  const bool comparable =
      !options.layout && query != arguments.arrays.end() && query->second.rank() == 4;
  if (!comparable) return;
  const bool heads_first = operation.heads_first();
  const Index time = heads_first ? 2 : 1, heads = heads_first ? 1 : 2;
  const Tensor& array = query->second;
  if (array.extent(time) == mask.queries() || array.extent(heads) != mask.queries()) return;
  throw Error(Errc::kShape,
              fmt::format("query is {}, and the {} queries of the mask are where {} has heads: {}",
                          shape_text(array.shape()), mask.queries(), operation.name,
                          fmt::format(fmt::runtime(options.layout_spelling),
                                      heads_first ? "bthd" : "bhtd")));
}

/// Copies the extents of the mask; extents of 1 for batch and heads broadcast and are not copied.
/// Throws if --axes gives another extent.
void take_extents(const Mask& mask, const AxisExtents& given, AxisExtents& extents) {
  const auto take = [&](const char* axis, Index extent) {
    const auto found = given.find(axis);
    if (found != given.end() && found->second != extent) {
      throw Error(Errc::kShape, fmt::format("--axes {}={}: the mask has {}={}", axis, found->second,
                                            axis, extent));
    }
    extents[axis] = extent;
  };
  if (mask.batch() > 1) take("B", mask.batch());
  if (mask.heads() > 1) take("Hq", mask.heads());
  take("Tq", mask.queries());
  take("Tk", mask.keys());
}

}  // namespace

std::string_view full_name(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"q", "query"},
      {"k", "key"},
      {"v", "value"},
      {"o", "out"},
      {"output", "out"},
      {"given", "out"},
      {"do", "cotangent_out"},
      {"d_out", "cotangent_out"},
      {"dout", "cotangent_out"},
      {"grad_out", "cotangent_out"},
      {"d_lse", "cotangent_lse"},
      {"dq", "grad_query"},
      {"dk", "grad_key"},
      {"dv", "grad_value"},
      {"d_query", "grad_query"},
      {"d_key", "grad_key"},
      {"d_value", "grad_value"}};
  const auto found =
      std::ranges::find(kNames, name, &std::pair<std::string_view, std::string_view>::first);
  return found == std::end(kNames) ? name : found->second;
}

bool is_result(std::string_view name) {
  return name == "out" || name == "lse" || name.starts_with("grad_");
}

void require_backend(attention::Backend backend, std::string_view option) {
  const std::string reason = attention::unavailable(backend);
  if (reason.empty()) return;
  throw Error(Errc::kDevice, fmt::format("{0} {1} cannot run here: {2}; use {0} {3}", option,
                                         name(backend), reason, name(attention::Backend::kCpu)));
}

const Operation& operation_named(const std::string& name) {
  if (const Operation* found = attention::find_operation(name)) return *found;
  const std::string why = attention::left_out(name);
  if (!why.empty()) throw Error(Errc::kUnsupported, why);
  std::vector<std::string_view> names;
  for (const Operation* operation : attention::operations()) names.push_back(operation->name);
  return *attention::operations()[parse_choice(name, "operation", names)];
}

AxisExtents parse_axes(const std::string& text, std::optional<Index> size) {
  AxisExtents out = given_axes(text);
  if (size) {
    for (const char* axis : {"T", "Tq", "Tk", "S", "M"}) out.try_emplace(axis, *size);
  }
  if (const auto dim = out.find("D"); dim != out.end()) out.try_emplace("Dv", dim->second);
  out.insert(attention::usual_extents().begin(), attention::usual_extents().end());
  return out;
}

NamedArguments read_call(const Operation& operation, const CallOptions& options, Loader& loader,
                         RankArrays* parts) {
  NamedArguments arguments;
  for (const std::string& word : options.words) {
    add_word(operation, options, word, loader, parts, arguments);
  }
  const AxisExtents given = given_axes(options.axes);
  check_axes(operation, given);
  AxisExtents extents = parse_axes(options.axes);
  if (!options.mask.empty()) {
    arguments.mask = loader.transformed(loader.read(options.mask).mask);
    if (operation.has("causal")) arguments.options.try_emplace("causal", "false");
    check_layout(operation, options, *arguments.mask, arguments);
    take_extents(*arguments.mask, given, extents);
  }
  if (!given.contains("Hkv") && extents["Hq"] % extents["Hkv"] != 0) extents["Hkv"] = extents["Hq"];
  add_random_arrays(operation,
                    {.extents = std::move(extents),
                     .wanted = given,
                     .seed = options.seed,
                     .dtype = options.random_dtype.value_or(DType::kFloat32),
                     .max_bytes = loader.max_bytes(),
                     .outlines = parts ? parts->outlines() : RankArrays::Outlines(),
                     .parts = parts ? &parts->random() : nullptr},
                    arguments);
  if (!parts) loader.print(warnings(operation, arguments));
  return arguments;
}

}  // namespace maskctl::app
