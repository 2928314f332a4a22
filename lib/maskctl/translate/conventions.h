// What the arguments of attention libraries mean: windows, alignment, rows without keys. "The
// query's own key" is the key on the diagonal.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "maskctl/inspect/why/why.h"
#include "maskctl/mask/steps/step.h"
#include "maskctl/mask/steps/window.h"

namespace maskctl {

/// What an argument of a call says about the mask.
enum class ArgumentMeaning : std::uint8_t {
  kCausal,       // True: no key after the query's own
  kKeys,         // W: W keys, the last being the query's own; if not causal, W on either side
  kKeysAround,   // W: W - 1 keys on either side of the query's own
  kSides,        // (L, R): L keys before the query's own, that key, and R keys after it
  kSidesOrBoth,  // like kSides; a single W means (W, W)
  kSignedSides,  // like kSides; a negative side is beyond the diagonal; L + R < 0: no window
  kLeft,         // L: L keys before the query's own
  kLeftKeys,     // L: L - 1 keys before the query's own
  kRight,        // R: R keys after the query's own
  kChunk,        // N: the keys in the query's chunk of N keys
  kCausalChunk,  // as kChunk, without keys after the query's own
  kCausalWord,   // "causal" or CAUSAL: no key after the query's own; None or FULL: all keys
  kMaskType,     // mask type of Transformer Engine: causal or not, and the alignment
  kAlignment,    // TOP_LEFT or BOTTOM_RIGHT
  kBottomRight,  // True: bottom-right; ignored if a mask type decides the alignment
  kOffset,       // N: the diagonal is N keys later; KV_LEN - Q_LEN means bottom-right
  kLengths,      // lengths of documents, of queries and also of keys unless those are given
  kKeyLengths,   // lengths of the keys of documents
  kKeyStride,    // N: the keys of document i start at key i * N
  kKeyStarts,    // first key of each document, then the number of all keys
  kEnds,         // cumulative lengths of documents, starting with 0
  kKeyEnds,
  kValidQueries,  // number of queries before the padding, for each batch entry
  kValidKeys,     // number of keys before the padding, for each batch entry
  kUsedQueries,   // number of queries of each document or batch entry that there are; the rest is
                  // room
  kUsedKeys,      // number of keys of each document or batch entry that there are
  kNewKeys,       // keys that the call puts behind the used ones
  kPageEnds,      // cumulative numbers of pages of documents, starting with 0; keys lie in pages
  kLastPage,      // number of keys in the last page of each document
  kPageSize,      // number of keys in a page
  kUnread,        // changes the mask in a way that is not read; at its default it does not
  kMask,          // a mask of its own, or an object that has one; a row does not read it
  kNothing,       // nothing about the mask
};
/// The meaning as one line of text.
std::string_view meaning(ArgumentMeaning meaning);

/// One argument of a call; the call is a function, a method or a class.
struct Argument {
  std::string_view name;
  ArgumentMeaning meaning = ArgumentMeaning::kNothing;
  std::string_view fallback;  // default of the library; empty: required
  /// The value to write if the meaning of the argument gives none: {align} stands for TOP_LEFT or
  /// BOTTOM_RIGHT, {longest_q} and {longest_k} for the length of the longest document. If the text
  /// is empty, a required argument is written with its own name as value, and others are left out.
  std::string_view text = {};
  bool read_only = false;  // never written: another argument has the same meaning
  /// What to note beside a window that is written with this argument; {keys} stands for the number
  /// of keys up to the query's own, {left} for that without it.
  std::string_view note = {};
};
/// The note of windows that count the query's own key.
inline constexpr std::string_view kKeysNote = "{keys} keys including the query's own";

struct Convention {
  std::string_view call;
  /// The module to which the call belongs, if calls of the same name in others mean another mask.
  std::string_view module = {};
  /// Which diagonal the call uses when Q != K; kUnset: an argument decides.
  Align align = Align::kUnset;
  bool causal = false;              // never a key after the query's own, whatever the arguments
  bool documents = false;           // takes documents; all rules apply inside each document
  std::string_view unbounded = {};  // how an unbounded side is written: "-1", "None", a huge number
  /// How an unbounded side of a window is written if the other side is bounded; empty: as
  /// `unbounded`.
  std::string_view one_unbounded = {};
  std::string_view leading = {};  // positional arguments that come first: "q, k, v"
  std::string_view names = {};    // the names of these, if they are written by others: "query, ..."
  std::span<const Argument> arguments = {};
  std::string_view overrides = {};  // how the library changes its arguments
  std::string_view source = {};
  /// Notes for a top-left and for a bottom-right mask where Q != K, if implementations of the call
  /// use different diagonals.
  std::string_view top_left_note = {}, bottom_right_note = {};
  /// True if the library refuses documents with queries that see no key. Such queries occur if a
  /// document has more queries than keys and the mask is aligned bottom-right, or if queries are
  /// beyond the window and it is aligned top-left.
  bool no_empty_rows = false;
  bool lone_query_sees_all = false;  // causal says nothing of a single query
  bool written = true;               // false: read, but never written by --to
  std::string_view object = {};      // a line of code that makes the object to call
  std::string_view spelled = {};     // the call as it is written; empty: `call`
};

/// Which keys a window of W contains; left and right are the numbers of keys before and after the
/// query's own.
enum class WindowRule : std::uint8_t {
  kKeys,       // left = W - 1, right = 0: W keys including the query's own
  kInclusive,  // left = W, right = 0: W + 1 keys
  kKeysBoth,   // left = right = W - 1: 2 W - 1 keys
  kBoth,       // left = right = W: 2 W + 1 keys
};
/// The window as sides. Throws Error(kInvalidArgument) for W < 0, and for W = 0 if W counts the
/// query's own key.
step::Window window_of(WindowRule rule, Index w);

/// The meaning of one argument called "window" in a library.
struct WindowConvention {
  std::string_view api;        // "flash-attn, Transformer Engine"
  std::string_view parameter;  // "window_size=(W, 0)"
  WindowRule rule = WindowRule::kKeys;
  std::string_view source;  // the line of code or the discussion that proves it
};

struct ArrayModule;
struct LibrarySource;
struct MaskForm;
struct ParsedCall;
struct Translation;

/// A library; each is defined by a file in libraries/.
struct Library {
  std::string_view name;   // as written on the command line
  std::string_view title;  // "Hugging Face transformers"
  /// Which diagonal the calls of the library use when Q != K; kUnset: an argument decides.
  Align align = Align::kUnset;
  std::string_view empty_row;  // what the output of a query without keys is
  /// What the output is of a query that is padding according to the lengths given for queries;
  /// empty: the calls take no such lengths.
  std::string_view padded_row = {};
  std::string_view dense = {};  // how to pass a mask that no call expresses; empty: not possible
  /// How an array of numbers is written; {} stands for the numbers: "torch.tensor([{}],
  /// dtype=torch.int32, ...)".
  std::string_view array = "[{}]";
  /// The call that uses the mask object which the code makes; {} stands for this object. Empty: the
  /// arguments for the mask are written into the call itself.
  std::string_view use = {};
  /// If the library has no argument for documents: the note that says to call it once per document.
  /// Empty: it has such an argument.
  std::string_view apart = {};
  /// True if Convention::arguments are in the order of the call, so that they can be read by
  /// position.
  bool by_position = false;
  /// True if calls are classes with methods, such as A.from_seqlens(...).make_causal(...), whose
  /// arguments are written by position.
  bool methods = false;
  /// True if the first argument may be the shape of the mask. Without shape and offset, the
  /// alignment is not known.
  bool shaped = false;
  /// True if the library's mask functions get a q_idx that counts from the first cached token.
  bool counts_from_cache = false;
  const ArrayModule* module = nullptr;  // for code that computes a mask; null: no such code

  /// The calls, in the order in which they are tried for writing.
  std::span<const Convention> calls = {};
  std::span<const WindowConvention> windows = {};

  Chain (*reader)(const Library& library, std::string_view text);
  /// Writes code for the mask that the chain gives when applied to a full mask, or a refusal.
  /// `form` is mask_form(chain).
  void (*writer)(const Chain& chain, const MaskForm& form, const StepName& name, Translation& out);
  /// Changes the arguments that were read from a call in the way in which the library does; null:
  /// no change.
  void (*settle)(const LibrarySource& source, Index position, ParsedCall& call) = nullptr;

  /// Reads a mask from text: a call with its arguments, `causal=True, window_size=(4, 0)`, or code.
  /// The diagonal is that of the library. Throws PipelineError with a caret.
  Chain read(std::string_view text) const { return reader(*this, text); }
};

/// All libraries, in the order of libraries.h.
std::span<const Library* const> libraries();
/// The library of this name; null if there is none.
const Library* find_library(std::string_view name);
/// The window arguments of all libraries and of some reference programs, smallest windows first.
/// There are four meanings: away from the edges, a query sees W, W + 1, 2 W - 1 or 2 W + 1 keys.
std::vector<WindowConvention> window_conventions();

}  // namespace maskctl
