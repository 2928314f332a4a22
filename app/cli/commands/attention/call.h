// Parses calls of operations on the command line, for attend, verify and bench.
#pragma once

#include <optional>
#include <string>

#include "app/cli/parser/option_list.h"
#include "app/session/loader.h"
#include "maskctl/attention/calls/by_name.h"
#include "maskctl/verify/probe.h"

namespace maskctl::app {

/// An operation and its arguments, as written on the command line.
struct CallOptions {
  SourceOptions source;               // how to read the mask, and its steps
  std::string mask;                   // SOURCE of the mask; may be empty
  std::vector<std::string> words;     // NAME=SOURCE or NAME=VALUE
  std::string axes;                   // extents of random arrays: "Tq=64+D=128"
  std::optional<DType> random_dtype;  // dtype of random arrays; absent: float32
  // Layout of the given arrays; absent: that of the operation.
  std::optional<attention::Layout> layout;
  std::string_view layout_spelling = "--layout {}";  // the option's name in messages
  std::uint64_t seed = 0;
};

/// Declares the NAME=VALUE operands and the options of a call.
void declare_call(OptionList& list, CallOptions& call);
void declare_backend(OptionList& list, const std::string& name, const std::string& help,
                     attention::Backend& target);
/// Declares --backend NAME+NAME.
void declare_backends(OptionList& list, std::vector<attention::Backend>& targets);
/// Declares --random-dtype.
void declare_random_dtype(OptionList& list, std::optional<DType>& target);
void declare_layout(OptionList& list, const std::string& help,
                    std::optional<attention::Layout>& target);

/// Parses "bthd" or "bhtd". For other texts, throws with a message that begins with `option`.
attention::Layout parse_layout(std::string_view text, std::string_view option);

/// The operation with this name. Throws Error(kInvalidArgument), which suggests the most similar
/// name.
const attention::Operation& operation_named(const std::string& name);

/// The full name for a short name of an argument or result: q is query, dq is grad_query, o is out.
/// Other names are returned unchanged.
std::string_view full_name(std::string_view name);
/// True for the full name of a result of softmax attention: out, lse, or grad_*.
bool is_result(std::string_view name);

/// Throws Error(kDevice) if the backend cannot run on this machine. The message gives the reason
/// and suggests `option` with the CPU backend.
void require_backend(attention::Backend backend, std::string_view option);

class RankArrays;

/// Collects the arguments of a call: the arrays and options that the command line gives as
/// NAME=SOURCE or NAME=VALUE, the mask after its steps, and random arrays in place of arrays that
/// are not given, with extents that match the mask. If a mask is given, `causal` defaults to false.
/// Prints warnings about unlikely arguments. A call that is split over ranks passes `parts`: then
/// arrays of floats are opened but not read, random arrays are described but not generated, and no
/// warnings are printed. Throws Error(kInvalidArgument) for a name that is given twice, and
/// Error(kShape) if --axes contradicts the mask.
attention::NamedArguments read_call(const attention::Operation& operation,
                                    const CallOptions& options, Loader& loader,
                                    RankArrays* parts = nullptr);

/// Parses "B=2+Tq=64". Missing axes T, Tq, Tk, S and M get `size`, if given; a missing Dv gets the
/// extent of D; others get the defaults: B=1, T=128, 4 heads, D=64.
attention::AxisExtents parse_axes(const std::string& text, std::optional<Index> size = {});

}  // namespace maskctl::app
