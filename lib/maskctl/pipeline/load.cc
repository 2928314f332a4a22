// Pipeline texts from arguments and files.
#include "maskctl/pipeline/load.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>

namespace maskctl {
namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

/// Reads at most one byte more than allowed, so that even an endless file ends here.
std::string read_text(const std::string& path) {
  const auto refuse = [&](int code) {
    throw Error(Errc::kIo,
                fmt::format("{}: cannot read the pipeline: {}", shown(path), std::strerror(code)));
  };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rbe"));
  if (!file) refuse(errno);
  std::string text(static_cast<std::size_t>(kMaxPipelineBytes) + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get())) refuse(errno);
  if (std::ssize(text) > kMaxPipelineBytes) {
    throw Error(Errc::kLimit, fmt::format("{}: a pipeline of more than {} bytes", shown(path),
                                          kMaxPipelineBytes));
  }
  return text;
}

}  // namespace

std::string pipeline_text(const std::string& arg) {
  if (!arg.starts_with('@')) return arg;
  if (arg.size() == 1) {
    throw Error(Errc::kInvalidArgument, "'@' without a file name; write @FILE");
  }
  std::string text = read_text(arg.substr(1));
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  return text;
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
