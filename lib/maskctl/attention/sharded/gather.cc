#include "maskctl/attention/sharded/gather.h"

#include <algorithm>
#include <cstring>

#include "maskctl/attention/arrays/slices.h"

namespace maskctl::attention {
namespace {

using Bytes = std::vector<std::byte>;

/// What every rank gives, at rank 0.
std::vector<Bytes> gathered_bytes(Communicator& world, const Bytes& own) {
  const Index size = std::ssize(own);
  if (world.rank() != 0) {
    world.send(0, std::as_bytes(std::span(&size, 1)));
    if (size > 0) world.send(0, own);
    world.finish();
    return {};
  }
  std::vector<Index> sizes(as_size(world.size()));
  std::vector<Bytes> all(sizes.size());
  all[0] = own;
  for (std::size_t r = 1; r < all.size(); ++r) {
    world.receive(static_cast<Index>(r), std::as_writable_bytes(std::span(&sizes[r], 1)));
  }
  world.finish();
  for (std::size_t r = 1; r < all.size(); ++r) {
    all[r].resize(as_size(sizes[r]));
    if (sizes[r] > 0) world.receive(static_cast<Index>(r), all[r]);
  }
  world.finish();
  return all;
}

Bytes bytes_of(const ArrayPlace& place) {
  std::vector<Index> numbers;
  for (const std::vector<Range>& ranges : place) {
    numbers.push_back(std::ssize(ranges));
    for (const Range& range : ranges) numbers.insert(numbers.end(), {range.begin, range.end});
  }
  const auto bytes = std::as_bytes(std::span(numbers));
  return {bytes.begin(), bytes.end()};
}

ArrayPlace place_from(const Bytes& bytes) {
  std::vector<Index> numbers(bytes.size() / sizeof(Index));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  ArrayPlace place;
  for (std::size_t at = 0; at < numbers.size();) {
    std::vector<Range>& ranges = place.emplace_back(as_size(numbers[at++]));
    for (Range& range : ranges) range.begin = numbers[at++], range.end = numbers[at++];
  }
  return place;
}

}  // namespace

NamedResults assembled(Communicator& world, const PlacedResults& results) {
  NamedResults whole;
  for (const auto& [name, own] : results) {
    const std::vector<Bytes> places = gathered_bytes(world, bytes_of(own.place));
    const auto part = own.part.bytes();
    const std::vector<Bytes> parts =
        gathered_bytes(world, own.is_first ? Bytes(part.begin(), part.end()) : Bytes());
    if (world.rank() != 0) continue;
    Tensor& target = whole.emplace(name, Tensor(own.part.dtype(), own.shape)).first->second;
    for (std::size_t r = 0; r < parts.size(); ++r) {
      if (parts[r].empty()) continue;
      const ArrayPlace place = place_from(places[r]);
      Tensor array = Tensor::unwritten(own.part.dtype(), shape_of(place));
      std::ranges::copy(parts[r], array.bytes().begin());
      put(array, place, target);
    }
  }
  return whole;
}

void meet(Communicator& world) {
  gathered_texts(world, "");
  std::byte signal{};
  if (world.rank() == 0) {
    for (Index rank = 1; rank < world.size(); ++rank) world.send(rank, {&signal, 1});
  } else {
    world.receive(0, {&signal, 1});
  }
  world.finish();
}

std::vector<std::string> gathered_texts(Communicator& world, const std::string& own) {
  const auto bytes = std::as_bytes(std::span(own));
  std::vector<std::string> texts;
  for (const Bytes& text : gathered_bytes(world, {bytes.begin(), bytes.end()})) {
    texts.emplace_back(reinterpret_cast<const char*>(text.data()), text.size());
  }
  return texts;
}

}  // namespace maskctl::attention
