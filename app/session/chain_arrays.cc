#include "app/session/chain_arrays.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/pipeline/parse/diagnostic.h"

namespace maskctl::app {

ChainArrays::ChainArrays(std::string_view command, std::string dest)
    : command_(command), dest_(std::move(dest)) {}

void ChainArrays::name(Chain& chain) {
  for (Step& step : chain) std::visit([this](auto& rule) { name_in(rule); }, step.rule);
}

void ChainArrays::add(NamedArray& array, const char* kind) {
  if (array.array.elements() == 0) return;
  const auto at = std::ranges::find_if(arrays_, [&](const ArrayRef& seen) {
    return NamedArray{*seen.tensor, ""} == NamedArray{array.array, ""};
  });
  if (at == arrays_.end()) {
    arrays_.push_back({fmt::format("{}{}", kind, arrays_.size() + 1), &array.array});
    array.text = source_of(arrays_.back());
  } else {
    array.text = source_of(*at);
  }
}

void ChainArrays::name_in(step::Document& rule) {
  add(rule.q, "ids");
  add(rule.kv, "ids");
}
void ChainArrays::name_in(step::Tokens& rule) {
  add(rule.q, "types");
  add(rule.kv, "types");
}
void ChainArrays::name_in(step::Block& rule) { add(rule.map, "map"); }
void ChainArrays::name_in(step::Causal& rule) {
  // A single offset is printed as a number.
  if (rule.offsets.array.elements() > 1) add(rule.offsets, "offsets");
}
void ChainArrays::name_in(step::Scoped& rule) { name(rule.chain); }

bool ChainArrays::is_single() const {
  return !dest_.empty() && !parse_dest_name(dest_).is_container();
}

std::string ChainArrays::source_of(const ArrayRef& array) const {
  if (dest_.empty()) return fmt::format("{}.npz:{}", command_, array.name);
  const std::string path = parse_dest_name(dest_).path;
  return is_single() ? path : fmt::format("{}:{}", path, array.name);
}

std::vector<std::string> ChainArrays::sources() const {
  std::vector<std::string> out;
  for (const ArrayRef& array : arrays_) out.push_back(source_of(array));
  return out;
}

bool ChainArrays::write(const WriteOptions& options) const {
  if (dest_.empty() || arrays_.empty()) return false;
  if (!is_single()) {
    write_arrays(dest_, arrays_, options);
    return true;
  }
  if (arrays_.size() > 1) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{}: the pipeline reads {} arrays; --write {} holds one: use a .npz",
                            command_, arrays_.size(), shown(dest_)));
  }
  write_array(dest_, *arrays_.front().tensor, options);
  return true;
}

}  // namespace maskctl::app
