// Arguments that change nothing in a call: what their rows say they need is missing.
//
// Field::needs is a list of conditions, all of which must hold: "causal|sliding_window !g_cmp" is
// one of the first two, and not g_cmp. A name holds where its argument is given and is not what a
// call without it has; a boolean where it is true; "mesh" in the sharded form. Conditions on
// arguments that an operation does not have are left out of it.
#pragma once

#include <string>
#include <vector>

#include "maskctl/attention/operation.h"

namespace maskctl::attention {

/// An argument, and the line that says why it changes nothing and what to do about it.
struct IdleArgument {
  const Field* field;
  std::string line;  // "pdrop: no effect with deterministic=true; give deterministic=false"
};

/// The given arguments that change nothing in this call. A value that is the default anyway
/// (causal=false) is not counted.
std::vector<IdleArgument> idle_arguments(const Operation& form,
                                         const std::vector<const Field*>& given, const void* call,
                                         bool over_mesh);

/// Whether a given value asks for something: all but the usual word, flag or absence. A size that a
/// call has without being asked (64) is asked for where it is given.
bool asks(const Operation& form, const Field& field, const void* call);

/// What an argument needs, for lists: "needs causal=true or sliding_window"; empty for nothing.
std::string needs_text(const Operation& form, const Field& field);

}  // namespace maskctl::attention
