// Code writers for single libraries, and shared helpers; private to the layer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "maskctl/translate/translate.h"

namespace maskctl {

void refuse(Translation& out, std::string why);
/// Refuses masks with first keys that are open to all, for which there is no argument.
void refuse_keys(Translation& out);

/// For example "3, 5".
std::string joined(const std::vector<Index>& values, std::string_view separator);
/// 0 and the cumulative sums of the lengths.
std::vector<Index> ends_of(const std::vector<Index>& lengths);
/// Numbers as an array of the library: written out, or in NAME.npy beside the code when many.
std::string array_code(Translation& out, const std::string& name, const std::vector<Index>& values);

/// Keys that are open beside the band: sinks, a prefix.
inline bool splits(const MaskForm& mask) { return mask.sinks > 0 || mask.prefix > 0; }
/// Defines the lengths for code that reads them.
inline constexpr const char* kLengthsLine = "Q_LEN, KV_LEN = q.shape[-2], k.shape[-2]";
/// Says that the code holds an entry for each of so many batches; nothing for one.
void note_batch(std::size_t entries, Translation& out);

/// Writes the first call of the table that can express the form; otherwise refuses with the reason.
void write_call(const MaskForm& form, Translation& out);

void write_flex(const Chain& chain, const StepName& name, Translation& out);
/// A dense mask built from broadcast terms, for libraries that take one.
void write_dense(const Chain& chain, const StepName& name, Translation& out);
void write_hf(const Chain& chain, const MaskForm& mask, const StepName& name, Translation& out);
void write_splash(const MaskForm& mask, Translation& out);
void write_mask_info(const MaskForm& mask, Translation& out);
void write_flashmask(const Chain& chain, const MaskForm& mask, Translation& out);
void write_vllm(const Chain& chain, const StepName& name, Translation& out);
void write_ck_tile(const MaskForm& mask, Translation& out);

}  // namespace maskctl
