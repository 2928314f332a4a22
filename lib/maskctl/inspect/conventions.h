// What the arguments of attention libraries mean: windows, alignment, rows without keys.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

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
  kSdpa,
  kMha,
  kJax,
};

struct LibraryInfo {
  Library id = Library::kHf;
  std::string_view name;   // on the command line
  std::string_view title;  // "Hugging Face transformers"
  /// Where the diagonal lies when Q != K; kUnset: an argument says.
  Align align = Align::kUnset;
  std::string_view empty_row;  // what a row without keys gives
  std::string_view dense;      // how a mask without a formula is given; empty: not at all
  /// How numbers are written, with {} for them: "torch.tensor([{}], dtype=torch.int32, ...)".
  std::string_view array = "[{}]";
  /// How the written mask is handed over, with {} for it; empty: the call is all.
  std::string_view use = {};
  /// Where documents have no argument because each is a call of its own; empty: they have.
  std::string_view apart = {};
  /// Its rows list arguments in the order of the calls, so that they may stand by place.
  bool by_place = false;
};

/// What an argument says about the mask.
enum class Says : std::uint8_t {
  kCausal,       // True: nothing after the own key
  kKeys,         // W: W keys, the own one included; where not causal W on either side
  kSides,        // (L, R): L keys before the own one, R after it; the own one besides
  kSidesOrBoth,  // the same, and W alone is (W, W)
  kLeft,         // L keys before the own one
  kLeftKeys,     // L: L - 1 keys before the own one
  kRight,        // R keys after the own one
  kChunk,        // N: the keys of the own chunk of N
  kCausalChunk,  // the same, and nothing after the own key
  kMaskType,     // a word of Transformer Engine: causal or not, and the alignment
  kAlignment,    // TOP_LEFT or BOTTOM_RIGHT
  kBottomRight,  // True: bottom-right, where the mask type leaves it open
  kOffset,       // N: queries sit N keys later; KV_LEN - Q_LEN: bottom-right
  kLengths,      // of documents, queries and keys alike unless the keys have their own
  kKeyLengths,   // of the documents' keys
  kKeyStride,    // N: the keys of document i start at i N
  kEnds,         // lengths and key lengths as cumulative numbers, 0 first
  kKeyEnds,
  kValidQueries,  // of each batch entry: the queries that are no padding, on the right
  kValidKeys,     // the keys
  kNothing,       // no part of the mask
};
/// One line of meaning.
std::string_view meaning(Says says);

/// One argument of one call. The call is a function, a method or a class.
struct Argument {
  std::string_view name;
  Says says = Says::kNothing;
  std::string_view fallback;  // what the library takes when it is left out; empty: must be given
};
struct Convention {
  Library library = Library::kHf;
  std::string_view call;
  /// Where its diagonal lies when Q != K, or kUnset: an argument says.
  Align align = Align::kUnset;
  bool causal = false;         // nothing after the own key, whatever the arguments say
  bool documents = false;      // takes documents; everything counts inside each of them
  std::string_view unbounded;  // a side without a limit: "-1", "None", or a number past all
  std::string_view leading;    // what stands before the arguments: "q, k, v"
  std::vector<Argument> arguments;
  std::string_view overrides;  // what the library changes in what it is given
  std::string_view source;
  /// Refuses documents with rows that would see no key: more queries than keys counted from the
  /// bottom right, or past the window from the top left.
  bool no_empty_rows = false;
  bool written = true;            // no: another call is written for the same mask
  std::string_view object = {};   // the line that makes what the call is made on
  std::string_view spelled = {};  // the call as written; empty: `call`
};
/// Every convention of every library that takes arguments, each library's in the order in which
/// they are tried for writing. Read in both directions: `--from` looks its calls and arguments up
/// here,
/// `--to` finds the first call that can say the mask, `--table` prints it.
std::span<const Convention> conventions();

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
