// The SOURCEs that the steps of a pipeline read.
#pragma once

#include <functional>
#include <string>

#include "maskctl/pipeline/parse/grammar.h"

namespace maskctl {

/// The pipeline with each SOURCE, also in nested steps, replaced by `rename(SOURCE)`.
Pipeline with_sources(Pipeline pipeline,
                      const std::function<std::string(const std::string& source)>& rename);

}  // namespace maskctl
