#include "maskctl/inspect/why/decided.h"

#include "maskctl/base/work_scope.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/mask/steps/slice.h"

namespace maskctl {

DecidedCells decided_cells(const Mask& source, const Chain& chain) {
  DecidedCells out{source, {}};
  for (const Step& step : chain) {
    throw_if_stopped();
    Mask after = apply(out.mask, step);
    const bool slices = step.is<step::Slice>();
    if (slices) {
      // Cells that are moved keep the step that decided them.
      for (auto& cells : out.by) {
        if (cells) cells = apply(*cells, step);
      }
      out.by.emplace_back(zip(Op::kSub, after, after));
    } else if (step.row().cell_before != nullptr) {
      out.by.assign(out.by.size() + 1, std::nullopt);
    } else {
      const Mask changed = zip(Op::kXor, out.mask, after);
      for (auto& cells : out.by) {
        if (cells) cells = zip(Op::kSub, *cells, changed);
      }
      out.by.emplace_back(changed);
    }
    out.mask = std::move(after);
  }
  return out;
}

}  // namespace maskctl
