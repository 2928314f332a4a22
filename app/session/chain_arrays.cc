#include "app/session/chain_arrays.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/pipeline/parse/diagnostic.h"

namespace maskctl::app {
namespace {

// Arrays of up to this many numbers are written in a chain's text, without a name.
constexpr Index kMostListed = 64;

}  // namespace

ChainArrays::ChainArrays(std::string_view command, std::string dest)
    : command_(command), dest_(std::move(dest)) {}

void ChainArrays::name(Chain& chain) {
  for (Step& step : chain) {
    const StepInfo& info = info_of(step);
    if (info.chain) name(*info.chain(step));
    for (const Field& field : info.args) {
      const FieldValue value = field.get(step);
      const auto* array = std::get_if<NamedArray>(&value);
      if (!array || array->empty()) continue;
      if (field.type != FieldType::kSource && array->array.elements() <= kMostListed) continue;
      const std::string_view stem = field.stem.empty() ? field.name : field.stem;
      field.set(step, NamedArray{array->array, source_of(added(array->array, stem))});
    }
  }
}

const ChainArrays::Named& ChainArrays::added(const Tensor& array, std::string_view stem) {
  const auto at = std::ranges::find_if(
      arrays_, [&](const Named& seen) { return same_elements(seen.array, array); });
  if (at != arrays_.end()) return *at;
  arrays_.push_back({fmt::format("{}{}", stem, arrays_.size() + 1), array});
  return arrays_.back();
}

bool ChainArrays::is_single() const {
  return !dest_.empty() && !parse_dest_name(dest_).is_container();
}

std::string ChainArrays::source_of(const Named& array) const {
  if (dest_.empty()) return fmt::format("{}.npz:{}", command_, array.name);
  const std::string path = parse_dest_name(dest_).path;
  return is_single() ? path : fmt::format("{}:{}", path, array.name);
}

std::vector<std::string> ChainArrays::sources() const {
  std::vector<std::string> out;
  out.reserve(arrays_.size());
  for (const Named& array : arrays_) out.push_back(source_of(array));
  return out;
}

bool ChainArrays::write(const WriteOptions& options) const {
  if (dest_.empty() || arrays_.empty()) return false;
  if (!is_single()) {
    std::vector<ArrayRef> arrays;
    arrays.reserve(arrays_.size());
    for (const Named& one : arrays_) arrays.push_back({one.name, &one.array});
    write_arrays(dest_, arrays, options);
    return true;
  }
  if (arrays_.size() > 1) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{}: the pipeline reads {} arrays; --write {} holds one: use a .npz",
                            command_, arrays_.size(), shown(dest_)));
  }
  write_array(dest_, arrays_.front().array, options);
  return true;
}

}  // namespace maskctl::app
