// What a call looks like to caches: its shapes, dtypes and options as one line of text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "maskctl/mask/block_map.h"
#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// Builds "query=f32[1,128,8,64] causal=1 ...". Absent arguments leave no trace, so that calls of
/// equal meaning have equal text. Contents of arrays do not take part.
class CallText {
 public:
  void add(std::string_view name, const Tensor* tensor);
  void add(std::string_view name, const Mask* mask);
  void add(std::string_view name, const BlockMap* map);
  void add(std::string_view name, bool value);
  void add(std::string_view name, Index value);
  void add(std::string_view name, double value);  // exact
  void add(std::string_view name, std::string_view value);
  template <class E>
  requires std::is_enum_v<E>
  void add(std::string_view name, E value) { add(name, static_cast<Index>(value)); }
  template <class T>
  void add(std::string_view name, const std::optional<T>& value) {
    if (value) add(name, *value);
  }

  const std::string& text() const { return text_; }

 private:
  void begin(std::string_view name);

  std::string text_;
};

}  // namespace maskctl::attention
