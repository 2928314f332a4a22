// Reads pipeline texts from arguments and files.
#include "maskctl/pipeline/load.h"

#include <iterator>

#include "maskctl/base/error.h"
#include "maskctl/base/text_file.h"

namespace maskctl {

std::string pipeline_text(const std::string& arg) {
  if (!arg.starts_with('@')) return arg;
  if (arg.size() == 1) {
    throw Error(Errc::kInvalidArgument, "'@' without a file name; write @FILE");
  }
  return read_text_file(arg.substr(1), kMaxPipelineBytes, "the pipeline");
}

bool is_blank(std::string_view arg) { return arg.find_first_not_of(" \t\r\n") == arg.npos; }

Chain load_chain(std::span<const std::string> args, const BindContext& context) {
  Chain chain;
  for (const std::string& arg : args) {
    if (is_blank(arg)) continue;
    Chain part = bind(parse(pipeline_text(arg)), context);
    chain.insert(chain.end(), std::make_move_iterator(part.begin()),
                 std::make_move_iterator(part.end()));
  }
  return chain;
}

}  // namespace maskctl
