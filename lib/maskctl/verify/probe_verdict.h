// What a probe says of the declared mask: which one the kernel applied, and how the two differ.
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
  Index untold = 0;   // cells declared open of which the weights do not tell that they are
  Index averaged_rows = 0, nan_rows = 0;  // as in ProbeReading
  ProbeCallVerdict call;                  // what is known of the call beside its mask

  /// kAnother: told cells differ. kOtherCall: the call has faults. kPartly: rows are NaN. kUnclear:
  /// cells are not told. kObeys otherwise.
  Verdict verdict() const;
};

/// The verdict on a reading; the batches and heads of the declared mask broadcast. Throws
/// Error(kShape) if the declared mask does not fit.
ProbeVerdict judge_probe(ProbeReading reading, const Mask& declared, ProbeCallVerdict call);

}  // namespace maskctl::attention
