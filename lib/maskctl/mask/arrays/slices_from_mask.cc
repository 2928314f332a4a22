// Divides a mask into slices that do not overlap.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "maskctl/base/error.h"
#include "maskctl/mask/arrays/slices.h"
#include "maskctl/mask/planes/words.h"

namespace maskctl {
namespace {

/// Runs of neighbouring rows that make one slice: begin and end stay, or rise by one from row to
/// row, which two rows settle.
struct Track {
  Index query = 0, rows = 1;
  Run first, last;
  bool begins_rise = false, ends_rise = false;

  /// Whether the run goes on as the track does; takes it if so.
  bool takes(const Run& run) {
    const int begin = run.begin - last.begin, end = run.end - last.end;
    if (begin < 0 || begin > 1 || end < 0 || end > 1) return false;
    if (rows > 1 && (begin != begins_rise || end != ends_rise)) return false;
    begins_rise = begin == 1, ends_rise = end == 1;
    last = run;
    ++rows;
    return true;
  }
};

class Tracks {
 public:
  explicit Tracks(Index max_bytes) : max_bytes_(max_bytes) {}

  /// Takes the rows `equal`, which all have these runs and follow the rows taken before.
  void take(Range equal, std::span<const Run> runs) {
    // After three rows of the same runs, all tracks have rows of one form.
    const Range singly{equal.begin, std::min(equal.begin + 3, equal.end)};
    for (Index q = singly.begin; q < singly.end; ++q) take_row(q, runs);
    for (Track& track : now_) track.rows += equal.end - singly.end;
  }
  std::vector<Track> finish() {
    done_.insert(done_.end(), now_.begin(), now_.end());
    std::ranges::sort(
        done_, {}, [](const Track& track) { return std::tuple(track.query, track.first.begin); });
    return std::move(done_);
  }

 private:
  /// Tracks and runs ascend and do not touch, so that a run can go on with one track only: the
  /// first that starts at its key or the one before.
  void take_row(Index query, std::span<const Run> runs) {
    next_.clear();
    auto track = now_.begin();
    for (const Run& run : runs) {
      for (; track != now_.end() && track->last.begin < run.begin - 1; ++track) close(*track);
      if (track != now_.end() && track->takes(run)) {
        next_.push_back(*track++);
      } else {
        next_.push_back({query, 1, run, run});
      }
    }
    for (; track != now_.end(); ++track) close(*track);
    now_.swap(next_);
  }
  void close(const Track& track) {
    done_.push_back(track);
    if (std::ssize(done_) <= max_bytes_ / static_cast<Index>(sizeof(Track))) return;
    throw Error(Errc::kLimit,
                fmt::format("the slices of this mask take more than {} bytes", max_bytes_),
                {{Remedy::kRaiseMemoryLimit}, {Remedy::kSliceMask}});
  }

  Index max_bytes_;
  std::vector<Track> now_, next_, done_;
};

}  // namespace

SliceArrays slices_from_mask(const Mask& mask, Index max_bytes) {
  const PlanePtr& plane = mask.plane(0, 0);
  Tracks tracks(max_bytes);
  std::vector<Run> scratch;
  plane->rows({0, plane->queries()},
              [&](Range equal, const Keys& keys) { tracks.take(equal, as_runs(keys, scratch)); });
  const std::vector<Track> slices = tracks.finish();
  const Index count = std::ssize(slices);
  SliceArrays out{Tensor(DType::kInt32, {count, 2}), Tensor(DType::kInt32, {count, 2}),
                  Tensor(DType::kInt32, {count})};
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const Track& track = slices[i];
    const auto q = out.q.as<std::int32_t>().subspan(2 * i),
               k = out.k.as<std::int32_t>().subspan(2 * i);
    q[0] = static_cast<std::int32_t>(track.query);
    q[1] = static_cast<std::int32_t>(track.query + track.rows);
    k[0] = track.first.begin;
    k[1] = track.last.end;
    out.types->as<std::int32_t>()[i] = (track.ends_rise ? 1 : 0) + (track.begins_rise ? 2 : 0);
  }
  return out;
}

}  // namespace maskctl
