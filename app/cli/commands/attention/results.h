// What attend makes of its results: figures of each array, and files.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/reports/attention_json.h"
#include "app/session/options.h"
#include "maskctl/attention/sharded/gather.h"

namespace maskctl::app {

std::vector<ArraySummary> summaries_of(const attention::NamedResults& results);
/// Summaries of the whole arrays, at rank 0. Every rank calls it.
std::vector<ArraySummary> summaries_of(const attention::PlacedResults& results,
                                       attention::Communicator& world);
std::string summaries_text(std::span<const ArraySummary> arrays);

/// Throws what writing would throw because of the name of the file, before any work: it exists, or
/// its folder does not.
void check_destination(const OutputOptions& output);

/// Writes a container of all arrays, or an .npy of `out`; floats in the dtype that was asked for.
void write_results(const attention::NamedResults& results, const OutputOptions& output);
/// Rank 0 writes the whole arrays, a band after another. Every rank calls it.
void write_results(const attention::PlacedResults& results, const OutputOptions& output,
                   attention::Communicator& world);

}  // namespace maskctl::app
