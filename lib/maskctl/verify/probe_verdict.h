// The verdict of a probe: which mask the kernel applied, and how it differs from the declared one.
#pragma once

#include <string>

#include "maskctl/inspect/diff/diff.h"
#include "maskctl/verify/judge.h"
#include "maskctl/verify/probe.h"

namespace maskctl::attention {

struct ProbeVerdict {
  Mask applied;       // [B,H,Q,K]; cells that are not told are as declared
  MaskDiff diff;      // compares the declared mask (a) with the applied one (b)
  std::string cause;  // an explanation of all differences; empty if the masks are equal
  Index untold = 0;   // cells declared open that the weights do not show to be open
  Index averaged_rows = 0, nan_rows = 0;  // as in ProbeReading
  ProbeCallVerdict call;                  // what is known of the call beside its mask

  /// kAnother: cells that the weights show differ from the declared mask. kOtherCall: the call has
  /// faults. kPartly: rows are NaN. kUnclear: the weights do not show some cells. kObeys otherwise.
  Verdict verdict() const;
};

/// The verdict on a reading; the batches and heads of the declared mask broadcast. Throws
/// Error(kShape) if the declared mask does not fit.
ProbeVerdict judge_probe(ProbeReading reading, const Mask& declared, ProbeCallVerdict call);

}  // namespace maskctl::attention
