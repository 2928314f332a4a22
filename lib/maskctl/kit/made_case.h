// A case with its mask and its arrays, which are made when they are asked for: nothing is stored.
#pragma once

#include <map>
#include <string>

#include "maskctl/kit/rules.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/step.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::kit {

/// Element i, in C order, of the array NAME of the case ID is u / 2^22 - 2, from -2 to 2, where u
/// are the upper 24 bits of splitmix64(fnv1a("ID/NAME") + (i + 1) 0x9E3779B97F4A7C15), that is
///   z = (z ^ z >> 30) 0xBF58476D1CE4E5B9, z = (z ^ z >> 27) 0x94D049BB133111EB, z ^ z >> 31
/// and fnv1a() is the FNV-1a hash of 64 bits. All products are modulo 2^64. f32 holds each number
/// exactly; a case of another dtype has it rounded to the nearest, ties to even.
Tensor numbers(const std::string& id, std::string_view name, std::vector<Index> shape);

/// The rule's id, "-", and the number of the case from 1, which is `number` + 1: "causal.square-1".
std::string case_id(const Rule& rule, std::size_t number);
/// Whether a case has this id.
bool is_case_id(std::string_view id);

struct MadeCase {
  std::string id;  // case_id()
  const Rule* rule = nullptr;
  const Case* source = nullptr;
  DType dtype = DType::kFloat32;
  Chain steps;  // make `mask` of an all-open mask
  Mask mask;    // [B, 1 or Hq, Q, K]
  /// f32 arrays that hold numbers of `dtype`: "query" [B,Q,Hq,D], "key" [B,K,Hkv,D], "value"
  /// [B,K,Hkv,Dv]; "bias" [1,Hq,Q,K] and "sinks" [Hq,n] where the call has them; "cotangent_out"
  /// [B,Q,Hq,Dv] where gradients are asked for.
  std::map<std::string, Tensor> arrays;
  std::map<std::string, Tensor> step_arrays;  // int32, by the names that the steps have for them

  const Call& call() const { return source->call; }
};

/// Makes case `number` (from 0) of a rule. dtype: kFloat32, kFloat16 or kBFloat16.
MadeCase make_case(const Rule& rule, std::size_t number, DType dtype);

}  // namespace maskctl::kit
