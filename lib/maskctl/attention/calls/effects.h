// Finds the arguments that have no effect in a call, because something that they need is missing.
//
// Field::needs is a list of conditions separated by spaces, all of which must hold. For example,
// "causal|sliding_window !g_cmp" means: causal or sliding_window, and not g_cmp. A boolean holds
// when it is true, "mesh" holds in the sharded form, and any other name holds when its argument
// differs from the default. Names of arguments that the operation does not have are ignored.
#pragma once

#include <string>
#include <vector>

#include "maskctl/attention/calls/operation.h"

namespace maskctl::attention {

/// An argument that has no effect, and a message that says why and what to do.
struct IdleArgument {
  const Field* field;
  std::string line;  // "pdrop: no effect with deterministic=true; give deterministic=false"
};

/// The given arguments that have no effect in this call. Arguments that are equal to their default
/// (causal=false) are not reported.
std::vector<IdleArgument> idle_arguments(const Operation& form,
                                         const std::vector<const Field*>& given, const void* call,
                                         bool over_mesh);

/// Whether a given value asks for something, that is, differs from the default. A number whose
/// default is not 0 always does: a block size of 64 is asked for even if 64 is the default.
bool asks(const Operation& form, const Field& field, const void* call);

/// What an argument needs, as text for a listing: "needs causal=true or sliding_window"; empty if
/// it needs nothing.
std::string needs_text(const Operation& form, const Field& field);

}  // namespace maskctl::attention
