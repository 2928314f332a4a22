// Keys and values of a call, whether they are two arrays or one latent; private to verify.
#pragma once

#include "maskctl/attention/by_name.h"
#include "maskctl/attention/verify/probe.h"

namespace maskctl::attention {

bool has_latent(const NamedArguments& arguments);

/// Extents of the queries and keys of a call, in its layout. A latent is one key head, which all
/// query heads read.
ProbeShape shape_of_call(const Operation& operation, const NamedArguments& arguments);

/// [B,T,H,D] or [B,H,T,D].
std::vector<Index> arranged(Layout layout, Index batch, Index tokens, Index heads, Index dim);
/// Vector (b, t, h) of [B,T,H,D] or [B,H,T,D], in vectors of D.
Index vector_at(Layout layout, Index b, Index t, Index h, Index tokens, Index heads);

/// The queries and keys of a probe, and values [B,K,Hkv,C] or [B,Hkv,K,C], in place of the arrays
/// of a call, without cotangents. A latent row is the value and channel 0 of the key, which is all
/// that a key of a probe has; the projections take them apart, and rotary parts are 0.
void use_probe(const Probe& probe, const Tensor& values, NamedArguments& arguments);

/// The gradient of the values that use_probe put in, in their shape.
Tensor value_gradient(NamedResults& results, const ProbeShape& shape);

/// Sets all that key j of key head u is made of.
void fill_key(NamedArguments& arguments, const ProbeShape& shape, Index b, Index j, Index u,
              float value);

}  // namespace maskctl::attention
