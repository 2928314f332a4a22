#include "maskctl/io/streams/byte_sink.h"

#include <fmt/format.h>
#include <unistd.h>

#include <optional>

#include "maskctl/base/atomic_file.h"
#include "maskctl/base/error.h"

namespace maskctl {
struct ByteSink::Impl {
  std::optional<AtomicFile> file;  // not set for standard output
};

ByteSink::ByteSink(const std::string& dest, const WriteOptions& options, std::string_view kind)
    : impl_(std::make_unique<Impl>()) {
  if (dest != "-") impl_->file.emplace(dest, options.force);
  const bool terminal = impl_->file ? impl_->file->is_terminal() : ::isatty(STDOUT_FILENO) == 1;
  if (terminal && !kind.empty()) {
    throw Error(Errc::kIo, fmt::format("refusing to write {} to a terminal", kind),
                {{Remedy::kNameOutput}});
  }
}

ByteSink::~ByteSink() = default;

void ByteSink::write(std::span<const std::byte> bytes) {
  if (impl_->file) {
    impl_->file->write(bytes);
  } else {
    write_all(STDOUT_FILENO, bytes, "stdout");
  }
}

void ByteSink::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void ByteSink::commit() {
  if (impl_->file) impl_->file->commit();
}

}  // namespace maskctl
