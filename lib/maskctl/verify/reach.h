// Which cells the weights and the gradients of an operation reach; private to verify.
#pragma once

#include "maskctl/attention/calls/by_name.h"
#include "maskctl/verify/probe.h"

namespace maskctl::attention {

/// Reads the mask from the outputs for one-hot values: runs the call with the arrays of a probe.
/// `wide`: values have as many channels as fit, however many the call has, so that the logits of
/// each row are computed only once or a few times. This is for the reference, whose arithmetic does
/// not depend on the number of channels. A latent is never widened, since its projection to more
/// channels would cost more than the logits.
ProbeReading read_weights_reach(const Operation& operation, NamedArguments arguments,
                                bool wide = false);

/// Reads the mask from the value gradients of one-hot cotangents: if d_out is e_c in row i of one
/// query head, channel c of the gradient of value j is the weight of key j in row i.
ProbeReading read_gradient_reach(const Operation& operation, NamedArguments arguments);

}  // namespace maskctl::attention
