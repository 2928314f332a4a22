// Calls of operations as written on the command line; shared by attend, verify and bench.
#pragma once

#include <optional>
#include <string>

#include "app/cli/parser/option_list.h"
#include "app/session/loader.h"
#include "maskctl/attention/by_name.h"
#include "maskctl/attention/verify/probe.h"

namespace maskctl::app {

/// A call of an operation by name.
struct CallOptions {
  SourceOptions source;                              // how masks are read, and steps for them
  std::string mask;                                  // SOURCE; may be empty
  std::vector<std::string> words;                    // NAME=SOURCE or NAME=VALUE
  std::string axes;                                  // "Tq=64+D=128": extents of random arrays
  std::optional<DType> random_dtype;                 // of random arrays; default float32
  std::optional<attention::Layout> layout;           // of given arrays; absent: the operation's
  std::string_view layout_spelling = "--layout {}";  // how messages ask for it
  std::uint64_t seed = 0;
};

/// Declares the words NAME=VALUE and the options of a call.
void declare_call(OptionList& list, CallOptions& call);
void declare_backend(OptionList& list, const std::string& name, const std::string& help,
                     attention::Backend& target);
/// Declares --backend NAME+NAME.
void declare_backends(OptionList& list, std::vector<attention::Backend>& targets);
/// Declares --random-dtype.
void declare_random_dtype(OptionList& list, std::optional<DType>& target);
void declare_layout(OptionList& list, const std::string& help,
                    std::optional<attention::Layout>& target);

/// "bthd" or "bhtd"; `option` starts the message about any other text.
attention::Layout parse_layout(std::string_view text, std::string_view option);

/// Throws Error(kInvalidArgument) that suggests the nearest name.
const attention::Operation& operation_named(const std::string& name);

/// The full name of an argument or result that is given by its short one: q is query, dq
/// grad_query, o out. Other names stay as they are.
std::string_view full_name(std::string_view name);
/// True for the full name of a result of softmax attention: out, lse, or a gradient.
bool is_result(std::string_view name);

/// Throws Error(kDevice) for a backend that cannot run here: why, and which one `option` can name.
void require_backend(attention::Backend backend, std::string_view option);

class RankArrays;

/// The arrays and options of the NAME=... words, the mask after its steps, and random arrays for
/// those that are missing; their extents are those of the mask. Operations that are causal by
/// default are not when a mask is given, unless a word says so. Notes what can hardly be meant, but
/// for calls in parts. Throws Error(kInvalidArgument) for
/// a name given twice, Error(kShape) for --axes that contradict the mask. With `parts`, arrays of
/// floats are only opened there, and random ones not made.
attention::NamedArguments read_call(const attention::Operation& operation,
                                    const CallOptions& options, Loader& loader,
                                    RankArrays* parts = nullptr);

/// "B=2+Tq=64" on top of `size`, if given, for the axes of tokens, rows and lengths, and on top of
/// the defaults B 1, T 128, heads 4, D 64, and Dv as D.
attention::AxisExtents parse_axes(const std::string& text, std::optional<Index> size = {});

}  // namespace maskctl::app
