#include "maskctl/verify/candidates/candidate.h"

#include <utility>

namespace maskctl::attention {

Candidate with_arguments(const std::shared_ptr<const CallVariants>& call, std::string text,
                         std::optional<Mask> mask, std::function<void(NamedArguments&)> change) {
  const auto changed = [call, change = std::move(change)] {
    NamedArguments arguments = call->arguments();
    change(arguments);
    return arguments;
  };
  Candidate out{std::move(text), std::move(mask), [call, changed] { return call->run(changed()); }};
  if (call->has_values()) {
    out.signed_results = [call, changed] {
      return call->run(CallVariants::randomly_signed(changed()));
    };
  }
  return out;
}

}  // namespace maskctl::attention
