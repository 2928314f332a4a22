// A call, results that were made elsewhere, and the candidates that were tried on them so far;
// private to verify.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "maskctl/verify/call_variants.h"
#include "maskctl/verify/candidates/candidate.h"
#include "maskctl/verify/judge_rows.h"

namespace maskctl::attention {

class Trial {
 public:
  /// Runs the call on `request.against` and on the fast path. `given`: the results to judge. Both
  /// arguments must outlive the trial. Throws like verify_given().
  Trial(const VerifyRequest& request, const NamedResults& given);

  /// "forward" and "gradients", each if `given` has such results.
  std::vector<VerifyCheck> checks() const;

  const VerifyRequest& request() const { return request_; }
  const NamedResults& given() const { return given_; }
  /// The declared call, on the fast path in f32, and its results.
  const std::shared_ptr<const CallVariants>& call() const { return call_; }
  const NamedResults& declared() const { return declared_; }

  /// Runs the candidates and compares them. Those with a mask are left out where something besides
  /// the mask closes cells.
  void add(const Candidates& candidates);
  /// The judgement by all candidates so far. If no candidate fits all results of several arrays,
  /// each array is judged alone (Judgement::parts).
  Judgement judge() const;

  /// Supposes that the kernel read its inputs with a relative error of `inputs`, and compares anew
  /// all candidates but those that explain noise.
  void suppose_noise(double inputs);
  /// The relative error that one rounding of the inputs is supposed to have.
  double inputs() const { return inputs_; }

 private:
  struct Part {
    std::string array;  // empty: all arrays together
    Residuals residuals;
    std::vector<Tried> tried;
  };
  void add_parts(double inputs);
  Judgement judge(const Part& part) const;
  Judgement by_array(Judgement together) const;

  const VerifyRequest& request_;
  const NamedResults& given_;
  NamedResults reference_, declared_;
  std::optional<Mask> applied_;
  std::shared_ptr<const CallVariants> call_;
  double inputs_ = 0;  // the relative error of one rounding of the inputs
  Candidates candidates_;
  std::vector<Part> parts_;
};

}  // namespace maskctl::attention
