// Which cells the weights and the gradients of an operation reach; private to verify.
#pragma once

#include "maskctl/attention/by_name.h"
#include "maskctl/attention/verify/probe.h"

namespace maskctl::attention {

/// The mask that the outputs for one-hot values show: `arguments` with the probe's arrays. `wide`:
/// values have as many channels as fit, not those of the call, so that the logits of each row are
/// computed once or a few times; for the reference, whose arithmetic does not depend on them. Not
/// of a latent, whose projection to more channels would cost more than the logits.
ProbeReading read_weights_reach(const Operation& operation, NamedArguments arguments,
                                bool wide = false);

/// The mask that the value gradients of one-hot cotangents show: with d_out = e_c in row i of one
/// query head, channel c of the gradient of value j is the weight of key j in row i.
ProbeReading read_gradient_reach(const Operation& operation, NamedArguments arguments);

}  // namespace maskctl::attention
