// Makes the manual pages and the page of all options from the declarations of the commands.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace maskctl::app {

/// The file names of all manual pages: "maskctl.1", "maskctl-show.1", ..., "maskctl-pipeline.7".
std::vector<std::string> man_pages();
/// A manual page in roff: `name` is a command, "pipeline", or "" for the program. Throws
/// Error(kInvalidArgument) for any other name.
std::string man_page(std::string_view name);

/// The options of every command as a page of Markdown, which is installed beside the manual pages.
std::string options_markdown();

}  // namespace maskctl::app
