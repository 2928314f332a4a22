#include "maskctl/verify/probe_verdict.h"

#include <utility>

namespace maskctl::attention {

Verdict ProbeVerdict::verdict() const {
  if (!diff.equal()) return Verdict::kAnother;
  if (!call.faults.empty()) return Verdict::kOtherCall;
  if (nan_rows > 0) return Verdict::kPartly;
  return untold > 0 ? Verdict::kUnclear : Verdict::kObeys;
}

ProbeVerdict judge_probe(ProbeReading reading, const Mask& declared, ProbeCallVerdict call) {
  ProbeVerdict out;
  out.averaged_rows = reading.averaged_rows;
  out.nan_rows = reading.nan_rows;
  out.call = std::move(call);
  const Mask untold = zip(Op::kAnd, reading.untold, declared);
  out.untold = untold.count();
  out.applied = out.untold > 0 ? zip(Op::kOr, reading.mask, untold) : std::move(reading.mask);
  out.diff = diff(declared, out.applied);
  if (!out.diff.equal()) out.cause = diff_cause(declared, out.applied, out.diff)->text;
  return out;
}

}  // namespace maskctl::attention
