// Arrays in memory, with the interface of a container.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "maskctl/io/formats/container.h"
#include "maskctl/io/masks/mask_io.h"

namespace maskctl {

/// A container of views. If there is only one array, messages name it like the container.
class ViewContainer final : public Container {
 public:
  /// The views must outlive this object.
  ViewContainer(std::string name, std::span<const NamedView> arrays);

  const std::string& name() const override { return name_; }
  const std::vector<std::string>& keys() const override { return keys_; }
  OpenArray open(const std::string& key, const ReadOptions& options,
                 std::vector<std::string>& notes) override;
  ContainerOutline outline() override;
  bool holds_one_array() const override { return arrays_.size() == 1; }

 private:
  std::string name_;
  std::span<const NamedView> arrays_;
  std::vector<std::string> keys_;
};

}  // namespace maskctl
