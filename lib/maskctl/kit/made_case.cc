#include "maskctl/kit/made_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "maskctl/base/error.h"
#include "maskctl/base/text.h"
#include "maskctl/pipeline/load.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::kit {
namespace {

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

/// The int32 array that runs of equal numbers mean.
Tensor array_of(const StepArray& from) {
  Tensor out(DType::kInt32, from.shape);
  const auto elements = out.as<std::int32_t>();
  std::size_t at = 0;
  for (const std::string_view run : split(from.runs, ' ')) {
    const auto parts = split(run, '*');
    const Index end = static_cast<Index>(at) + number_from<Index>(parts.at(1)).value();
    while (static_cast<Index>(at) < end) {
      elements[at++] = number_from<std::int32_t>(parts[0]).value();
    }
  }
  if (at == elements.size()) return out;
  throw Error(Errc::kShape, fmt::format("runs '{}' of {}: {} elements, expected {}", from.runs,
                                        from.name, at, elements.size()));
}

/// Writes NaN to all vectors of the tokens [begin, end) of an array [B,K,H,D].
void spoil(Tensor& array, const Range& tokens) {
  const Index token = array.extent(2) * array.extent(3);
  for (Index b = 0; b < array.extent(0); ++b) {
    const Index first = (b * array.extent(1) + tokens.begin) * token;
    for (float& x : array.as<float>().subspan(as_size(first), as_size(tokens.size() * token))) {
      x = std::numeric_limits<float>::quiet_NaN();
    }
  }
}

void add_arrays(MadeCase& made) {
  const Call& call = made.call();
  const auto add = [&made](const char* name, std::vector<Index> shape) {
    made.arrays[name] =
        astype(astype(numbers(made.id, name, std::move(shape)), made.dtype), DType::kFloat32);
  };
  add("query", {call.batch, call.queries, call.heads, call.dim});
  add("key", {call.batch, call.keys, call.kv_heads, call.dim});
  add("value", {call.batch, call.keys, call.kv_heads, call.value_dim});
  if (call.bias) add("bias", {1, call.heads, call.queries, call.keys});
  if (call.sinks > 0) add("sinks", {call.heads, call.sinks});
  if (made.rule->asks == Asks::kGradients) {
    add("cotangent_out", {call.batch, call.queries, call.heads, call.value_dim});
  }
  if (call.nan_keys.size() == 0) return;
  spoil(made.arrays.at("key"), call.nan_keys);
  spoil(made.arrays.at("value"), call.nan_keys);
}

}  // namespace

Tensor numbers(const std::string& id, std::string_view name, std::vector<Index> shape) {
  Tensor out = Tensor::unwritten(DType::kFloat32, std::move(shape));
  std::uint64_t counter = fnv1a(fmt::format("{}/{}", id, name));
  for (float& x : out.as<float>()) {
    counter += 0x9E3779B97F4A7C15;
    x = static_cast<float>(mixed(counter) >> 40) * 0x1p-22F - 2;
  }
  return out;
}

std::string case_id(const Rule& rule, std::size_t number) {
  return fmt::format("{}-{}", rule.id, number + 1);
}

bool is_case_id(std::string_view id) {
  return std::ranges::any_of(all_rules(), [id](const Rule* rule) {
    for (std::size_t i = 0; i < rule->cases.size(); ++i) {
      if (case_id(*rule, i) == id) return true;
    }
    return false;
  });
}

MadeCase make_case(const Rule& rule, std::size_t number, DType dtype) {
  MadeCase made;
  made.id = case_id(rule, number);
  made.rule = &rule;
  made.source = &rule.cases.at(number);
  made.dtype = dtype;
  for (const StepArray& array : made.source->arrays) {
    made.step_arrays[std::string(array.name)] = array_of(array);
  }
  BindContext context;
  context.read_array = [&made](const std::string& name) { return made.step_arrays.at(name); };
  const std::string steps[] = {std::string(made.source->steps)};
  made.steps = load_chain(steps, context);
  const Call& call = made.call();
  const Mask open = full_mask(call.batch, call.heads, call.queries, call.keys);
  made.mask = maskctl::apply(open, made.steps);
  add_arrays(made);
  return made;
}

}  // namespace maskctl::kit
