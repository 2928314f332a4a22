// The files of the kit: cases that a library is given, and results that it gave.
#pragma once

#include <string>
#include <vector>

#include "app/reports/json_value.h"
#include "maskctl/attention/calls/by_name.h"
#include "maskctl/io/streams/options.h"
#include "maskctl/kit/made_case.h"

namespace maskctl::app {

/// Writes an .npz with the arrays of a case, those of its steps, its "mask" as bool [B,Hq,Q,K], and
/// with `solved` what it must give in float64, "expected_out" and the like, and how far each
/// element may be off: "tolerance_out". Throws Error(kIo) for an existing file without `force`.
void write_case(const std::string& path, const kit::MadeCase& made, bool solved, bool force);

/// Writes JSON to a file. Throws Error(kIo) for an existing one without `force`.
void write_json(const std::string& path, const Json& json, bool force);

struct GivenResults {
  attention::NamedResults results;
  double seconds = 0;  // that the library took, as far as the file says so
};
/// The results in an .npz: "out", and "lse", "grad_query", "grad_key", "grad_value" as far as they
/// are there; "seconds", a number. Throws what reading throws, and Error(kFormat) without "out".
GivenResults read_results(const std::string& path, const ReadOptions& options);

}  // namespace maskctl::app
