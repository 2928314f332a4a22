// The list of all rules, one line each, in the order in which `maskctl ops` lists their steps. Only
// rule.cc reads it: a new rule compiles that file and its own.
#pragma once

#include "maskctl/mask/steps/row.h"

namespace maskctl::step {

template <typename... Rules>
struct List {};

// The list also declares the types of its rules. A rule that has the name of a type of maskctl
// known to rule.cc would have to be declared before the list.
// clang-format off
using Rules = List<
    struct Causal,
    struct Window,
    struct Chunk,
    struct Document,
    struct DocumentLengths,
    struct Pad,
    struct BlockCausal,
    struct Streaming,
    struct BlockDiffusion,
    struct Dilated,
    struct Diagonals,
    struct Columns,
    struct Compressed,
    struct Neighbourhood,
    struct Tree,
    struct Drafts,
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
    struct Take,
    struct At,
    struct Grid,
    struct KvLengths,
    struct QueryLengths,
    struct Scoped,
    struct Within,
    // These are steps of attention calls only; they must stay the last.
    struct Positions>;
// clang-format on

/// The table entry of a rule of the list, whose struct need not be known.
template <typename T>
const RuleInfo& listed_row() {
  const RuleInfo& row(const T*);
  return row(nullptr);
}

}  // namespace maskctl::step
