// What the writers of libraries share; private to the layer.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/translate/mask_form.h"
#include "maskctl/translate/translate.h"
#include "maskctl/translate/write/formula.h"

namespace maskctl {

/// The most numbers that are written out; more go into a file beside the code.
inline constexpr std::size_t kListedNumbers = 64;
/// For libraries without a word for an open side: past every length, within 32 bits.
inline constexpr std::string_view kPastAll = "2**30";

/// Why a library cannot express a mask, where several have the reason.
namespace refusal {
inline constexpr char kOpenKeys[] = "no argument for keys that are open beside the window";
inline constexpr char kOffDiagonal[] =
    "the band does not contain the diagonal, and sides cannot be negative";
inline constexpr char kChunkOffset[] = "no argument for the offset of chunks";
inline constexpr char kCausalChunks[] = "its chunks are causal too";
inline constexpr char kUnknownLengths[] = "these ids are not lengths of consecutive documents";
inline constexpr char kCountedInside[] = "steps that count inside documents";
}  // namespace refusal
void refuse(Translation& out, std::string_view why);

/// For example "3, 5".
std::string joined(const std::vector<Index>& values, std::string_view separator);
/// 0 and the cumulative sums of the lengths.
std::vector<Index> ends_of(const std::vector<Index>& lengths);
/// Numbers as an array of the library: written out, or in NAME.npy beside the code when many.
std::string array_code(Translation& out, const std::string& name, const std::vector<Index>& values);
/// Says that the code holds an entry for each of so many batches; nothing for one.
void note_batch(std::size_t entries, Translation& out);

/// Writes the first call of the library that can express the form; otherwise refuses with the
/// reason.
void write_call(const Chain& chain, const MaskForm& form, const StepName& name, Translation& out);

/// The lines that define what a formula reads, its notes and its arrays.
void move_definitions(Formula& formula, Translation& out);
/// The axes along which a dense mask differs.
struct DenseAxes {
  bool batches = false, heads = false;
};
/// Writes lines that make `mask`, a dense array of broadcast terms; refuses with the reason.
std::optional<DenseAxes> write_dense_mask(const Chain& chain, const StepName& name,
                                          Translation& out);
/// A call, or else the code with a dense mask; where there is neither, the call's reason.
void write_call_or_dense(const Chain& chain, const MaskForm& form, const StepName& name,
                         Translation& out,
                         void (*write_dense)(const Chain& chain, const StepName& name,
                                             Translation& out));

}  // namespace maskctl
