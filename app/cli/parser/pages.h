// Manual pages and the reference page of the documentation, made from the rows of the commands.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace maskctl::app {

/// The pages, as files are named: "maskctl.1", "maskctl-show.1", ..., "maskctl-pipeline.7".
std::vector<std::string> man_pages();
/// In roff, the page of a command, of "pipeline" or, without a name, of the program. Throws
/// Error(kInvalidArgument) for any other name.
std::string man_page(std::string_view name);

/// docs/options.md.
std::string options_markdown();

}  // namespace maskctl::app
