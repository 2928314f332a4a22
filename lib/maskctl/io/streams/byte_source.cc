// The kinds of ByteSource: files, standard input, memory and streams.
#include "maskctl/io/streams/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "maskctl/base/wait.h"
#include "maskctl/base/work_scope.h"

namespace maskctl {
namespace {

[[noreturn]] void fail(const std::string& name, int code) {
  throw Error(Errc::kIo,
              fmt::format("cannot read {}: {}", name, std::generic_category().message(code)));
}

/// A file descriptor that the destructor closes, unless it is standard input.
class Descriptor {
 public:
  Descriptor() = default;
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ > STDIN_FILENO) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

constexpr std::size_t kMaxRead = std::size_t{8} << 20;  // bytes between two stop checks

/// A pipe or device, which is read in order.
class DescriptorStream : public ByteStream {
 public:
  DescriptorStream(Descriptor fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}

  Index read(std::span<std::byte> out) override {
    for (;;) {
      wait_ready(fd_.get(), POLLIN);
      const ssize_t got = ::read(fd_.get(), out.data(), std::min(out.size(), kMaxRead));
      if (got >= 0) return got;
      if (errno != EINTR) fail(name_, errno);
    }
  }

 private:
  Descriptor fd_;
  std::string name_;
};

}  // namespace

/// One of file, memory and stream is in use; files and memory are seekable.
struct ByteSource::Impl {
  std::string name;
  std::optional<Index> size;
  bool seekable = false;

  Descriptor file;
  Index file_start = 0;  // offset in the file where the source starts
  std::span<const std::byte> memory;
  std::unique_ptr<ByteStream> stream;

  Index position = 0;
  std::vector<std::byte> head;  // bytes that peek() has read from the stream
  std::size_t head_used = 0;

  /// Reads a large part by several threads: the first touch of its memory takes longest.
  Index file_read_at(Index offset, std::span<std::byte> out) const {
    constexpr auto kStep = static_cast<Index>(kMaxRead);
    const Index all = std::ssize(out), parts = ceil_div(all, kStep);
    if (parts < 2) return part_read_at(offset, out);
    std::vector<Index> got(as_size(parts));
    parallel_for(parts, [&](Index part) {
      const Index begin = part * kStep, count = std::min(kStep, all - begin);
      got[as_size(part)] =
          part_read_at(offset + begin, out.subspan(as_size(begin), as_size(count)));
    });
    Index done = 0;
    for (Index part = 0; part < parts && done == part * kStep; ++part) done += got[as_size(part)];
    return done;
  }

  Index part_read_at(Index offset, std::span<std::byte> out) const {
    std::size_t done = 0;
    while (done < out.size()) {
      throw_if_stopped();
      const std::span rest = out.subspan(done);
      const ssize_t got = ::pread(file.get(), rest.data(), rest.size(),
                                  file_start + offset + static_cast<Index>(done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail(name, errno);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return static_cast<Index>(done);
  }

  Index memory_read_at(Index offset, std::span<std::byte> out) const {
    const auto total = static_cast<Index>(memory.size());
    const Index count = std::clamp<Index>(total - offset, 0, static_cast<Index>(out.size()));
    if (count > 0) std::memcpy(out.data(), memory.data() + offset, as_size(count));
    return count;
  }

  Index read_at(Index offset, std::span<std::byte> out) const {
    return file.get() >= 0 ? file_read_at(offset, out) : memory_read_at(offset, out);
  }

  Index stream_read(std::span<std::byte> out) const {
    std::size_t done = 0;
    const StopPoll poll;
    while (done < out.size()) {
      poll();
      const Index got = stream->read(out.subspan(done));
      if (got == 0) break;
      done += as_size(got);
    }
    return static_cast<Index>(done);
  }

  /// Copies bytes that peek() has read but nobody has consumed.
  std::size_t take_head(std::span<std::byte> out) {
    const std::size_t count = std::min(out.size(), head.size() - head_used);
    std::copy_n(head.begin() + static_cast<std::ptrdiff_t>(head_used), count, out.begin());
    head_used += count;
    return count;
  }
};

ByteSource::ByteSource(const std::string& path) : impl_(std::make_unique<Impl>()) {
  const bool standard_input = path == "-";
  impl_->name = standard_input ? "stdin" : path;
  Descriptor fd(standard_input ? STDIN_FILENO
                               : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (fd.get() < 0) fail(impl_->name, errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) fail(impl_->name, errno);
  if (S_ISDIR(info.st_mode)) fail(impl_->name, EISDIR);
  if (!S_ISREG(info.st_mode)) {
    impl_->stream = std::make_unique<DescriptorStream>(std::move(fd), impl_->name);
    return;
  }
  if (standard_input) impl_->file_start = std::max<Index>(0, ::lseek(fd.get(), 0, SEEK_CUR));
  impl_->size = std::max<Index>(0, info.st_size - impl_->file_start);
  impl_->seekable = true;
  impl_->file = std::move(fd);
}

ByteSource::ByteSource(std::string name, std::unique_ptr<ByteStream> stream,
                       std::optional<Index> size)
    : impl_(std::make_unique<Impl>()) {
  impl_->name = std::move(name);
  impl_->stream = std::move(stream);
  impl_->size = size;
}

ByteSource::ByteSource(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ByteSource ByteSource::from_memory(std::string name, std::span<const std::byte> bytes) {
  auto impl = std::make_unique<Impl>();
  impl->name = std::move(name);
  impl->memory = bytes;
  impl->size = static_cast<Index>(bytes.size());
  impl->seekable = true;
  return ByteSource(std::move(impl));
}

ByteSource::ByteSource(ByteSource&&) noexcept = default;
ByteSource& ByteSource::operator=(ByteSource&&) noexcept = default;
ByteSource::~ByteSource() = default;

const std::string& ByteSource::name() const { return impl_->name; }
std::optional<Index> ByteSource::size() const { return impl_->size; }
bool ByteSource::seekable() const { return impl_->seekable; }
Index ByteSource::position() const { return impl_->position; }

Index ByteSource::read_at(Index offset, std::span<std::byte> out) const {
  if (!impl_->seekable) {
    throw Error(Errc::kUnsupported, impl_->name + ": cannot be read out of order (not a file)");
  }
  return impl_->read_at(offset, out);
}

Index ByteSource::read(std::span<std::byte> out) {
  Index count = 0;
  if (impl_->seekable) {
    count = impl_->read_at(impl_->position, out);
  } else {
    const std::size_t from_head = impl_->take_head(out);
    count = static_cast<Index>(from_head) + impl_->stream_read(out.subspan(from_head));
  }
  impl_->position += count;
  return count;
}

Index ByteSource::skip(Index count) {
  if (impl_->seekable) {
    const Index passed = std::clamp<Index>(*impl_->size - impl_->position, 0, count);
    impl_->position += passed;
    return passed;
  }
  constexpr Index kStep = Index{64} << 10;
  std::vector<std::byte> dropped(as_size(std::min(count, kStep)));
  Index passed = 0;
  while (passed < count) {
    const Index got = read(std::span(dropped).first(as_size(std::min(count - passed, kStep))));
    passed += got;
    if (got == 0) break;
  }
  return passed;
}

std::span<const std::byte> ByteSource::peek(Index count) {
  std::vector<std::byte>& head = impl_->head;
  if (impl_->seekable) {
    head.resize(as_size(count));
    head.resize(as_size(impl_->read_at(impl_->position, head)));
    return head;
  }
  head.erase(head.begin(), head.begin() + static_cast<std::ptrdiff_t>(impl_->head_used));
  impl_->head_used = 0;
  const std::size_t held = head.size();
  if (held < as_size(count)) {
    head.resize(as_size(count));
    const Index got = impl_->stream_read(std::span(head).subspan(held));
    head.resize(held + as_size(got));
  }
  return std::span(head).first(std::min(head.size(), as_size(count)));
}

}  // namespace maskctl
