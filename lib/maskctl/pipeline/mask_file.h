// Files that hold a mask as the steps that make it, for programs that do not know it yet:
// docs/formats.md describes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "maskctl/io/masks/mask_io.h"
#include "maskctl/io/streams/options.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/mask/steps/mask_steps.h"

namespace maskctl {

/// The `format` in the metadata of the files that write_mask_file() writes.
inline constexpr std::string_view kMaskFormat = "maskctl.mask/1";

/// The most queries of different planes that a mask in a file may have: its digest goes over each.
inline constexpr Index kMostDigestRows = Index{1} << 26;

struct MaskFile {
  Mask mask;
  /// The steps that make the mask, of one in which all is open. Their arrays have the names that
  /// they have in the file.
  MaskSteps steps;
  std::string pipeline;  // the text of the steps, as in the file; "" for none
  std::string digest;    // content_digest() of the mask
  std::string writer;    // the program that wrote the file; "" if the file does not say
};

/// Reads the file, which is a path or "-". All is checked: metadata, arrays, the shape of the mask
/// and its digest. Nothing but the file is read, whatever its steps name. Throws Error that starts
/// with the name of the file, kLimit beyond kMostDigestRows.
MaskFile read_mask_file(const std::string& path, const ReadOptions& options = {});
/// Likewise, without making the mask, so that neither its shape nor its digest is compared: for the
/// steps alone. MaskFile::mask has no cells.
MaskFile read_mask_steps(const std::string& path, const ReadOptions& options = {});

struct MaskFileOptions {
  bool force = false;                // replace an existing file
  Index max_bytes = Index{4} << 30;  // of one array, and of the runs that the digest goes over
};

/// Writes the mask that the steps make, with all that they read. A start that is not open
/// everywhere becomes the first step: "doc" if it consists of documents, else "and" with its cells.
/// `path` is a path or "-". Throws Error(kLimit) beyond kMostDigestRows.
void write_mask_file(const std::string& path, const MaskSteps& steps,
                     const MaskFileOptions& options = {});
void write_mask_file(const std::string& path, const Mask& mask,
                     const MaskFileOptions& options = {});

/// Steps whose start is open everywhere, and the arrays and masks that they read by the names that
/// they have in a file.
struct NamedSteps {
  MaskSteps steps;
  std::vector<ArrayNames::Named> arrays;
  std::vector<ArrayNames::NamedOther> masks;
};
NamedSteps named_steps(const MaskSteps& steps, Index max_bytes);
/// The arrays of the file: those of the steps, and the cells of the masks.
std::vector<NamedTensor> stored_arrays(const NamedSteps& named, Index max_bytes);

/// content_digest() of a mask in a file. Throws Error(kLimit) beyond kMostDigestRows.
std::string file_digest(const Mask& mask, Index max_bytes);

/// How read_mask() reads such files, for MaskReadOptions::objects.
extern const ObjectKind kMaskFile;

}  // namespace maskctl
