// Writers of code for single libraries, and what they share; private to inspect.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "maskctl/inspect/translate.h"

namespace maskctl {

void refuse(Translation& out, std::string why);
/// Keys open to all have no argument.
void refuse_keys(Translation& out);
/// For libraries whose chunks follow the bottom-right diagonal: those of a mask count rows.
void note_chunks(const MaskArguments& mask, Translation& out);

/// "3, 5".
std::string joined(const std::vector<Index>& values, std::string_view separator);
/// "[3, 5]", or "lengths" when only a source names the documents.
std::string lengths_code(const MaskArguments& mask);
/// "3,5", or "...".
std::string lengths_list(const MaskArguments& mask);
/// Cumulative lengths as an int32 tensor.
std::string cu_seqlens(const MaskArguments& mask);

void write_flex(const Chain& chain, const StepName& name, Translation& out);
void write_hf(const Chain& chain, const MaskArguments& mask, const StepName& name,
              Translation& out);
void write_splash(const MaskArguments& mask, Translation& out);
void write_mask_info(const MaskArguments& mask, Translation& out);
void write_flashmask(const MaskArguments& mask, Translation& out);

}  // namespace maskctl
