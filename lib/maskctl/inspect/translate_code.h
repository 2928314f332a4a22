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

/// "3, 5".
std::string joined(const std::vector<Index>& values, std::string_view separator);
/// 0 and the sums of the first 1, 2, ... lengths.
std::vector<Index> ends_of(const std::vector<Index>& lengths);
/// Numbers as the library's array: written out, or beside the code in NAME.npy when they are many.
std::string array_code(Translation& out, const std::string& name, const std::vector<Index>& values);

/// The first call of the table that can say the form; a refusal with the reason otherwise.
void write_call(const MaskForm& form, Translation& out);

void write_flex(const Chain& chain, const StepName& name, Translation& out);
/// A dense mask by broadcast terms, for libraries that take one.
void write_dense(const Chain& chain, const StepName& name, Translation& out);
void write_hf(const Chain& chain, const MaskForm& mask, const StepName& name, Translation& out);
void write_splash(const MaskForm& mask, Translation& out);
void write_mask_info(const MaskForm& mask, Translation& out);
void write_flashmask(const MaskForm& mask, Translation& out);
void write_ck_tile(const MaskForm& mask, Translation& out);

}  // namespace maskctl
