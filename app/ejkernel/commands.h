// What commands do with ejkernel, one function for each.
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
#include "maskctl/attention/operation.h"
#include "maskctl/inspect/why/why.h"
#include "maskctl/pipeline/picture.h"

namespace maskctl::app::ejkernel {

// Commands with --semantics ejkernel: a SOURCE as a MaskInfo, its steps as calls of methods.
/// What `apply` writes.
void apply(Loader& loader, const std::string& source, const OutputOptions& output,
           Session& session);
/// The mask after the steps, and what decides a cell of it.
struct Explained {
  Mask mask;
  std::function<Why(const Cell& cell)> why;
};
Explained explained(Loader& loader, const std::string& source);
InfoReport info(Loader& loader, const std::string& source, const MeshOptions& mesh,
                Session& session);
/// The array that `info --print` asks for; null for None.
std::shared_ptr<const Tensor> printed(Loader& loader, const std::string& source,
                                      const PrintOptions& print);
/// The mask and the ids that `show` draws in our way.
LoadedMask drawn(Loader& loader, const std::string& source);

/// What `show --style ejkernel` is to draw.
struct VisualizeRequest {
  std::optional<BlockSize> block;
  Index batch = 0, head = 0;
  std::optional<Index> max_rows, max_columns;
  bool fit = true, ascii = false, segments = true;
};
std::string visualized(Loader& loader, const std::string& source, const VisualizeRequest& request);
/// ejkernel's drawing of a Mask; `panel` is its batch and head.
std::string visualized(const Mask& mask, const Panel& panel, const VisualizeRequest& request);

// Attention.
/// The other name of an argument, for lists: "; ejkernel's inputs"; empty where it has none.
std::string alias_text(const attention::Field& field);
/// The backend that platform=NAME asks for.
attention::Backend backend_of_platform(std::string_view name);
/// Runs calls with configs. Null when neither an option nor EJKERNEL_AUTOTUNE_POLICY asks for
/// configs; operations then run at once. Throws Error(kInvalidArgument) naming the variable.
std::unique_ptr<attention::CallRunner> configured_runner(const ConfigChoice& choice,
                                                         const Session& session);
/// One line on stderr for each call that such a runner has kept.
void print_recorded(const attention::CallRunner& runner);
/// The lines of `backends` about an operation.
std::vector<BackendLine> backend_lines(std::string_view operation);

/// The whole answer of `blockmap`.
Answer blockmap(const BlockmapOptions& options, Session& session);

}  // namespace maskctl::app::ejkernel
