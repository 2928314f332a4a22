// The keys and values of a call, which are two arrays or one latent; private to verify.
#pragma once

#include "maskctl/attention/calls/by_name.h"
#include "maskctl/verify/probe.h"

namespace maskctl::attention {

bool has_latent(const NamedArguments& arguments);

/// The extents of the queries and keys of a call, and its layout. A latent counts as one key head,
/// which all query heads read.
ProbeShape shape_of_call(const Operation& operation, const NamedArguments& arguments);

/// The shape of an array in this layout: [B,T,H,D] or [B,H,T,D].
std::vector<Index> arranged(Layout layout, Index batch, Index tokens, Index heads, Index dim);
/// The index of vector (b, t, h) in [B,T,H,D] or [B,H,T,D], counted in vectors of D elements.
Index vector_at(Layout layout, Index b, Index t, Index h, Index tokens, Index heads);

/// Replaces the arrays of a call by the queries and keys of a probe and by values [B,K,Hkv,C] or
/// [B,Hkv,K,C]; removes cotangents. A row of a latent becomes the value and channel 0 of the key,
/// which is the only channel that a probe uses. The projections separate the two, and rotary parts
/// become 0.
void use_probe(const Probe& probe, const Tensor& values, NamedArguments& arguments);

/// The gradient of the values that use_probe() set, in their shape.
Tensor value_gradient(NamedResults& results, const ProbeShape& shape);

/// Sets all elements of key j of key head u in batch entry b: its key and value, or its latent and
/// rotary part.
void fill_key(NamedArguments& arguments, const ProbeShape& shape, Index b, Index j, Index u,
              float value);

}  // namespace maskctl::attention
