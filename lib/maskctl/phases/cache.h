// A cache of keys as data: which tokens it keeps, in which slots, and what its library masks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

/// What a library masks in one step, over the slots that it reads.
struct SlotMask {
  /// kDeclared: the declared mask. kWindow: a query sees itself and `window` - 1 keys before it.
  /// kCausal: it sees nothing after itself. kOpen: nothing is masked, and slots that hold no token
  /// are read too.
  enum class Rule : std::uint8_t { kDeclared, kWindow, kCausal, kOpen } rule = Rule::kDeclared;
  /// What the rule is computed from. kPositions: the positions of tokens. kSlots: the slots, of
  /// which the queries are the last. kFirstSlots: the slots, query i being slot i. kMixed: keys are
  /// their slots, and queries are at their positions.
  enum class Of : std::uint8_t { kPositions, kSlots, kFirstSlots, kMixed } of = Of::kPositions;
  Index window = 0;  // of kWindow
  friend bool operator==(const SlotMask&, const SlotMask&) = default;
};

/// Slots [slot, slot + count) hold the tokens [token, token + count).
struct SlotRun {
  Index slot = 0, token = 0, count = 0;
  friend bool operator==(const SlotRun&, const SlotRun&) = default;
};

/// Which tokens a cache keeps once it has seen t of them: the first `sinks` and the last `last`,
/// which are dropped in whole pages of `page` tokens only.
struct Cache {
  static constexpr Index kAll = Index{1} << 40;

  std::string name;
  Index last = kAll, sinks = 0, page = 1;
  /// What attention of a step reads. kKept: what was kept before the step, and its own tokens.
  /// kWritten: what is kept once its tokens are written.
  enum class Reads : std::uint8_t { kKept, kWritten } reads = Reads::kKept;
  /// The slot of a token. kPosition: its position, as in pages, by their table. kTime: the order of
  /// time, without gaps. kRing: tokens but the sinks take turns in as many slots as one step of one
  /// token reads; steps of several tokens that read what was kept are in the order of time.
  enum class Order : std::uint8_t { kPosition, kTime, kRing } order = Order::kPosition;
  Index slots = 0;  // which exist whether they hold tokens or not; 0: none but those that do. Where
                    // all tokens are kept, there is no room for more than these
  bool chunks_read = true;  // false: the source was not read for prompts in chunks
  SlotMask several, one;    // in steps of several tokens, and of one
  /// What is kept once tokens that were written are taken back. kExact: what was kept without them.
  /// kLoses: what was kept with them, without them. kRefuses: the library takes nothing back once
  /// it has dropped tokens. kNever: it takes nothing back. kUnread: its source was not read for it.
  enum class Rollback : std::uint8_t {
    kExact,
    kLoses,
    kRefuses,
    kNever,
    kUnread
  } rollback = Rollback::kExact;
  /// What a token of a tree of drafts is masked at. kDepth: its depth behind the last token.
  /// kSlot: its place among the drafts.
  enum class Drafts : std::uint8_t { kDepth, kSlot } drafts = Drafts::kDepth;

  const SlotMask& mask(Index queries) const { return queries == 1 ? one : several; }
  /// The first token that is kept of `seen`, but for sinks.
  Index first_kept(Index seen) const;
  friend bool operator==(const Cache&, const Cache&) = default;
};

/// One call of attention: `queries` tokens from position `cached` on, of which as many are cached.
struct PhaseStep {
  Index cached = 0, queries = 1;
  Index taken_back = 0;  // tokens that were written behind `cached`, and taken back
  friend bool operator==(const PhaseStep&, const PhaseStep&) = default;
};

/// What attention of a step reads.
struct SlotView {
  SlotRun runs[3];  // in the order of their tokens
  int count = 0;
  Index slots = 0;  // all slots
  Index used = 0;   // slots that hold a token
};
SlotView view_of(const Cache& cache, const PhaseStep& step);
/// How many tokens the cache had seen when it last dropped any of what a step reads.
Index seen_before(const Cache& cache, const PhaseStep& step);

/// The cache in words: "keeps the first 4 and the last 4,092 tokens; a step reads them and its
/// own".
std::string cache_text(const Cache& cache);
/// What is masked, in words: "masks all but the last 4,096 keys", "masks nothing".
std::string mask_text(const SlotMask& mask);

}  // namespace maskctl
