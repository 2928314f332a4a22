// A call of which the arguments are bound by name; private to what calls operations by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "maskctl/attention/by_name.h"
#include "maskctl/attention/effects.h"

namespace maskctl::attention {

inline constexpr std::string_view kCotangent = "cotangent_";

/// Whether gradients can flow in through an output of that name.
bool takes_cotangent(const Operation& operation, std::string_view output);

[[noreturn]] void refuse_name(const Operation& operation, std::string_view name);
[[noreturn]] void refuse_missing(const Field& field);

/// A call struct that is filled by name. Borrows the arguments.
class BoundCall {
 public:
  BoundCall(const Operation& operation, const NamedArguments& arguments);

  void* get() const { return values_.get(); }
  const std::vector<const Field*>& given() const { return given_; }
  /// Throws Error(kInvalidArgument) for a required array that is missing.
  void check_required() const;
  /// Given arguments that change nothing; throws Error(kInvalidArgument) for a strict one of them.
  std::vector<IdleArgument> idle(bool over_mesh) const;
  /// The arrays that the call has updated.
  void move_updated(NamedResults& results);

 private:
  void set(const std::string& name, const Tensor& array);
  void set_option(const std::string& name, const std::string& text);
  void set_masks(const NamedArguments& arguments);

  const Operation& operation_;
  AnyValue values_;
  std::vector<const Field*> given_;
  NamedResults updated_;
};

}  // namespace maskctl::attention
