// The JSON form of the result of recognise.
#include "app/reports/json_parts.h"
#include "app/reports/recognise_report.h"

namespace maskctl::app {

Json recognise_json(const RecogniseReport& report) {
  const Mask& mask = report.mask;
  Json out{{"schema", "maskctl.recognise/1"},
           {"source", report.source},
           {"shape", extents(mask)},
           {"cells", mask.cells()},
           {"open", report.open},
           {"irregular", report.found.irregular},
           {"pipeline", report.pipeline},
           {"arrays", report.arrays},
           {"arrays_written", report.written},
           {"unexplained", report.found.residue.cells},
           {"rows_unexplained", report.differs.rows},
           {"only_in_mask", report.differs.only_a},
           {"only_in_pipeline", report.differs.only_b}};
  out["forms"] = report.forms;
  out["leaks"] = leak_counts_json(report.leaks);
  out["residue"] = json_of(report.found.residue);
  // The (batch, head) pairs with cells that the pipeline does not explain.
  out["planes"] = Json::array();
  for (const PlaneDiff& plane : report.differs.planes) {
    out["planes"].push_back({{"batch", plane.batch},
                             {"head", plane.head},
                             {"only_in_mask", plane.only_a},
                             {"only_in_pipeline", plane.only_b}});
  }
  return out;
}

}  // namespace maskctl::app
