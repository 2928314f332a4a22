// A scene is a mask with the steps that made it, and what is known about its planes.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "app/session/checked.h"
#include "app/session/documents.h"
#include "app/session/loader.h"
#include "app/session/session.h"
#include "app/session/tokens.h"
#include "app/tui/beside/errand.h"
#include "app/tui/beside/loading_mask.h"
#include "app/tui/beside/plane_counts.h"
#include "app/tui/beside/plane_table.h"
#include "app/tui/beside/weights.h"
#include "maskctl/inspect/why/why.h"
#include "maskctl/render/figure/ink_grid.h"

namespace maskctl::app::tui {

/// How two SOURCEs are drawn: on top of each other, side by side, only A, only B, cells only open
/// in A, cells only open in B.
enum class Sources : std::uint8_t { kBoth, kBeside, kA, kB, kOnlyA, kOnlyB };

/// A mask after some steps. Immutable, except that more becomes known about it.
class Scene {
 public:
  std::string name, other_name;  // names of the SOURCEs
  std::string pipeline;          // the steps that the user can edit, as join_steps() spells them
  Mask start;                    // the mask before all steps
  Chain chain;                   // all steps; for a generated SOURCE, its own step comes first
  Mask mask;                     // the mask after all steps
  CheckedMask checked;           // the mask before the user's steps, and what is known of it
  // True if the steps give one batch, which is repeated for each batch of the documents.
  bool one_for_all = false;
  std::optional<Mask> other;
  std::optional<Chain> other_whole;  // all steps that make it from an all-open mask, if known
  SegmentTensors ids;                // ids of the documents; empty if none fit the mask
  std::int32_t pad_id = -1;
  Index rank = 4;  // number of axes of the array that was read; see MaskWriteOptions
  Tokens tokens;   // labels for the axes; null for an axis that they do not fit
  std::shared_ptr<RowWeights> weights;
  /// Facts about all batches and heads; null if there are too many.
  std::shared_ptr<PlaneTable> planes;
  /// The rows read so far, only while the SOURCE is being read; `mask` has no open cells then.
  std::shared_ptr<const LoadingMask> loading;

  Scene() = default;
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  /// True if there are several batches and heads, so that they can be listed.
  bool lists() const { return planes && planes->size() > 1; }
  bool has_ids() const { return ids.q && ids.k; }
  /// Returns what is known so far about a batch and head. The reference is valid until learn() is
  /// called.
  const PlaneCounts& counts(Index batch, Index head, Sources sources) const;
  /// Counts everything about a batch and head. Thread-safe.
  PlaneCounts count(Index batch, Index head, Sources sources) const;
  /// Stores the result of count().
  void learn(Index batch, Index head, Sources sources, PlaneCounts counts) const;
  /// The number of full and partial tiles of `cells` x `cells` cells; null until learn() has stored
  /// it.
  const TileCounts* tiles(const PlanePtr& plane, Index cells) const;
  void learn(const PlanePtr& plane, Index cells, const TileCounts& counts) const;
  Why why(const Cell& cell) const;
  /// The number of heads with weights, and the weights of one query.
  Index weight_heads() const { return weights->heads(mask); }
  const WeightRow& weight_row(Index batch, Index query, Sources sources) const {
    return weights->row(sources == Sources::kB ? *other : mask, batch, query);
  }

 private:
  using Shown = std::tuple<Index, Index, Sources>;
  Panel both(Index batch, Index head) const;
  Panel panel(Index batch, Index head, Sources sources) const;

  mutable std::map<Shown, PlaneCounts> counts_;
  mutable std::deque<Shown> counted_;  // keys of complete entries of counts_, oldest first
  mutable std::map<std::pair<PlanePtr, Index>, TileCounts> tiles_;
};
using ScenePtr = std::shared_ptr<const Scene>;

/// The SOURCEs and options with which the inspector was started.
struct Subject {
  SourceOptions source, other_source;
  std::string name, other;    // SOURCEs; `other` may be empty
  DocumentOptions documents;  // documents other than those of the SOURCE
  std::string tokens;         // paths of files with one token label per line; empty: no labels
  WeightOptions weights;
};

/// A request for the mask after some steps, as the user writes them.
struct SceneAsked {
  std::string pipeline;
  /// Documents that replace the current ones from now on; absent: no change.
  std::optional<DocumentOptions> documents = {};
  friend bool operator==(const SceneAsked& a, const SceneAsked& b);
};

/// Reads a SOURCE once, and makes scenes from it. Both happen in the background.
class Workbench {
 public:
  /// Starts to read the SOURCEs. `ended` is called on another thread when they are read, and
  /// whenever a scene is made.
  Workbench(
      Subject subject, const Settings& settings, const std::function<void()>& ended = [] {});
  Workbench(const Workbench&) = delete;
  Workbench& operator=(const Workbench&) = delete;
  ~Workbench();

  /// True if the SOURCEs are read, or have failed, by `end`. Until then, only this function,
  /// loading(), fraction() and name() may be called.
  bool is_read_by(Time end) const { return work_.wait_until(end); }
  /// A scene with the rows of the SOURCE read so far; null before the first rows.
  ScenePtr loading() const;
  /// The fraction, 0 to 1, of the reading or making that is done.
  double fraction() const { return fraction_; }
  const std::string& name() const { return subject_.name; }

  /// The mask after the initial steps; waits until it is made. Throws what reading throws,
  /// Error(kInvalidArgument) for a mask without cells, and Error(kShape) if ids or a second mask do
  /// not fit.
  const ScenePtr& first();
  /// True if the SOURCE itself was read, so that an error of first() has another cause.
  bool has_source() const { return has_source_; }
  /// The mask after the steps of `pipeline`; waits until it is made. A few recent scenes are
  /// cached. Throws PipelineError, Error if a step does not fit or leaves no cells, and errors
  /// about new documents, which are then not used.
  ScenePtr scene(const std::string& pipeline) { return scene_by({pipeline}, Time::max()); }
  /// Like scene(), but returns null if the scene is not made by `end`; see Errand.
  ScenePtr scene_by(const SceneAsked& asked, Time end);
  void stop_making() { making_.stop(); }
  Index max_bytes() const { return session_.settings().max_bytes; }
  /// Returns and clears the last note from reading or writing; "" if there is none.
  std::string take_note() {
    const std::lock_guard lock(noting_);
    return std::exchange(note_, {});
  }

 private:
  struct Made {
    ScenePtr scene;
    std::optional<DocumentSource> documents;  // new documents, if the request has some
  };
  FrontEnd front_end();
  ScenePtr read();
  void read_start();
  std::optional<Documents> documents(const std::optional<DocumentSource>& asked,
                                     const Mask& mask) const;
  Made made(const SceneAsked& asked);
  void keep(const std::string& pipeline, ScenePtr scene);

  const Subject subject_;
  std::mutex noting_;
  std::string note_;
  Session session_;
  Loader loader_;
  Mask start_;
  Chain generated_;  // the steps of a generated SOURCE
  std::optional<Mask> other_;
  std::optional<Chain> other_whole_;
  LoadedMask loaded_;
  CheckedMask checked_;                      // before all steps but those of a generated SOURCE
  std::optional<DocumentSource> documents_;  // documents that the user gave
  Tokens tokens_;                            // tokens that the user gave
  std::shared_ptr<RowWeights> weights_;
  bool has_source_ = false;
  ScenePtr first_;
  std::list<std::pair<std::string, ScenePtr>> recent_;  // scenes, the most recent first
  std::atomic<double> fraction_ = 0;
  const std::shared_ptr<LoadingMask> loading_ = std::make_shared<LoadingMask>();
  Errand<SceneAsked, Made> making_;
  BackgroundTask<ScenePtr> work_;
};

}  // namespace maskctl::app::tui
