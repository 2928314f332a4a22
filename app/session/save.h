// Writes masks and arrays to the destination of OutputOptions.
#pragma once

#include <initializer_list>
#include <string_view>

#include "app/session/loader.h"
#include "app/session/options.h"
#include "app/session/session.h"
#include "maskctl/io/array_io.h"
#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::app {

/// Throws Error(kInvalidArgument) if `output` has no destination. Parses the steps of the loaders
/// first, so that a wrong step is reported before a missing destination.
void require_output(const OutputOptions& output, std::string_view command,
                    std::initializer_list<Loader*> loaders = {});
/// The options of a write, with a note as note_replaced() prints it.
WriteOptions write_options(const OutputOptions& output, const Session& session);
/// Prints a note that names the arrays that are lost when a whole file is replaced.
void note_replaced(const OutputOptions& output, const Session& session);
/// How a mask is written, but for its kind.
MaskWriteOptions mask_write_options(const OutputOptions& output, const Session& session);
/// Writes a mask. `rank` is the number of axes of the array that was read; see MaskWriteOptions.
void write_output(const Mask& mask, const OutputOptions& output, const Session& session,
                  Index rank = 4);
/// The steps of a mask that was read from `source`, with those of the loader.
MaskSteps steps_of(Loader& loader, const std::string& source, Mask mask);
/// Writes the file of a mask (pipeline/mask_file.h). Of `how` it refuses what such a file has not.
void write_steps(const OutputOptions& output, const MaskSteps& steps, const MaskWriteOptions& how,
                 const Session& session);
void write_output(const Tensor& tensor, const OutputOptions& output, const Session& session);
/// Calls write_mask(). If `dest` is standard output and the front end takes arrays, passes the
/// arrays to it instead; they are moved out of `converted`.
void write_converted(const std::string& dest, ConvertedMask& converted, const MaskWriteOptions& how,
                     const Session& session);

}  // namespace maskctl::app
