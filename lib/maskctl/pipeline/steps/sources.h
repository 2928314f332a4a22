// Finds and replaces the SOURCEs that the steps of a pipeline read.
#pragma once

#include <functional>
#include <string>

#include "maskctl/pipeline/parse/grammar.h"

namespace maskctl {

/// The pipeline with each SOURCE replaced by rename(SOURCE), in nested steps too.
Pipeline with_sources(Pipeline pipeline,
                      const std::function<std::string(const std::string& source)>& rename);

}  // namespace maskctl
