// The only exception type of the library, and the remedies it suggests to callers.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace maskctl {

enum class Errc {
  kInvalidArgument,
  kShape,
  kFormat,
  kIo,
  kLimit,
  kUnsupported,
  kDevice,
  kCancelled
};

/// Something a caller can do about an error or a finding. Front ends offer it in different ways (an
/// argument, an option, a button), so each words it for itself; the library only names the kind.
struct Remedy {
  enum Kind : std::uint8_t {
    kNone,
    kRaiseMemoryLimit,  // raise max_bytes of the call that failed
    kSliceMask,
    kReadFromFile,  // read from a file instead of a pipe
    kWriteToFile,
    kNameOutput,  // name an output other than the terminal
    kOverwrite,
    kReplaceFile,       // replace_file: the whole file, where an array in it is named
    kReadAs,            // the argument names the kind of array, such as "segments"
    kReadZeroAsOpen,    // keep_value_is_zero
    kReadZeroAsClosed,  // without keep_value_is_zero, the default
    kSetClosedBelow,
    kSetPadIdToZero,
    kGiveShape,
    kGiveBlockSize,
    kGiveDocuments,
    kWriteAs,  // the argument names the kind of array
    kAssumeCausal,
    kUseSemantics,  // the argument names the library whose rules are meant
    kChooseArray,   // one of the arrays that the message lists
    kBuildWith,     // a build that has the option of the argument, such as "MASKCTL_SOLVE"
  };

  Kind kind = kNone;
  std::string_view argument = {};  // must live as long as the program, such as a literal
};

/// Bad input, or a failure of the system. The message is one line that starts in lower case and has
/// no full stop: what was found and what was expected. Each remedy is enough by itself. A negative
/// answer (two masks differ) is a value, never an Error.
class Error : public std::runtime_error {
 public:
  Error(Errc code, const std::string& message, std::vector<Remedy> remedies = {})
      : std::runtime_error(message), code_(code), remedies_(std::move(remedies)) {}

  Errc code() const { return code_; }
  std::span<const Remedy> remedies() const { return remedies_; }

  /// The same error with "SOURCE: " in front of its message.
  Error within(const std::string& source) const {
    return {code_, source + ": " + what(), remedies_};
  }

 private:
  Errc code_;
  std::vector<Remedy> remedies_;
};

}  // namespace maskctl
