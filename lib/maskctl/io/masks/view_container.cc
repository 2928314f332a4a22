#include "maskctl/io/masks/view_container.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"

namespace maskctl {

ViewContainer::ViewContainer(std::string name, std::span<const NamedView> arrays)
    : name_(std::move(name)), arrays_(arrays) {
  for (const NamedView& view : arrays_) keys_.push_back(view.name);
}

OpenArray ViewContainer::open(const std::string& key, const ReadOptions&,
                              std::vector<std::string>&) {
  const auto found = std::ranges::find(arrays_, key, &NamedView::name);
  if (found == arrays_.end()) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{}: no array {}; it has {}", name_, key, printable_list(keys_)));
  }
  return open_array(holds_one_array() ? name_ : name_ + ":" + key, found->array);
}

ContainerOutline ViewContainer::outline() {
  ContainerOutline out;
  for (const NamedView& view : arrays_) {
    const auto shape = view.array.shape();
    out.arrays.push_back({printable(view.name),
                          std::string(maskctl::name(view.array.dtype())),
                          {shape.begin(), shape.end()}});
  }
  return out;
}

}  // namespace maskctl
