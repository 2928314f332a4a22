#include "app/session/chain_arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>

#include "maskctl/base/error.h"
#include "maskctl/pipeline/parse/diagnostic.h"

namespace maskctl::app {
namespace {

/// An array that a step reads, and what its numbers are.
struct ArrayOf {
  NamedArray* array;
  const char* kind;
};

template <typename Rule, typename... Rules>
concept OneOf = (std::same_as<Rule, Rules> || ...);

/// The arrays that stand in a file where the step is text; lists of numbers are written out. A new
/// rule does not compile until it is here.
struct ArraysOfRule {
  using Arrays = std::vector<ArrayOf>;
  Arrays operator()(step::Document& rule) const { return ids_of(rule, "ids"); }
  Arrays operator()(step::Within& rule) const { return ids_of(rule, "ids"); }
  Arrays operator()(step::Tokens& rule) const { return ids_of(rule, "types"); }
  Arrays operator()(step::Block& rule) const { return {{&rule.map, "map"}}; }
  Arrays operator()(step::Pad& rule) const {
    return rule.is_lengths ? Arrays{} : Arrays{{&rule.valid, "valid"}};
  }
  template <OneOf<step::Causal, step::Window, step::Chunk, step::DocumentLengths, step::Dilated,
                  step::Random, step::Prefix, step::Sinks, step::Global, step::Region,
                  step::Combine, step::Not, step::Slice, step::KvLengths, step::Scoped>
                Rule>
  Arrays operator()(Rule&) const {
    return {};
  }

 private:
  static Arrays ids_of(auto& rule, const char* kind) { return {{&rule.q, kind}, {&rule.kv, kind}}; }
};

}  // namespace

ChainArrays::ChainArrays(std::string_view command, std::string dest)
    : command_(command), dest_(std::move(dest)) {}

void ChainArrays::name(Chain& chain) {
  for (Step& step : chain) {
    if (auto* scoped = std::get_if<step::Scoped>(&step.rule)) name(scoped->chain);
    if (auto* within = std::get_if<step::Within>(&step.rule)) name(within->chain);
    for (const ArrayOf& one : std::visit(ArraysOfRule{}, step.rule)) add(*one.array, one.kind);
  }
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
