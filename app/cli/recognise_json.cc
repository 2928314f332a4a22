// The JSON form of what recognise found out.
#include <nlohmann/json.hpp>

#include "app/cli/recognise_report.h"

namespace maskctl::app {

std::string recognise_json(const RecogniseReport& report) {
  using Json = nlohmann::ordered_json;
  const Mask& mask = report.mask;
  Json out{{"schema", "maskctl.recognise/1"},
           {"source", report.source},
           {"shape", {mask.batch(), mask.heads(), mask.queries(), mask.keys()}},
           {"cells", mask.cells()},
           {"open", report.open},
           {"irregular", report.found.irregular},
           {"pipeline", report.pipeline},
           {"arrays", report.arrays},
           {"arrays_written", report.written},
           {"unexplained", report.found.unexplained},
           {"rows_unexplained", report.differs.rows},
           {"only_in_mask", report.differs.only_a},
           {"only_in_pipeline", report.differs.only_b}};
  out["first_unexplained"] = nullptr;
  if (const auto& cell = report.found.first_unexplained) {
    out["first_unexplained"] = {
        {"batch", cell->batch}, {"head", cell->head}, {"query", cell->query}, {"key", cell->key}};
  }
  out["planes"] = Json::array();  // batches and heads with unexplained cells
  for (const PlaneDiff& plane : report.differs.planes) {
    out["planes"].push_back({{"batch", plane.batch},
                             {"head", plane.head},
                             {"only_in_mask", plane.only_a},
                             {"only_in_pipeline", plane.only_b}});
  }
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace maskctl::app
