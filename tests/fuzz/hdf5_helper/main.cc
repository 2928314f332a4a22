// Stands in for the helper program maskctl-hdf5: whatever it is asked, it prints the content of the
// given file up to the first zero byte, and the bytes after that to standard error. The last byte
// of the file is the exit status.
#include <fcntl.h>
#include <unistd.h>

#include <cstring>

namespace {

void say(int fd, const char* text, std::size_t size) {
  while (size > 0) {
    const ssize_t written = write(fd, text, size);
    if (written <= 0) return;
    text += written;
    size -= static_cast<std::size_t>(written);
  }
}

}  // namespace

int main(int argc, char** argv) {
  static char bytes[1 << 17];
  std::size_t size = 0;
  for (int i = 1; i < argc && size == 0; ++i) {
    if (std::strncmp(argv[i], "/proc/", 6) != 0) continue;
    const int fd = open(argv[i], O_RDONLY);
    ssize_t got = 0;
    while ((got = read(fd, bytes + size, sizeof bytes - size)) > 0) {
      size += static_cast<std::size_t>(got);
    }
  }
  if (size == 0) return 1;
  const int status = bytes[--size] & 3;
  const char* zero = static_cast<const char*>(std::memchr(bytes, 0, size));
  const std::size_t reply = zero == nullptr ? size : static_cast<std::size_t>(zero - bytes);
  say(1, bytes, reply);
  if (zero != nullptr) say(2, zero + 1, size - reply - 1);
  if (status == 3) __builtin_trap();
  return status;
}
