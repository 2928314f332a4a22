// What the arguments of attention libraries mean: windows, alignment, rows without keys.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "maskctl/inspect/why/why.h"
#include "maskctl/mask/steps/step.h"
#include "maskctl/mask/steps/window.h"

namespace maskctl {

/// What an argument says about the mask.
enum class ArgumentMeaning : std::uint8_t {
  kCausal,       // True: no key after the query's own
  kKeys,         // W: W keys including the query's own; without causal, W on either side
  kKeysAround,   // W: W - 1 keys on either side of the query's own
  kSides,        // (L, R): L keys before the query's own, which is open too, and R after it
  kSidesOrBoth,  // as kSides; a single W means (W, W)
  kLeft,         // L: L keys before the query's own
  kLeftKeys,     // L: L - 1 keys before the query's own
  kRight,        // R: R keys after the query's own
  kChunk,        // N: the keys in the query's chunk of N
  kCausalChunk,  // as kChunk, without keys after the query's own
  kMaskType,     // a mask type of Transformer Engine: causal or not, and the alignment
  kAlignment,    // TOP_LEFT or BOTTOM_RIGHT
  kBottomRight,  // True: bottom-right, if the mask type does not decide
  kOffset,       // N: queries start N keys later; KV_LEN - Q_LEN means bottom-right
  kLengths,      // lengths of documents, for queries and keys unless keys have their own
  kKeyLengths,   // lengths of the documents' keys
  kKeyStride,    // N: the keys of document i start at i * N
  kKeyStarts,    // where the keys of each document start; the number of all keys last
  kEnds,         // lengths or key lengths as cumulative numbers, 0 first
  kKeyEnds,
  kValidQueries,  // number of queries before the padding, per batch entry
  kValidKeys,     // number of keys before the padding, per batch entry
  kNothing,       // unrelated to the mask
};
/// The meaning in one line.
std::string_view meaning(ArgumentMeaning meaning);

/// One argument of one call. The call is a function, a method or a class.
struct Argument {
  std::string_view name;
  ArgumentMeaning meaning = ArgumentMeaning::kNothing;
  std::string_view fallback;  // the library's default; empty: the argument is required
  /// How it is written where its meaning does not give a number: {align} is TOP_LEFT or
  /// BOTTOM_RIGHT, {longest_q} and {longest_k} the lengths of the longest document. Empty: a
  /// required argument gets its own name, another is left out.
  std::string_view text = {};
  bool read_only = false;  // never written: other arguments of the call say the same
};
struct Convention {
  std::string_view call;
  /// Where the diagonal lies when Q != K; kUnset: an argument decides.
  Align align = Align::kUnset;
  bool causal = false;              // no key after the query's own, whatever the arguments say
  bool documents = false;           // takes documents; all rules count inside each document
  std::string_view unbounded = {};  // a side without a limit: "-1", "None", or a huge number
  /// What a side without a limit is called where the other side has one; empty: as `unbounded`.
  std::string_view one_unbounded = {};
  std::string_view leading = {};  // what precedes the arguments: "q, k, v"
  std::span<const Argument> arguments = {};
  std::string_view overrides = {};  // what the library changes in its arguments
  std::string_view source = {};
  /// Notes to a top-left and to a bottom-right mask where Q != K, if implementations of the call
  /// differ in where the diagonal lies.
  std::string_view top_left_note = {}, bottom_right_note = {};
  /// The library refuses documents with rows that would see no key: with more queries than keys
  /// when aligned bottom-right, or past the window when aligned top-left.
  bool no_empty_rows = false;
  bool written = true;            // false: --to writes another call for the same mask
  std::string_view object = {};   // the line that makes the object to call
  std::string_view spelled = {};  // the call as written; empty means `call`
};

/// What a window of W means, in keys beside the query's own.
enum class WindowRule : std::uint8_t {
  kKeys,       // left = W - 1, right = 0: W keys including the query's own
  kInclusive,  // left = W, right = 0: W + 1 keys
  kKeysBoth,   // left = right = W - 1: 2 W - 1 keys
  kBoth,       // left = right = W: 2 W + 1 keys
};
/// The sides of the window. Throws Error(kInvalidArgument) for W < 0, and for W = 0 where W counts
/// the query's own key.
step::Window window_of(WindowRule rule, Index w);

/// One way to say "window" in one library.
struct WindowConvention {
  std::string_view api;        // "flash-attn, Transformer Engine"
  std::string_view parameter;  // "window_size=(W, 0)"
  WindowRule rule = WindowRule::kKeys;
  std::string_view source;  // the line of code or the thread that settles it
};

struct ArrayModule;
struct LibrarySource;
struct MaskForm;
struct ParsedCall;
struct Translation;

/// A library, from one file of libraries/.
struct Library {
  std::string_view name;   // as written on the command line
  std::string_view title;  // "Hugging Face transformers"
  /// Where the diagonal lies when Q != K; kUnset: an argument decides.
  Align align = Align::kUnset;
  std::string_view empty_row;  // the result of a row without keys
  /// The result of a query past the length that the call was given for its queries; empty: calls
  /// take no such lengths.
  std::string_view padded_row = {};
  std::string_view dense = {};  // how to pass a mask without a formula; empty: not possible
  /// How an array of numbers is written, with {} for the numbers: "torch.tensor([{}],
  /// dtype=torch.int32, ...)".
  std::string_view array = "[{}]";
  /// How the written mask is passed on, with {} for the mask; empty: the call itself is all.
  std::string_view use = {};
  /// How documents are handled when the library has no argument for them, because each is a call of
  /// its own; empty: it has an argument.
  std::string_view apart = {};
  /// True when the rows list arguments in the order of the calls, so that positional arguments
  /// work.
  bool by_position = false;
  /// True when calls are classes with methods, A.from_seqlens(...).make_causal(...), whose
  /// arguments are written by position.
  bool methods = false;
  /// True when the shape of the mask may be the first argument; without it and an offset, the
  /// alignment is open.
  bool shaped = false;
  /// True when functions of q_idx count it from the first cached token.
  bool counts_from_cache = false;
  const ArrayModule* module = nullptr;  // of code that computes a mask; null: there is none

  /// The calls, in the order in which writing tries them.
  std::span<const Convention> calls = {};
  std::span<const WindowConvention> windows = {};

  Chain (*reader)(const Library& library, std::string_view text);
  /// Writes code for the mask that the chain makes of an all-open one, or refuses. `form` is
  /// mask_form(chain).
  void (*writer)(const Chain& chain, const MaskForm& form, const StepName& name, Translation& out);
  /// Applies what the library changes in the arguments of a call; null: nothing.
  void (*settle)(const LibrarySource& source, Index position, ParsedCall& call) = nullptr;

  /// The mask of a text: the arguments of a call, `causal=True, window_size=(4, 0)`, or code. The
  /// alignment is the library's own. Throws PipelineError with the caret.
  Chain read(std::string_view text) const { return reader(*this, text); }
};

/// In the order of libraries.h.
std::span<const Library* const> libraries();
/// Null for an unknown name.
const Library* find_library(std::string_view name);
/// The windows of all libraries and of some reference programs, narrowest first. With four
/// meanings: a query far from both ends sees W, W + 1, 2 W - 1 or 2 W + 1 keys.
std::vector<WindowConvention> window_conventions();

}  // namespace maskctl
