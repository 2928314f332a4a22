// Reads SOURCEs as MaskInfo, and formats ejkernel's exceptions.
#include "app/ejkernel/sources.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/streams.h"
#include "app/session/ejkernel.h"
#include "maskctl/base/error.h"
#include "maskctl/ejkernel/chain/ejkernel_chain.h"
#include "maskctl/ejkernel/mask_info/mask_info_io.h"
#include "maskctl/ejkernel/mask_info/python_error.h"
#include "maskctl/pipeline/steps/generate.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::app::ejkernel {
namespace {

Index largest(const Tensor& ends) {
  const auto values = as_int64(ends, "an array of start-end pairs");
  return values.empty() ? 0 : std::max<Index>(0, std::ranges::max(values));
}

/// Makes a MaskInfo from start-end pairs (cu_seqlens in ejkernel) as ejkernel does, including pairs
/// that maskctl refuses.
MaskInfo info_of_pairs(Loader& loader, const std::string& source) {
  const auto two = two_sources(source);
  const Tensor q = loader.array(two ? two->q : source);
  const Array kv = two ? make_array(loader.array(two->kv)) : nullptr;
  const auto& shape = loader.source().shape;
  const Index queries = shape ? (*shape)[2] : largest(q);
  const Index keys = shape ? (*shape)[3] : largest(kv ? *kv : q);
  return MaskInfo::from_cu_seqlens(q, queries, kv, keys);
}

}  // namespace

MaskInfo read_info(Loader& loader, const std::string& source) {
  const SourceOptions& how = loader.source();
  if (how.pad_id != -1) {
    throw Error(Errc::kInvalidArgument, "--pad-id: the padding id of MaskInfo is always -1");
  }
  const bool generated = loader.generates(source);
  if (how.as == ArrayKind::kPadding && !generated) {
    const MaskArray valid(loader.array(source));  // elements other than 0 and 1 are allowed here
    return MaskInfo::from_attention_mask(valid, !how.keep_value_is_zero);
  }
  if (how.as == ArrayKind::kPairs && !generated) return info_of_pairs(loader, source);
  const LoadedMask loaded = loader.read(source);
  return generated ? generate_ejkernel(source, loader.context()) : mask_info_of(loaded);
}

MaskInfo with_steps(Loader& loader, MaskInfo info) {
  return apply_ejkernel(std::move(info), loader.source().transforms, loader.context());
}

MaskInfo info_of(Loader& loader, const std::string& source) {
  return with_steps(loader, read_info(loader, source));
}

void require(std::string_view) {}

/// Returns the message in a single line: line breaks become blanks.
std::string raised_text(const Error& error) {
  const auto* raised = dynamic_cast<const PythonError*>(&error);
  if (!raised) return "";
  std::string text = fmt::format("ejkernel raises {}", name(raised->type()));
  if (*error.what() != '\0') text += fmt::format(": {}", error.what());
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

void start_trace(bool announced) {
  const auto print = [](std::string_view line) { write_stderr(std::string(line) + "\n"); };
  if (announced) set_debug_sink(print);
  set_debug_mode(true);
  set_debug_sink(print);
}

const ObjectKind* stored_object() { return &kStoredMaskInfo; }

std::optional<OtherRules> other_rules(std::string_view step, std::string_view argument) {
  return ejkernel_argument(step, argument);
}

}  // namespace maskctl::app::ejkernel
