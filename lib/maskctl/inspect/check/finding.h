// What a check can find in a mask: the rows of findings, and one finding with its place.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/error.h"
#include "maskctl/base/index.h"

namespace maskctl {

enum class Severity : std::uint8_t { kError, kWarning, kNote };
/// The name of a severity: "error", "warning" or "note".
std::string_view name(Severity severity);

/// What a finding can be about, in the order of lint_rules(). A new id stands at the end of its
/// group.
enum class FindingId : std::uint8_t {
  // about cumulative lengths:
  kCuShape,
  kCuStart,
  kCuFalls,
  kCuTotal,
  kCuDtype,
  kCuEmptyDocument,
  // about segment ids and position ids:
  kSegmentsReturn,
  kSegmentsZeroTail,
  kPositionsOffset,
  kPositionsStart,
  kPositionsJump,
  kPositionsSegments,
  // about several arrays of one batch:
  kDescriptionsDiffer,
  kLengthsPadded,
  // about the elements of arrays:
  kNoncanonicalBool,
  kBiasMixed,
  kBiasAndMask,
  kListRepeats,
  kListGaps,
  kListOrder,
  kSlicesOverlap,
  // about the mask alone:
  kMaskEmpty,
  kMaskFull,
  kPolarity,
  kAntiCausal,
  kTokensMoved,
  kFuturePart,
  kGroupsJoined,
  kGroupHoles,
  kNearly,
  kExtentsExchanged,
  kRowsOpened,
  kPaddingRowsOpened,
  kTopLeft,
  kDecodeFirstKey,
  kDecodeOwnKey,
  kOwnKeyClosed,
  kAxesExchanged,
  kPlaneFull,
  kPlaneFuture,
  kFutureDiagonal,
  kHeadsDocuments,
  kPlaneDiffers,
  kHeadDiffers,
  kPlaneEmpty,
  kEmptyRows,
  kPaddingRowsEmpty,
  kLeftPaddingNan,
  kFirstBlock,
  kHeadsBorders,
  kHeadWindow,
  kHeadsEntries,
  kRingSlots,
  kWindowChanges,
  kDocumentsReopened,
  kHeadRegion,
  // about the mask and its documents:
  kDocumentLeak,
  kPaddingAttended,
  kPaddingRowsOpen,
  kRowsOnlyPadding,
  // about steps:
  kStepNoOp,
  kStepReopens,
  kStepReopensOrder,
  kWindowZero,

  kCount,  // how many there are
};

struct CheckedMask;
struct Faulty;

/// One kind of finding. The meaning of an id never changes.
struct LintRule {
  std::string_view id;  // "document-leak", in reports
  Severity severity = Severity::kWarning;
  std::string_view summary;
  std::string_view claim;  // what is true of the cells, or of the array, when it is printed
  std::string_view why;    // what backends do with such a mask
  std::string_view fix;
  /// Command lines for a shell in an empty folder, each in a line; the last shows the finding.
  std::string_view example;
  Remedy remedy = {};  // another fix, if there is one
  /// How such a finding changes what check() reports beside it.
  enum class Beside : std::uint8_t {
    kNothing,
    kSaysPattern,     // it says why few steps do not make the mask: single cells are not looked for
    kCountsFuture,    // likewise, where all single cells would be in the future
    kTellsReopened,   // it takes over step-reopens-order about the cells that it leads to
    kNamesReopening,  // it names the step that opened documents to each other
    kIsReopening,     // it is left out beside one that names that step
  };
  std::array<Beside, 2> beside = {};
  /// Applies the fix of a finding (fixes.h). Null, or returns nothing, if the fix is not known from
  /// the mask and what is given with it; `unfixed` says why.
  std::optional<CheckedMask> (*fixed)(const Faulty& faulty) = nullptr;
  std::string_view unfixed = {};
  FindingId key = {};  // set by lint_rules()
};
/// All rules; docs/lint.md lists them.
std::span<const LintRule> lint_rules();
const LintRule& lint_rule(FindingId id);

/// Where a finding is. Members that do not apply are absent.
struct Location {
  std::optional<Index> batch, head, query, key;
  std::optional<Index> entry;  // index in the last axis of an array
  std::optional<Index> step;   // number of the step in the chain, from 1
};
/// A location in words, such as "batch 0, head 0, query 3"; empty if nothing is known.
std::string to_text(const Location& where);

struct Finding {
  const LintRule* rule = nullptr;
  std::string message;
  Location where;
  Index count = 0;  // number of cells, rows or entries, whichever the message counts
};
using Findings = std::vector<Finding>;

}  // namespace maskctl
