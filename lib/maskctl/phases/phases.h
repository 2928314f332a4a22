// Whether the rows of every phase of serving, prefill, chunks, decoding, drafts and ranks, are
// those of one declared mask, once the slots of a cache are translated to tokens.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "maskctl/inspect/count/cost.h"
#include "maskctl/inspect/parts/parts.h"
#include "maskctl/mask/mask.h"
#include "maskctl/phases/cache.h"

namespace maskctl {

/// What is asked beside prefill and decoding.
struct PhasesQuery {
  std::vector<Index> chunks;  // sizes of chunks of prefill, each at least 2
  Index taken_back = 0;       // drafts that may be taken back; 0: not asked
  std::vector<Index> tree;    // the parent of each draft, -1 for a root; empty: not asked
  Index ranks = 0;            // that share the tokens; 0: not asked
  Split split = Split::kZigzag;
};

enum class Phase : std::uint8_t { kPrefill, kChunks, kDecode, kRollback, kTree, kRanks, kGiven };
const char* name_of(Phase phase);

/// The first row of a phase that is not that of the mask.
struct PhaseFault {
  /// kDropped: a key that the mask opens is in no slot. kClosed: it is in a slot that is closed.
  /// kExtra: a key that the mask closes is open. kEmpty: an open slot holds no token. kTwice: a
  /// token is in two open slots.
  enum class Kind : std::uint8_t { kDropped, kClosed, kExtra, kEmpty, kTwice };
  Kind kind = Kind::kDropped;
  Index batch = 0, head = 0;
  PhaseStep step;
  Index number = -1;  // of the step, where steps are given
  Index row = 0;      // of the step's queries
  Index query = 0;    // its position
  Index key = -1;     // its position; -1 for kEmpty
  Index slot = -1;    // -1 for kDropped
  std::string why;    // one sentence about this key
};

struct PhaseResult {
  Phase phase = Phase::kPrefill;
  bool judged = true;                 // false: the cache refuses it, as `covered` says
  std::string covered;                // for which steps it was judged: "1 to 4,096 tokens"
  Index rows = 0;                     // that were compared
  Index wrong = 0;                    // of these, rows that differ
  std::optional<PhaseFault> first;    // in the order of positions, then of keys
  std::optional<PartsVerdict> ranks;  // of kRanks
  std::vector<ComputedPart> parts;    // of kRanks
  bool holds() const { return wrong == 0; }
};

struct PhasesVerdict {
  Index tokens = 0;
  std::vector<PhaseResult> phases;
  bool holds() const;
  /// The first phase that fails, in their order; null if none does.
  const PhaseResult* first() const;
};

/// Compares the rows of the phases with those of the mask, for every length up to its own. A step
/// masked by positions is judged for all sizes of chunks at once: what it reads only shrinks with
/// the tokens that are cached, and with those that are written, so that the rows of a query that
/// begins the largest chunk and of one that ends it enclose all others. What is masked by slots is
/// judged for the chunks of the query, from 0 on. Throws Error(kShape) for a mask with other
/// queries than keys or none, Error(kInvalidArgument) for a query or a cache that makes no sense,
/// and for a cache that keeps all tokens and has fewer slots.
PhasesVerdict judge_phases(const Mask& mask, const Cache& cache, const PhasesQuery& query);

}  // namespace maskctl
