// Writes pictures of masks to files.
#pragma once

#include <string>
#include <string_view>

#include "maskctl/io/array_io.h"
#include "maskctl/render/picture/picture.h"

namespace maskctl {

enum class PictureFormat : std::uint8_t { kPng, kSvg, kHtml };

/// Decided by the suffix .png, .svg, .html or .htm, in any case. Throws Error(kInvalidArgument) for
/// other names, including "-": for standard output the format must be given.
PictureFormat picture_format(std::string_view dest);
/// True when picture_format() knows the suffix.
bool is_picture_name(std::string_view dest);

/// The bytes of a picture; equal input gives equal bytes. The cost depends on the structure of the
/// mask (see density.h), never on its cells: a mask of 1M x 1M takes milliseconds. Throws as
/// check_picture().
std::string picture_bytes(PictureFormat format, const Figure& figure,
                          const PictureOptions& options = {});

/// Writes the picture to a file that appears whole or not at all, or to "-" if `format` is given.
/// Throws Error(kIo) for an existing file without write.force, and what the functions above throw.
void write_picture(const std::string& dest, const Figure& figure,
                   const PictureOptions& options = {}, const WriteOptions& write = {});
void write_picture(const std::string& dest, PictureFormat format, const Figure& figure,
                   const PictureOptions& options = {}, const WriteOptions& write = {});

}  // namespace maskctl
