// What goes to stdout and stderr, and how numbers are printed.
#pragma once

#include <string>
#include <string_view>

#include "app/cli/options.h"
#include "maskctl/io/array_io.h"
#include "maskctl/mask/cell.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::app {

/// Writes all of `text` and closes stdout, checking every error; call it once, as the last thing.
/// Throws Error(kIo): "cannot write standard output: No space left on device".
void write_stdout(std::string_view text);
void write_stderr(std::string_view text) noexcept;
/// "maskctl: note: ..." on stderr, unless --quiet.
void note(std::string_view text, const GlobalOptions& globals);

/// "12.55 %"; "0 %" and "100 %" only if exact, so that a single cell is never rounded away.
std::string percent(Index part, Index whole);
/// "batch 0, head 0, query 17, key 3".
std::string cell_text(const Cell& cell);
/// "1.5 MiB".
std::string bytes_text(Index bytes);

/// Throws an Error if -o is missing.
void require_output(const OutputOptions& output, std::string_view command);
WriteOptions write_options(const OutputOptions& output);
void write_output(const Mask& mask, const OutputOptions& output, const GlobalOptions& globals);
void write_output(const Tensor& tensor, const OutputOptions& output);

}  // namespace maskctl::app
