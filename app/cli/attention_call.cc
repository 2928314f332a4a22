#include "app/cli/attention_call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "app/cli/layout.h"
#include "app/cli/parse.h"
#include "maskctl/base/error.h"
#include "maskctl/pipeline/values.h"

namespace maskctl::app {
namespace {

using attention::AxisExtents;
using attention::NamedArguments;
using attention::NamedOperation;

template <class Entries>
bool contains(const Entries& entries, std::string_view name) {
  return std::ranges::any_of(entries, [name](const auto& entry) { return entry.name == name; });
}

bool is_array(const NamedOperation& operation, std::string_view name, std::string_view value) {
  if (name.starts_with("cotangent_")) return true;
  // An argument that is an array or a number: block_counts.
  const bool digits = value.find_first_not_of("0123456789") == value.npos;
  return contains(operation.arrays, name) && !(contains(operation.options, name) && digits);
}

void add_word(const NamedOperation& operation, const CallOptions& options, const std::string& word,
              Loader& loader, NamedArguments& arguments) {
  const std::size_t mark = word.find('=');
  if (mark == word.npos || mark == 0) {
    throw Error(Errc::kInvalidArgument, fmt::format("'{}' is not NAME=SOURCE or NAME=VALUE", word));
  }
  const std::string name = word.substr(0, mark), value = word.substr(mark + 1);
  if (arguments.arrays.contains(name) || arguments.options.contains(name)) {
    throw Error(Errc::kInvalidArgument, fmt::format("{}: given more than once", name));
  }
  if (is_array(operation, name, value)) {
    arguments.arrays[name] = turned(operation, name, loader.array(value), options.layout);
  } else {
    arguments.options[name] = value;
  }
}

const AxisExtents& default_axes() {
  static const AxisExtents kDefaults = {
      {"B", 1},   {"T", 128}, {"Tq", 128}, {"Tk", 128}, {"S", 128}, {"Hq", 4},
      {"Hkv", 4}, {"H", 4},   {"D", 64},   {"Dv", 64},  {"K", 64},  {"V", 64},
      {"R", 64},  {"P", 32},  {"C", 64},   {"M", 128},  {"N", 64},  {"G", 4}};
  return kDefaults;
}

AxisExtents given_axes(const std::string& text) {
  AxisExtents out;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find('+'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    const std::string axis(part.substr(0, part.find('=')));
    if (axis.size() == part.size() || !default_axes().contains(axis)) {
      std::vector<std::string> known;
      for (const auto& [name, extent] : default_axes()) known.push_back(name);
      throw Error(Errc::kInvalidArgument,
                  fmt::format("--axes: '{}' is not AXIS=N with one of the axes {}", part,
                              fmt::join(known, ", ")));
    }
    out[axis] = parse_integer(part.substr(axis.size() + 1), "--axes " + axis, 1, kMaxArgument);
  }
  return out;
}

/// The axes of "B Tq Hq D|Tq Hq D" of all arrays.
std::set<std::string> axes_of(const NamedOperation& operation) {
  std::set<std::string> out;
  for (const attention::NamedArray& array : operation.arrays) {
    std::string axis;
    for (const char c : array.axes) {
      if (c != ' ' && c != '|') {
        axis += c;
      } else {
        out.insert(std::exchange(axis, ""));
      }
    }
    out.insert(axis);
  }
  return out;
}

void check_axes(const NamedOperation& operation, const AxisExtents& given) {
  const std::set<std::string> known = axes_of(operation);
  for (const auto& [axis, extent] : given) {
    if (known.contains(axis)) continue;
    throw Error(Errc::kInvalidArgument, fmt::format("--axes {}={}: no array of {} has this axis",
                                                    axis, extent, operation.name));
  }
}

/// Throws where the queries of a mask stand on the axis of heads.
void check_layout(const NamedOperation& operation, const CallOptions& options, const Mask& mask,
                  const NamedArguments& arguments) {
  const auto query = arguments.arrays.find("query");
  const bool comparable =
      !options.layout && query != arguments.arrays.end() && query->second.rank() == 4;
  if (!comparable) return;
  const bool heads_first = own_layout(operation) == attention::Layout::kBhtd;
  const std::size_t time = heads_first ? 2 : 1, heads = heads_first ? 1 : 2;
  const Tensor& array = query->second;
  if (array.extent(time) == mask.queries() || array.extent(heads) != mask.queries()) return;
  throw Error(Errc::kShape,
              fmt::format("query is {}, and the {} queries of the mask stand where {} takes heads: "
                          "--layout {}",
                          shape_text(array.shape()), mask.queries(), operation.name,
                          heads_first ? "bthd" : "bhtd"));
}

/// A mask of one batch or head serves all; its other extents are those of the arrays. Throws where
/// --axes says another.
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

const NamedOperation& operation_named(const std::string& name) {
  if (const NamedOperation* found = attention::find_operation(name)) return *found;
  std::vector<std::string_view> names;
  for (const NamedOperation& operation : attention::named_operations()) {
    names.push_back(operation.name);
  }
  return attention::named_operations()[parse_choice(name, "operation", names)];
}

AxisExtents parse_axes(const std::string& text, std::optional<Index> size) {
  AxisExtents out = given_axes(text);
  if (size) {
    for (const char* axis : {"T", "Tq", "Tk", "S", "M"}) out.try_emplace(axis, *size);
  }
  if (const auto dim = out.find("D"); dim != out.end()) out.try_emplace("Dv", dim->second);
  out.insert(default_axes().begin(), default_axes().end());
  return out;
}

NamedArguments read_call(const NamedOperation& operation, const CallOptions& options,
                         Loader& loader) {
  NamedArguments arguments;
  for (const std::string& word : options.words) {
    add_word(operation, options, word, loader, arguments);
  }
  const AxisExtents given = given_axes(options.axes);
  check_axes(operation, given);
  AxisExtents extents = parse_axes(options.axes);
  if (!options.mask.empty()) {
    arguments.mask = loader.transformed(loader.read(options.mask).mask);
    if (contains(operation.options, "causal")) arguments.options.try_emplace("causal", "false");
    check_layout(operation, options, *arguments.mask, arguments);
    take_extents(*arguments.mask, given, extents);
  }
  if (!given.contains("Hkv") && extents["Hq"] % extents["Hkv"] != 0) extents["Hkv"] = extents["Hq"];
  add_random_arrays(operation,
                    {.extents = std::move(extents),
                     .wanted = given,
                     .seed = options.seed,
                     .dtype = options.random_dtype.value_or(DType::kFloat32),
                     .max_bytes = loader.max_bytes()},
                    arguments);
  return arguments;
}

}  // namespace maskctl::app
