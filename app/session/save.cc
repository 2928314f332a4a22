#include "app/session/save.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/io/masks/mask_io.h"
#include "maskctl/pipeline/mask_file.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::app {
namespace {

/// For masks that were read without --semantics ejkernel: throws Error(kInvalidArgument) if the
/// output should be a MaskInfo (--to mask-info) or a bias (--to bias), which need that option.
void check_form(const OutputOptions& output) {
  if (output.form == OutputOptions::Form::kMaskInfo) {
    throw Error(Errc::kInvalidArgument, "--to mask-info goes with --semantics ejkernel");
  }
  if (output.form == OutputOptions::Form::kBias) {
    throw Error(Errc::kInvalidArgument,
                "--to bias goes with --semantics ejkernel; `maskctl convert --to bias` writes that "
                "of any mask");
  }
}

}  // namespace

void require_output(const OutputOptions& output, std::string_view command,
                    std::initializer_list<Loader*> loaders) {
  if (!output.dest.empty()) return;
  for (Loader* loader : loaders) {
    if (!loader->source().ejkernel) loader->chain();
  }
  throw Error(
      Errc::kInvalidArgument,
      fmt::format("{}: no destination; give -o FILE, or -o - for standard output", command));
}

WriteOptions write_options(const OutputOptions& output, const Session& session) {
  note_replaced(output, session);
  return {.force = output.force,
          .append = output.append,
          .replace_file = output.replace_file,
          .gzip = output.gzip};
}

void note_replaced(const OutputOptions& output, const Session& session) {
  if (output.append || !(output.force || output.replace_file)) return;
  const auto [path, member, format] = parse_dest_name(output.dest);
  if (!output.replace_file && !member.empty()) return;
  const auto content = dest_content(path);
  // Replacing the only array of a file is what the user asked for, so it gets no note.
  if (content && (output.replace_file || content->arrays.size() > 1)) {
    session.note(
        fmt::format("{}: replacing the whole file drops its {}", printable(path), content->text()));
  }
}

MaskWriteOptions mask_write_options(const OutputOptions& output, const Session& session) {
  MaskWriteOptions out;
  out.dtype = output.dtype;
  out.max_bytes = session.settings().max_bytes;
  out.force = output.force;
  out.append = output.append;
  out.replace_file = output.replace_file;
  out.gzip = output.gzip;
  return out;
}

void write_output(const Mask& mask, const OutputOptions& output, const Session& session,
                  Index rank) {
  check_form(output);
  if (output.form == OutputOptions::Form::kRuns && output.dtype) {
    throw Error(Errc::kInvalidArgument, "--dtype is for dense arrays; --to runs has its own types");
  }
  if (output.form == OutputOptions::Form::kMask) {
    return write_steps(output, {mask, {}}, mask_write_options(output, session), session);
  }
  MaskWriteOptions options = mask_write_options(output, session);
  options.kind = output.form == OutputOptions::Form::kRuns ? ArrayKind::kRuns : ArrayKind::kDense;
  options.rank = rank;
  options.progress = session.progress("writing");
  ConvertedMask converted = convert_mask(mask, options);
  note_replaced(output, session);
  write_converted(output.dest, converted, options, session);
}

void write_converted(const std::string& dest, ConvertedMask& converted, const MaskWriteOptions& how,
                     const Session& session) {
  if (!session.takes_arrays(dest)) return write_mask(dest, converted, how);
  ConvertedMask taken;
  taken.kind = converted.kind;
  taken.source = converted.source;
  taken.mask = converted.mask;
  taken.arrays = std::move(converted.arrays);
  taken.beside = std::move(converted.beside);
  session.take_arrays(mask_arrays(std::move(taken), how));
}

MaskSteps steps_of(Loader& loader, const std::string& source, Mask mask) {
  MaskSteps steps = loader.own_steps(source).value_or(MaskSteps{std::move(mask), {}});
  std::ranges::move(loader.chain(), std::back_inserter(steps.chain));
  return steps;
}

void write_steps(const OutputOptions& output, const MaskSteps& steps, const MaskWriteOptions& how,
                 const Session& session) {
  const DestName dest = parse_dest_name(output.dest);
  const bool is_file = output.dest == "-" || output.dest.ends_with(".safetensors");
  if (!is_file || !dest.member.empty() || session.takes_arrays(output.dest)) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("--to mask writes a whole file, FILE.safetensors, or - in a shell; "
                            "got '{}'",
                            printable(output.dest)));
  }
  const char* const refused = how.dtype                ? "--dtype"
                              : how.append             ? "--append"
                              : how.gzip != 0          ? "--gzip"
                              : how.block              ? "--block"
                              : how.keep_value_is_zero ? "--write-keep-value"
                                                       : nullptr;
  if (refused) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{} is for arrays; --to mask has types of its own", refused));
  }
  note_replaced(output, session);
  write_mask_file(output.dest, steps,
                  {.force = how.force || how.replace_file, .max_bytes = how.max_bytes});
}

void write_output(const Tensor& tensor, const OutputOptions& output, const Session& session) {
  check_form(output);
  if (output.form == OutputOptions::Form::kRuns) {
    throw Error(Errc::kInvalidArgument,
                "--to runs: these are segment ids, not a mask; add a -t step or leave --to out");
  }
  const WriteOptions options = write_options(output, session);
  if (output.dtype) return write_array(output.dest, astype(tensor, *output.dtype), options);
  write_array(output.dest, tensor, options);
}

}  // namespace maskctl::app
