// The options of the commands that run attention, as plain data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/cli/options.h"
#include "maskctl/attention/runtime/selector.h"
#include "maskctl/attention/softmax/softmax.h"
#include "maskctl/attention/verify/probe.h"

namespace maskctl::app {

/// The names of attention::CacheMiss, in order.
inline constexpr std::string_view kPolicies[] = {"autotune", "heuristics"};

/// A call of an operation by name.
struct CallOptions {
  SourceOptions source;                     // how masks are read, and steps for them
  std::string mask;                         // SOURCE; may be empty
  std::vector<std::string> words;           // NAME=SOURCE or NAME=VALUE
  std::string axes;                         // "Tq=64+D=128": extents of random arrays
  std::optional<DType> random_dtype;        // of random arrays; default float32
  std::optional<attention::Layout> layout;  // of given arrays; absent: the operation's
  std::uint64_t seed = 0;
};

struct AttendOptions {
  CallOptions call;
  std::string operation;
  attention::Backend backend = attention::Backend::kCpu;
  std::optional<attention::CacheMiss> policy;  // absent: no configs
  std::string cache;                           // folder of tuned configs; empty: none
  bool gradients = false;
  bool list = false;
  OutputOptions output;
  bool json = false;
};

struct VerifyOptions {
  CallOptions call;
  std::string operation = "flash_attention";
  attention::Backend backend = attention::Backend::kCpu;
  attention::Backend against = attention::Backend::kReference;
  std::vector<std::string> given;  // [NAME=]SOURCE: results to judge
  std::optional<double> relative, absolute;
  bool no_gradients = false;
  bool json = false;
};

struct ProbeOptions {
  SourceOptions source;
  std::string action;  // make or read
  std::string name;    // SOURCE of the declared mask
  std::string out;     // SOURCE of the kernel's outputs
  std::optional<Index> heads, kv_heads;
  Index head_dim = 64;
  attention::Layout layout = attention::Layout::kBthd;
  bool weights = false;
  double threshold = 0;
  OutputOptions output;
  bool json = false;
};

struct BenchOptions {
  std::vector<std::string> operations;  // empty: flash_attention
  std::vector<std::string> masks;       // pipelines on a full mask; empty: full, causal, window
  std::vector<Index> sizes{1024};       // queries and keys, or tokens
  std::vector<attention::Backend> backends{attention::Backend::kCpu};
  std::optional<attention::Layout> layout;  // of the arrays; absent: the operation's
  std::string axes;
  bool backward = false;
  Index repeats = 5;
  bool json = false;
};

struct BackendsOptions {
  std::string operation;
  bool json = false;
};

}  // namespace maskctl::app
