#include "maskctl/io/array_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/io/array_io.h"
#include "maskctl/io/formats/container.h"

namespace maskctl {
namespace {

constexpr Index kSkipped = Index{1} << 20;  // elements read at a time to skip them

/// Reads elements in ascending order. If the reader cannot seek, it reads and discards those in
/// between.
class Forward {
 public:
  explicit Forward(NpyReader& reader) : reader_(reader) {}
  void read(Index first, std::span<std::byte> out) {
    const Index size = size_bytes(reader_.header().dtype);
    while (!reader_.seekable() && next_ < first) {
      skipped_.resize(as_size(std::min(kSkipped, first - next_) * size));
      reader_.read_rows(next_, skipped_);
      next_ += std::ssize(skipped_) / size;
    }
    reader_.read_rows(first, out);
    next_ = first + std::ssize(out) / size;
  }

 private:
  NpyReader& reader_;
  Index next_ = 0;
  std::vector<std::byte> skipped_;
};

}  // namespace

struct ArraySource::Impl {
  ReadOptions options;
  std::unique_ptr<Container> container;  // owns what `array` reads from
  OpenArray array;

  bool read_whole() const { return array.tensor || array.fortran_order; }
};

ArraySource::ArraySource(const std::string& source, const ReadOptions& options,
                         std::vector<std::string>* notes)
    : impl_(std::make_unique<Impl>()) {
  const SourceName name = parse_source_name(source);
  std::vector<std::string> unread;
  impl_->options = options;
  impl_->container = open_container(name.path, options);
  impl_->array =
      impl_->container->open(name.member.empty() ? impl_->container->only_key() : name.member,
                             options, notes ? *notes : unread);
}
ArraySource::~ArraySource() = default;
ArraySource::ArraySource(ArraySource&&) noexcept = default;
ArraySource& ArraySource::operator=(ArraySource&&) noexcept = default;

DType ArraySource::dtype() const { return impl_->array.dtype; }
const std::vector<Index>& ArraySource::shape() const { return impl_->array.shape; }

std::optional<Range> ArraySource::bytes_of(std::span<const Index> index) const {
  const OpenArray& array = impl_->array;
  const auto begin = array.reader ? array.reader->data_begin() : std::nullopt;
  if (!begin) return std::nullopt;
  Index element = 0;
  for (std::size_t i = 0; i < index.size(); ++i) {
    const std::size_t axis = array.fortran_order ? index.size() - 1 - i : i;
    element = element * array.shape[axis] + index[axis];
  }
  const Index size = size_bytes(array.dtype);
  return Range{*begin + element * size, *begin + (element + 1) * size};
}

Tensor ArraySource::read(const ArrayPlace& place) {
  OpenArray& array = impl_->array;
  const std::vector<Index> extents = shape_of(place);
  const auto elements = checked_product(extents);
  const Index size = size_bytes(array.dtype);
  if (!elements || *elements > impl_->options.max_bytes / size) {
    throw Error(Errc::kLimit,
                fmt::format("{}: the part {} exceeds the limit of {} bytes", array.name,
                            shape_text(extents), impl_->options.max_bytes),
                {{Remedy::kRaiseMemoryLimit}});
  }
  Tensor part = Tensor::unwritten(array.dtype, extents);
  std::vector<std::string> notes;
  const Tensor* const whole = impl_->read_whole() ? &array.load(impl_->options, notes) : nullptr;
  std::optional<Forward> forward;
  if (!whole) forward.emplace(*array.reader);
  for_each_stretch(array.shape, place, [&](Index from, Index to, Index n) {
    const auto out = part.bytes().subspan(as_size(to * size), as_size(n * size));
    if (forward) return forward->read(from, out);
    std::ranges::copy(whole->bytes().subspan(as_size(from * size), out.size()), out.begin());
  });
  return part;
}

}  // namespace maskctl
