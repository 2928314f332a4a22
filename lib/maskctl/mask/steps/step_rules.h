// One function per rule, and shared helpers; private to the mask layer.
#pragma once

#include <string_view>
#include <vector>

#include "maskctl/mask/steps/step.h"

namespace maskctl {

Mask apply_rule(const Mask& mask, const step::Causal& rule);
Mask apply_rule(const Mask& mask, const step::Window& rule);
Mask apply_rule(const Mask& mask, const step::Chunk& rule);
Mask apply_rule(const Mask& mask, const step::Document& rule);
Mask apply_rule(const Mask& mask, const step::DocumentLengths& rule);
Mask apply_rule(const Mask& mask, const step::Pad& rule);
Mask apply_rule(const Mask& mask, const step::Dilated& rule);
Mask apply_rule(const Mask& mask, const step::Block& rule);
Mask apply_rule(const Mask& mask, const step::Random& rule);
Mask apply_rule(const Mask& mask, const step::Prefix& rule);
Mask apply_rule(const Mask& mask, const step::Sinks& rule);
Mask apply_rule(const Mask& mask, const step::Global& rule);
Mask apply_rule(const Mask& mask, const step::Region& rule);
Mask apply_rule(const Mask& mask, const step::Combine& rule);
Mask apply_rule(const Mask& mask, const step::Tokens& rule);
Mask apply_rule(const Mask& mask, const step::Not& rule);
Mask apply_rule(const Mask& mask, const step::Slice& rule);
Mask apply_rule(const Mask& mask, const step::KvLengths& rule);
Mask apply_rule(const Mask& mask, const step::Scoped& rule);
Mask apply_rule(const Mask& mask, const step::Within& rule);

/// Throws Error(kInvalidArgument) "step NAME: ...".
[[noreturn]] void refuse(std::string_view step, const std::string& why);
/// How far the diagonal is shifted: 0, or K - Q.
Index align_shift(const Mask& mask, Align align, std::string_view step);
/// One offset per batch of the mask, from an array of 1 or B values; each must be within +-2^40.
std::vector<Index> per_batch_offsets(const Mask& mask, const NamedArray& array,
                                     std::string_view step, const char* what);
/// One value per batch of the mask, from an array of 1 or B values.
std::vector<Index> per_batch(const Mask& mask, const NamedArray& array, std::string_view step,
                             const char* what);
/// Refuses ids or flags whose last extent is not `length`, or whose batch is neither 1 nor the
/// mask's.
void check_batched(const Mask& mask, const Tensor& array, Index length, std::string_view step,
                   const char* side);

}  // namespace maskctl
