#include "app/hdf5/lzf.h"

#include <cstdlib>
#include <cstring>

namespace maskctl::hdf5 {
namespace {

constexpr std::size_t kMaxRatio = 100;  // output bytes per input byte; LZF reaches at most 264 / 3

using Byte = unsigned char;

/// Decompresses LZF. A control byte c < 32 is followed by c + 1 literal bytes. Any other c copies
/// (c >> 5) + 2 bytes (plus the next byte if c >> 5 is 7) that were output ((c & 31) << 8 | next
/// byte) + 1 bytes ago. Returns the number of output bytes, or 0 if the input is corrupt or
/// `capacity` is too small; `*full` is true in the latter case.
std::size_t decompress(const Byte* in, std::size_t size, Byte* out, std::size_t capacity,
                       bool* full) {
  const Byte* const end = in + size;
  std::size_t made = 0;
  *full = false;
  while (in < end) {
    const std::size_t control = *in++;
    if (control < 32) {
      const std::size_t length = control + 1;
      if (static_cast<std::size_t>(end - in) < length) return 0;
      if (capacity - made < length) return *full = true, 0;
      std::memcpy(out + made, in, length);
      in += length;
      made += length;
      continue;
    }
    std::size_t length = control >> 5U;
    if (length == 7 && in < end) length += *in++;
    if (in == end) return 0;
    length += 2;
    const std::size_t distance = ((control & 31U) << 8U | *in++) + 1;
    if (distance > made) return 0;
    if (capacity - made < length) return *full = true, 0;
    for (std::size_t i = 0; i < length; ++i, ++made) out[made] = out[made - distance];
  }
  return made;
}

/// An HDF5 filter callback. If h5py wrote the file, values[2] is the size of a chunk; without it,
/// the output buffer grows until the chunk fits.
std::size_t lzf_filter(unsigned flags, std::size_t count, const unsigned* values, std::size_t bytes,
                       std::size_t* buffer_size, void** buffer) {
  if ((flags & H5Z_FLAG_REVERSE) == 0) return 0;
  std::size_t capacity = count >= 3 && values[2] > 0 ? values[2] : 4 * *buffer_size;
  const std::size_t limit = capacity + bytes * kMaxRatio;
  while (true) {
    auto* out = static_cast<Byte*>(std::malloc(capacity));
    if (out == nullptr) return 0;
    bool full = false;
    const std::size_t made =
        decompress(static_cast<const Byte*>(*buffer), bytes, out, capacity, &full);
    if (made > 0) {
      std::free(*buffer);
      *buffer = out;
      *buffer_size = capacity;
      return made;
    }
    std::free(out);
    if (!full || capacity >= limit) return 0;
    capacity *= 2;
  }
}

}  // namespace

void register_lzf() {
  const H5Z_class2_t lzf{H5Z_CLASS_T_VERS, kLzfId, 0, 1, "lzf", nullptr, nullptr, lzf_filter};
  H5Zregister(&lzf);
}

}  // namespace maskctl::hdf5
