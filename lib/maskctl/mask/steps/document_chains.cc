#include "maskctl/mask/steps/document_chains.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/mask/steps/scoped.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::step {

void DocumentChains::take_list(Part& part, const Field& field, Index documents) {
  const FieldValue value = field.get(part.step);
  const auto* given = std::get_if<NamedArray>(&value);
  if (!given || !takes_list(field) || given->array.elements() == 1) return;
  const auto numbers = as_int64(given->array, "numbers");
  if (std::ssize(numbers) != documents) {
    const std::string_view name = info_of(part.step).name;
    refuse(name, fmt::format("{}= has {} numbers for {} documents: expected 1{}", field.name,
                             numbers.size(), documents,
                             documents < 2 ? "" : fmt::format(" or {}", documents)));
  }
  part.lists.push_back({&field, {numbers.begin(), numbers.end()}});
}

DocumentChains::DocumentChains(const Chain& chain, Index documents) {
  for (const Step& step : chain) {
    Part part{step};
    for (const Field& field : info_of(step).args) take_list(part, field, documents);
    // Taken after all are read: the arguments of a window may be stored in the same members.
    for (const List& list : part.lists) list.field->set(part.step, list.numbers.front());
    differ_ = differ_ || !part.lists.empty();
    const auto* scope = step.get_if<Scoped>();
    if (scope && scope->axis == Scoped::Axis::kBatch) {
      part.members = members_of(*scope, documents);
      part.inside.emplace_back(scope->chain, std::ssize(part.members));
      differ_ = true;
    } else if (const Chain* own = chain_of(step); own && !documents_in(step)) {
      part.inside.emplace_back(*own, documents);
      differ_ = differ_ || part.inside.front().differ();
    }
    parts_.push_back(std::move(part));
  }
}

Chain DocumentChains::of(Index document) const {
  Chain out;
  for (const Part& part : parts_) {
    if (!part.members.empty()) {
      const auto at = std::ranges::find(part.members, document);
      if (at == part.members.end()) continue;
      const Chain own = part.inside.front().of(at - part.members.begin());
      out.insert(out.end(), own.begin(), own.end());
      continue;
    }
    Step step = part.step;
    for (const List& list : part.lists) list.field->set(step, list.numbers[as_size(document)]);
    if (!part.inside.empty()) *info_of(step).chain(step) = part.inside.front().of(document);
    out.push_back(std::move(step));
  }
  return out;
}

}  // namespace maskctl::step
