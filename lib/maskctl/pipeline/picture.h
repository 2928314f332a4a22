// Writes pictures of masks to files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "maskctl/io/array_io.h"
#include "maskctl/render/picture/picture.h"

namespace maskctl {

enum class PictureFormat : std::uint8_t { kPng, kSvg, kHtml };

/// The format that the suffix says: .png, .svg, .html or .htm, in upper or lower case. Throws
/// Error(kInvalidArgument) for other names, including "-": for standard output, give the format
/// explicitly.
PictureFormat picture_format(std::string_view dest);
/// True when the name has a suffix that picture_format() knows.
bool is_picture_name(std::string_view dest);

/// The content of a picture file; equal input gives equal bytes. The cost depends on how many lines
/// or runs the mask has (see density.h), not on its number of cells: a mask of 1M x 1M takes
/// milliseconds. A page takes the runs of all cells, and is drawn in larger units where these are
/// too many. Throws like check_picture().
std::string picture_bytes(PictureFormat format, const Figure& figure,
                          const PictureOptions& options = {});

/// Writes the picture to a file, which appears whole or not at all; with a `format`, `dest` may
/// also be "-". Returns the sentences of a page about what it leaves out; none for pictures. Throws
/// Error(kIo) for an existing file without write.force, and what picture_format() and
/// picture_bytes() throw.
std::vector<std::string> write_picture(const std::string& dest, const Figure& figure,
                                       const PictureOptions& options = {},
                                       const WriteOptions& write = {});
std::vector<std::string> write_picture(const std::string& dest, PictureFormat format,
                                       const Figure& figure, const PictureOptions& options = {},
                                       const WriteOptions& write = {});

}  // namespace maskctl
