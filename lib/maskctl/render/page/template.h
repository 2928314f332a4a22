// The text of the page without its data, put together by lib/page_template.cmake.
#pragma once

#include <string_view>

namespace maskctl {

/// HTML with the marks %%title%%, %%data%% and %%runs%%.
std::string_view page_template();

}  // namespace maskctl
