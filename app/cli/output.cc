// Writes text and arrays.
#include "app/cli/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>

#include "app/cli/progress.h"
#include "maskctl/base/atomic_file.h"
#include "maskctl/base/error.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/io/masks/mask_io.h"
#include "maskctl/pipeline/parse/diagnostic.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::app {

void write_stdout(std::string_view text) {
  write_all(STDOUT_FILENO, std::as_bytes(std::span(text)), "standard output");
  if (close(STDOUT_FILENO) != 0 && errno != EINTR) {  // some file systems report a full disk here
    throw Error(Errc::kIo, fmt::format("cannot write standard output: {}", std::strerror(errno)));
  }
}

void write_stderr(std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void note(std::string_view text, const GlobalOptions& globals) {
  if (!globals.quiet) write_stderr(fmt::format("maskctl: note: {}\n", text));
}

std::string cell_text(const Cell& cell) {
  return fmt::format("batch {}, head {}, query {}, key {}", cell.batch, cell.head, cell.query,
                     cell.key);
}

std::string percent(Index part, Index whole) {
  if (whole == 0) return "-";
  if (part == 0) return "0 %";
  if (part == whole) return "100 %";
  const double value = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  if (value < 0.01) return fmt::format("{:.2g} %", value);
  if (value > 99.99) return ">99.99 %";
  return fmt::format("{:.2f} %", value);
}

std::string bytes_text(Index bytes) {
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1024; value /= 1024) ++unit;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

namespace {

void refuse_mask_info(const OutputOptions& output) {
  if (output.form != OutputOptions::Form::kMaskInfo) return;
  throw Error(Errc::kInvalidArgument, "--to mask-info goes with --semantics ejkernel");
}

}  // namespace

void require_output(const OutputOptions& output, std::string_view command) {
  if (!output.dest.empty()) return;
  throw Error(
      Errc::kInvalidArgument,
      fmt::format("{}: no destination; give -o FILE, or -o - for standard output", command));
}

WriteOptions write_options(const OutputOptions& output) {
  WriteOptions out;
  out.force = output.force;
  out.append = output.append;
  out.gzip = output.gzip;
  return out;
}

void write_output(const Mask& mask, const OutputOptions& output, const GlobalOptions& globals) {
  refuse_mask_info(output);
  if (output.form == OutputOptions::Form::kRuns && output.dtype) {
    throw Error(Errc::kInvalidArgument, "--dtype is for dense arrays; --to runs has its own types");
  }
  ProgressLine progress("writing", globals);
  MaskWriteOptions options;
  options.kind = output.form == OutputOptions::Form::kRuns ? ArrayKind::kRuns : ArrayKind::kDense;
  options.dtype = output.dtype;
  options.max_bytes = globals.max_bytes;
  options.force = output.force;
  options.append = output.append;
  options.gzip = output.gzip;
  options.progress = progress.callback();
  write_mask(output.dest, mask, options);
}

void write_output(const Tensor& tensor, const OutputOptions& output) {
  refuse_mask_info(output);
  if (output.form == OutputOptions::Form::kRuns) {
    throw Error(Errc::kInvalidArgument,
                "--to runs: these are segment ids, not a mask; add a -t step or leave --to out");
  }
  write_array(output.dest, output.dtype ? astype(tensor, *output.dtype) : tensor,
              write_options(output));
}

}  // namespace maskctl::app
