// The arguments of one call by name, as a command line or a manifest gives them, and its results.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "maskctl/attention/softmax/softmax.h"
#include "maskctl/mask/lazy/lazy_mask.h"
#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

class Runtime;

/// "out", "lse", "weights", "final_state", ..., and "grad_NAME" of the input NAME.
using NamedResults = std::map<std::string, Tensor>;

/// Seconds that the passes of a call took: the operation alone, without making random cotangents.
struct CallTimes {
  double forward = 0, backward = 0;
};

/// What is passed to an operation that is chosen by name.
struct NamedArguments {
  std::map<std::string, Tensor> arrays;        // inputs, and "cotangent_NAME" of outputs
  std::map<std::string, std::string> options;  // as text: "true", "0.5", "3+1", "none"
  std::optional<Mask> mask;                    // of operations that take one
  lazy::MaskPtr lazy_mask;                     // the seed's form, of blocksparse_attention
  Backend backend = Backend::kCpu;
  Runtime* runtime = nullptr;  // chooses configs, and tunes; null: the operation itself runs
  /// Gradients are computed where a cotangent is given; with a seed, missing cotangents are random.
  std::optional<std::uint64_t> gradient_seed;
  CallTimes* times = nullptr;  // where they are written; null: nobody asks
};

/// Normally distributed f32 numbers, the same for equal seeds but for the last bit of log and cos.
Tensor random_normal(std::vector<Index> shape, std::uint64_t seed);

/// Reads NamedArguments while an operation runs. All throw Error(kInvalidArgument) that starts with
/// the name of the argument: for arrays that are missing, and text that is no value of the type.
/// "none" stands for an option that is not given.
class Call {
 public:
  explicit Call(const NamedArguments& arguments) : arguments_(arguments) {}

  const Tensor& array(const std::string& name);
  /// Null when it was not given.
  const Tensor* optional_array(const std::string& name);
  /// Null when none was given.
  const Mask* mask();
  lazy::MaskPtr lazy_mask();
  Backend backend() const { return arguments_.backend; }
  Runtime* runtime() const { return arguments_.runtime; }
  const NamedArguments& arguments() const { return arguments_; }

  /// Option readers leave `target` as it is when the option is not given.
  void read(const std::string& name, bool& target);
  void read(const std::string& name, Index& target);
  void read(const std::string& name, double& target);
  void read(const std::string& name, std::uint64_t& target);
  void read(const std::string& name, std::string& target);
  template <class T>
  void read(const std::string& name, std::optional<T>& target) {
    if (!text(name)) return;
    target.emplace();
    read(name, *target);
  }
  /// One of `names`, in the order of the enumeration.
  template <class E>
  void read(const std::string& name, E& target, std::span<const std::string_view> names) {
    if (const auto number = choice(name, names)) target = static_cast<E>(*number);
  }
  /// "3+1" as its parts, "none" among them as nothing.
  std::optional<std::vector<std::optional<Index>>> list(const std::string& name);
  /// "2" = "2+2": keys to the left and to the right, "none" = unbounded.
  std::optional<std::pair<std::optional<Index>, std::optional<Index>>> window(
      const std::string& name);

  /// f(), whose seconds are added to CallTimes::forward, or backward.
  template <class F>
  auto timed(double CallTimes::*pass, F&& f) const {
    const auto begin = std::chrono::steady_clock::now();
    auto result = f();
    if (arguments_.times) {
      arguments_.times->*pass +=
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    return result;
  }

  /// The cotangent of an output; null when its gradient is not asked for. Valid while this lives.
  const Tensor* cotangent(const std::string& output, const Tensor& like);

  /// Throws for the first argument that nothing asked for.
  void check_all_used() const;

 private:
  const std::string* text(const std::string& name);
  std::optional<std::size_t> choice(const std::string& name,
                                    std::span<const std::string_view> names);

  const NamedArguments& arguments_;
  std::set<std::string> used_;
  bool mask_used_ = false;
  std::map<std::string, Tensor> random_;
};

}  // namespace maskctl::attention
