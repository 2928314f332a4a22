// The parts of commands that need ejkernel, one function for each; app/ejkernel/ has them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/commands/attention/config_choice.h"
#include "app/cli/commands/blockmap_options.h"
#include "app/cli/commands/command.h"
#include "app/cli/commands/info_options.h"
#include "app/reports/attention_json.h"
#include "app/reports/report.h"
#include "app/session/loader.h"
#include "maskctl/attention/calls/operation.h"
#include "maskctl/inspect/why/why.h"
#include "maskctl/pipeline/picture.h"

namespace maskctl::app::ejkernel {

// Commands with --semantics ejkernel: the SOURCE is read as a MaskInfo, and its methods are called
// for the steps.
/// Applies the steps and writes the result of `apply`.
void apply(Loader& loader, const std::string& source, const OutputOptions& output,
           Session& session);
/// The mask after the steps, and a function that says which step decides a cell.
struct Explained {
  Mask mask;
  std::function<Why(const Cell& cell)> why;
};
Explained explained(Loader& loader, const std::string& source);
InfoReport info(Loader& loader, const std::string& source, const MeshOptions& mesh,
                Session& session);
/// The array that `info --print` asks for; a null pointer stands for Python's None.
std::shared_ptr<const Tensor> printed(Loader& loader, const std::string& source,
                                      const PrintOptions& print);
/// The mask and segment ids after the steps, for `show` to draw in its usual style.
LoadedMask drawn(Loader& loader, const std::string& source);

/// Options of `show --style ejkernel`.
struct VisualizeRequest {
  std::optional<BlockSize> block;
  Index batch = 0, head = 0;
  std::optional<Index> max_rows, max_columns;
  bool fit = true, ascii = false, segments = true;
};
std::string visualized(Loader& loader, const std::string& source, const VisualizeRequest& request);
/// Draws the mask as ejkernel does; `panel` says which batch and head.
std::string visualized(const Mask& mask, const Panel& panel, const VisualizeRequest& request);

// Commands that run attention.
/// Returns the text that lists of arguments append for ejkernel's own name of an argument, such as
/// "; ejkernel's inputs". Empty if the argument has no such name.
std::string alias_text(const attention::Field& field);
/// The backend for platform=NAME, ejkernel's way to choose one.
attention::Backend backend_of_platform(std::string_view name);
/// Returns an object that runs calls with chosen kernel configs. Null if neither an option nor
/// EJKERNEL_AUTOTUNE_POLICY asks for configs; the operation is then called directly. Throws
/// Error(kInvalidArgument) if an environment variable has an unknown value.
std::unique_ptr<attention::CallRunner> configured_runner(const ConfigChoice& choice,
                                                         const Session& session);
/// Prints a line on stderr for each call that the runner has recorded.
void print_recorded(const attention::CallRunner& runner);
/// Returns the rows that the command `backends` prints for one operation.
std::vector<BackendLine> backend_lines(std::string_view operation);

/// Runs the command `blockmap`.
Answer blockmap(const BlockmapOptions& options, Session& session);

}  // namespace maskctl::app::ejkernel
