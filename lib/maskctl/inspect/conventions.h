// What the arguments of attention libraries mean: windows, alignment, rows without keys.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "maskctl/mask/step.h"

namespace maskctl {

enum class Library : std::uint8_t {
  kEjkernel,        // MaskInfo
  kEjkernelFlash,   // flash_attention, attention, ring_attention
  kEjkernelRagged,  // ragged_page_attention, ragged_page_attention_v3
  kHf,
  kFa,
  kTe,
  kCudnn,
  kXformers,
  kFlashinfer,
  kFlex,
  kSplash,
  kVllm,
  kCkTile,
  kFlashmask,
};

struct LibraryInfo {
  Library id = Library::kHf;
  std::string_view name;   // on the command line
  std::string_view title;  // "Hugging Face transformers"
  /// Where the diagonal lies when Q != K; kUnset: an argument says.
  Align align = Align::kUnset;
  std::string_view empty_row;  // what a row without keys gives
  std::string_view dense;      // how a mask without a formula is given; empty: not at all
};

/// In the order of `Library`.
std::span<const LibraryInfo> libraries();
const LibraryInfo& info_of(Library library);
/// Nothing for an unknown name.
std::optional<Library> library_from_name(std::string_view name);

/// What a number W given as a window means, in keys beside the query's own.
enum class WindowRule : std::uint8_t {
  kKeys,       // left = W - 1, right = 0: W keys, the own one included
  kInclusive,  // left = W, right = 0: W + 1 keys
  kBoth,       // left = right = W: 2 W + 1 keys
};
/// Sides of the window. Throws Error(kInvalidArgument) for W < 0, and for kKeys with W = 0.
step::Window window_of(WindowRule rule, Index w);

/// One way to say "window" in one library.
struct WindowConvention {
  std::string_view api;        // "flash-attn, Transformer Engine"
  std::string_view parameter;  // "window_size=(W, 0)"
  WindowRule rule = WindowRule::kKeys;
  std::string_view source;  // the line of code or the thread that settles it
};
/// Seventeen ways in three meanings: a query far from the start sees W, W + 1 or 2 W + 1 keys.
std::span<const WindowConvention> window_conventions();

}  // namespace maskctl
