// Prints statistics of attend's results, and writes them to files.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/reports/attention_json.h"
#include "app/session/options.h"
#include "app/session/session.h"
#include "maskctl/attention/sharded/gather.h"

namespace maskctl::app {

std::vector<ArraySummary> summaries_of(const attention::NamedResults& results);
/// Statistics of the whole arrays, complete at rank 0 only. Every rank must call it.
std::vector<ArraySummary> summaries_of(const attention::PlacedResults& results,
                                       attention::Communicator& world);
std::string summaries_text(std::span<const ArraySummary> arrays);

/// Throws the same Error that writing would throw because the file exists or its folder does not.
/// To be called before the computation.
void check_destination(const OutputOptions& output);

/// Writes all arrays to a container, or only the result `out` to a .npy file. Arrays of floats are
/// converted to the dtype of `output`, if given.
void write_results(const attention::NamedResults& results, const OutputOptions& output,
                   const Session& session);
/// Rank 0 collects and writes the whole arrays, a range of rows at a time. Every rank must call
/// this function.
void write_results(const attention::PlacedResults& results, const OutputOptions& output,
                   const Session& session, attention::Communicator& world);

}  // namespace maskctl::app
