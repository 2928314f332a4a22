#include "maskctl/attention/sharded/gather.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "maskctl/attention/arrays/slices.h"

namespace maskctl::attention {
namespace {

using Bytes = std::vector<std::byte>;

/// The bytes of all ranks, on rank 0; empty on other ranks.
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

/// Where the part of a rank is in the whole; nullopt if a rank with a lower number has the same
/// part.
using Share = std::optional<ArrayPlace>;

Bytes bytes_of(const PlacedArray& result) {
  std::vector<Index> numbers{result.is_first ? 1 : 0};
  for (const std::vector<Range>& ranges : result.place) {
    numbers.push_back(std::ssize(ranges));
    for (const Range& range : ranges) numbers.insert(numbers.end(), {range.begin, range.end});
  }
  const auto bytes = std::as_bytes(std::span(numbers));
  return {bytes.begin(), bytes.end()};
}

Share share_from(const Bytes& bytes) {
  std::vector<Index> numbers(bytes.size() / sizeof(Index));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  if (numbers[0] == 0) return std::nullopt;
  ArrayPlace place;
  for (std::size_t at = 1; at < numbers.size();) {
    std::vector<Range>& ranges = place.emplace_back(as_size(numbers[at++]));
    for (Range& range : ranges) range.begin = numbers[at++], range.end = numbers[at++];
  }
  return place;
}

constexpr Index kBandBytes = Index{16} << 20;

/// A contiguous piece of an array, as a range per axis: single positions on the first axes, then
/// one range, then whole axes.
using Band = std::vector<Range>;

/// Calls f(band) for each band of an array, in memory order.
template <class F>
void for_each_band(const Tensor& like, const std::vector<Index>& shape, F&& f) {
  const Index most = kBandBytes / size_bytes(like.dtype());
  Index row = 1;  // elements for one position on the axis that bands divide
  Band band;
  for (const Index extent : shape) {
    if (extent == 0) return;
    band.push_back({0, extent});
  }
  std::size_t axis = shape.size();
  while (axis > 0 && row * shape[axis - 1] <= most) row *= shape[--axis];
  if (axis == 0) return f(band);  // the whole array fits into one band
  --axis;
  for (std::size_t i = 0; i < axis; ++i) band[i] = {0, 1};
  const Index step = most / row;
  for (bool more = true; more;) {
    for (Index first = 0; first < shape[axis]; first += step) {
      band[axis] = {first, std::min(first + step, shape[axis])};
      f(band);
    }
    more = false;
    for (std::size_t i = axis; i-- > 0 && !more;) {
      more = band[i].end < shape[i];
      band[i] = more ? Range{band[i].begin + 1, band[i].end + 1} : Range{0, 1};
    }
  }
}

/// The intersection of a part and a band, as positions in each of them.
struct Overlap {
  ArrayPlace in_part, in_band;

  Overlap(const ArrayPlace& part, const Band& band) {
    for (std::size_t axis = 0; axis < band.size(); ++axis) {
      auto& of_part = in_part.emplace_back();
      auto& of_band = in_band.emplace_back();
      Index before = 0;  // positions in the part's ranges before this one
      for (const Range& range : part[axis]) {
        const Range both = intersect(range, band[axis]);
        if (!both.empty()) {
          const Index first = before + both.begin - range.begin;
          of_part.push_back({first, first + both.size()});
          of_band.push_back({both.begin - band[axis].begin, both.end - band[axis].begin});
        }
        before += range.size();
      }
    }
  }
};

/// Sends this rank's elements of each band (a contiguous piece of an array) to rank 0.
void send_bands(Communicator& world, const PlacedArray& own) {
  if (!own.is_first) return;
  for_each_band(own.part, own.shape, [&](const Band& band) {
    const Tensor part = take(own.part, Overlap(own.place, band).in_part);
    if (!part.bytes().empty()) world.send(0, part.bytes());
    world.finish();
  });
}

/// On rank 0, assembles each band (a contiguous piece of an array) from the parts of the ranks, and
/// passes it to f.
void receive_bands(Communicator& world, const PlacedArray& own, const std::vector<Share>& shares,
                   const std::function<void(const Tensor& band)>& f) {
  for_each_band(own.part, own.shape, [&](const Band& band) {
    std::vector<std::pair<ArrayPlace, Tensor>> parts;
    for (std::size_t r = 0; r < shares.size(); ++r) {
      if (!shares[r]) continue;
      Overlap both(*shares[r], band);
      Tensor part = r == 0 ? take(own.part, both.in_part)
                           : Tensor::unwritten(own.part.dtype(), shape_of(both.in_part));
      parts.emplace_back(std::move(both.in_band), std::move(part));
      const auto bytes = parts.back().second.bytes();
      if (r > 0 && !bytes.empty()) world.receive(static_cast<Index>(r), bytes);
    }
    world.finish();
    Tensor whole(own.part.dtype(), shape_of(place_of(band)));
    for (const auto& [place, part] : parts) put(part, place, whole);
    f(whole);
  });
}

/// Rank 0 asks the other ranks for a result by sending the number of that result, or sends kGoOn
/// when it needs no more results.
constexpr Index kGoOn = -1;

void ask(Communicator& world, Index number) {
  for (Index rank = 1; rank < world.size(); ++rank) {
    world.send(rank, std::as_bytes(std::span(&number, 1)));
  }
  world.finish();
}

Index asked(Communicator& world) {
  Index number = 0;
  world.receive(0, std::as_writable_bytes(std::span(&number, 1)));
  world.finish();
  return number;
}

}  // namespace

void at_rank_0(Communicator& world, const PlacedResults& results,
               const std::function<void(const GiveBands& give)>& f) {
  std::map<std::string, std::vector<Share>> shares;
  for (const auto& [name, own] : results) {
    for (const Bytes& bytes : gathered_bytes(world, bytes_of(own))) {
      shares[name].push_back(share_from(bytes));
    }
  }
  if (world.rank() != 0) {
    for (Index number; (number = asked(world)) != kGoOn;) {
      send_bands(world, std::next(results.begin(), number)->second);
    }
    return;
  }
  f([&](const std::string& name, const std::function<void(const Tensor&)>& take) {
    const auto result = results.find(name);
    ask(world, std::distance(results.begin(), result));
    receive_bands(world, result->second, shares.at(name), take);
  });
  ask(world, kGoOn);
}

NamedResults assembled(Communicator& world, const PlacedResults& results) {
  NamedResults whole;
  at_rank_0(world, results, [&](const GiveBands& give) {
    for (const auto& [name, own] : results) {
      Tensor& target = whole[name] = Tensor::unwritten(own.part.dtype(), own.shape);
      auto next = target.bytes().begin();
      give(name, [&](const Tensor& band) { next = std::ranges::copy(band.bytes(), next).out; });
    }
  });
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
