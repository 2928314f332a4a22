// Functions that the writers of several libraries use; private to the layer.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/translate/mask_form.h"
#include "maskctl/translate/translate.h"
#include "maskctl/translate/write/formula.h"

namespace maskctl {

/// The most numbers that are written into code; longer arrays are put into a file.
inline constexpr std::size_t kListedNumbers = 64;
/// A side that is unbounded, for libraries that have no word for it: larger than any length, but
/// within 32 bits.
inline constexpr std::string_view kPastAll = "2**30";

/// Reasons, shared by several libraries, why a library cannot express a mask.
namespace refusal {
inline constexpr char kOpenKeys[] = "no argument for keys that are open beside the window";
inline constexpr char kOffDiagonal[] =
    "the band does not contain the diagonal, and sides cannot be negative";
inline constexpr char kChunkOffset[] = "no argument for the offset of chunks";
inline constexpr char kCausalChunks[] = "its chunks are causal too";
inline constexpr char kUnknownLengths[] = "these ids are not lengths of consecutive documents";
inline constexpr char kDiagonalUnknown[] =
    "which diagonal it uses when Q != K is not stated (equal when Q = K: leave align= out)";
inline constexpr char kCountedInside[] = "steps that count inside documents";
}  // namespace refusal
void refuse(Translation& out, std::string_view why);

/// 0 and the cumulative sums of the lengths.
std::vector<Index> ends_of(std::span<const Index> lengths);
/// Numbers as an array of the library: written out, or in NAME.npy beside the code when many.
std::string array_code(Translation& out, const std::string& name, const std::vector<Index>& values);
/// `word` as the name of a variable: one that Python, or the code around it, has already gets a
/// "_".
std::string python_name(std::string_view word);
/// Adds the note that arrays in the code have `entries` batch entries; no note for one entry.
void note_batch(std::size_t entries, Translation& out);

/// Writes the first call of the library that can express the form; if none can, refuses with a
/// reason.
void write_call(const Chain& chain, const MaskForm& form, const StepName& name, Translation& out);

/// Moves the lines that define a formula's arrays, its notes and its arrays to `out`.
void move_definitions(Formula& formula, Translation& out);
/// The axes along which a dense mask is not constant, besides queries and keys.
struct DenseAxes {
  bool batches = false, heads = false;
};
/// Writes code that computes `mask` as a dense array by broadcasting. Nothing, and a refusal in
/// `out`, if the chain has no formula.
std::optional<DenseAxes> write_dense_mask(const Chain& chain, const StepName& name,
                                          Translation& out);
/// Writes a call or, if no call can express the form, code with a dense mask. If that is not
/// possible either, refuses with the reason of the call.
void write_call_or_dense(const Chain& chain, const MaskForm& form, const StepName& name,
                         Translation& out,
                         void (*write_dense)(const Chain& chain, const StepName& name,
                                             Translation& out));
/// write_call_or_dense() where Library::dense is the line that uses the mask.
void write_call_or_mask(const Chain& chain, const MaskForm& form, const StepName& name,
                        Translation& out);

}  // namespace maskctl
