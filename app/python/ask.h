// Runs commands in-process for the Python module; this file does not depend on Python.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "app/cli/commands/attention/mutant_subjects.h"
#include "app/cli/commands/command.h"
#include "app/cli/commands/diff_captured.h"
#include "app/session/session.h"

namespace maskctl::app {

/// The words of a call: operands, and options with their values, such as {"--block", 64}.
struct Words {
  std::vector<std::string> operands;
  std::vector<std::pair<std::string, OptionValue>> options;  // the value of a flag is ""
};

/// All output of a command, from one run.
struct Reply {
  std::string text;
  std::function<Json()> json;  // makes what --json prints; empty where nothing is
  int status = 0;
  std::vector<std::string> notes;
  std::vector<NamedTensor> arrays;  // arrays written to the destination "-"
};

using GivenSources = std::map<std::string, Given>;

/// Called every 20 ms during work; returning true ends the work with Error(kCancelled).
using WantsStop = std::function<bool()>;

/// The command of this name. Throws Error(kInvalidArgument) that names a near one.
const Command& command_named(const std::string& name);

/// Runs a command. A SOURCE may be a name in `given` or a file. Throws what the command throws, and
/// Error(kInvalidArgument) for operands and options that it does not have.
Reply ask(const std::string& command, const Words& words, const GivenSources& given,
          const WantsStop& wants_stop);

/// The answer of check about the SOURCE that is the only operand.
Reply check_asked(const Words& words, const GivenSources& given, const WantsStop& wants_stop);

/// The answer of verify, and the masks that it found (VerifyAnswer), as far as they are known.
struct VerifyReply {
  Reply reply;
  std::optional<Mask> obeyed, nearest;
};
VerifyReply verify_asked(const Words& words, const GivenSources& given,
                         const WantsStop& wants_stop);

/// The answer of audit_flex: which of mask_mod, lists and output differs (declare_audit_flex).
Reply audit_flex_asked(const Words& words, const GivenSources& given, const WantsStop& wants_stop);

/// A captured run, or the file of one.
using GivenRun = std::variant<NamedRun, std::string>;
/// The answer of diff about two captured runs.
Reply diff_runs_asked(const GivenRun& a, const GivenRun& b, const WantsStop& wants_stop);
/// The layers of a captured run, each with its masks in_sequence().
std::vector<CapturedLayer> joined_layers(const GivenRun& run, const WantsStop& wants_stop);
/// Writes the file of a captured run.
void save_run(const std::string& dest, const NamedRun& run, bool force,
              const WantsStop& wants_stop);

/// Runs `work`, which takes time for `elements` cells or elements; `wants_stop` can end it. Short
/// work runs on the calling thread without asking `wants_stop`, because that is faster.
void do_stoppable(Index elements, const WantsStop& wants_stop, const std::function<void()>& work);
template <typename Work>
auto stoppable(Index elements, const WantsStop& wants_stop, const Work& work) {
  std::optional<decltype(work())> out;
  do_stoppable(elements, wants_stop, [&] { out.emplace(work()); });
  return *std::move(out);
}

/// Reads a SOURCE as a mask. `words` are options for reading (--as ...).
LoadedMask read_source(const std::string& source, const Words& words, const GivenSources& given,
                       const WantsStop& wants_stop);
/// Reads a mask from arrays in memory, without copying them first.
LoadedMask read_arrays(const std::string& name, std::span<const NamedView> arrays,
                       const Words& words, const WantsStop& wants_stop);

struct Transformed {
  Mask mask;
  GivenSources read;  // what steps read from files, by the names that they have there
};

/// Reads a SOURCE as a mask and applies the steps of --transform.
Transformed transformed(const std::string& source, const Words& words, const GivenSources& given,
                        const WantsStop& wants_stop);
/// int64 [rows, columns]: the open cells of a batch and head, in blocks of `step` cells from cell
/// (0, 0) on. Throws like grid_shape().
Tensor open_by_block(const Mask& mask, Index batch, Index head, BlockSize step,
                     const WantsStop& wants_stop);
/// Reads the array of a file, as it is.
Tensor read_array_of(const std::string& source, const WantsStop& wants_stop);

/// The mutants of a mask; `words` are options of the command mutants.
Subject mutants_asked(const std::string& source, const Words& words, const GivenSources& given,
                      const WantsStop& wants_stop);

/// The text of a Python exception for an error of the library: its message and remedies, with
/// options written as keywords. For a mistake in a pipeline, further lines show where it is.
std::string line_of(const std::exception& error);

}  // namespace maskctl::app
