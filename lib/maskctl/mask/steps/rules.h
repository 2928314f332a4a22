// The list of all rules, one line each, in the order in which `maskctl ops` lists their steps.
#pragma once

#include <type_traits>
#include <vector>

namespace maskctl {

struct RuleInfo;
class Step;
using Chain = std::vector<Step>;

namespace step {

template <typename... Rules>
struct List {};

struct Slice;  // declared here, or the list would name maskctl::Slice

// clang-format off
using Rules = List<
    struct Causal,
    struct Window,
    struct Chunk,
    struct Document,
    struct DocumentLengths,
    struct Pad,
    struct Dilated,
    struct Block,
    struct Random,
    struct Prefix,
    struct Sinks,
    struct Global,
    struct Region,
    struct Combine,
    struct Tokens,
    struct Not,
    struct Slice,
    struct KvLengths,
    struct QueryLengths,
    struct Scoped,
    struct Within,
    // These are steps of attention calls only; they must stay the last.
    struct Positions,
    struct BlockCausal>;
// clang-format on

template <typename T, typename Rules>
inline constexpr bool kIsIn = false;
template <typename T, typename... Rules>
inline constexpr bool kIsIn<T, List<Rules...>> = (std::is_same_v<T, Rules> || ...);
template <typename T>
concept Rule = kIsIn<T, Rules>;

/// The table entry of a rule; the rule's file defines it as `const RuleInfo& row(const Causal*)`.
template <Rule T>
const RuleInfo& row_of() {
  const RuleInfo& row(const T*);
  return row(nullptr);
}

}  // namespace step
}  // namespace maskctl
