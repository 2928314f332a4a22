// What is looked at: a mask with the steps that made it, and what is known about its planes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "app/session/loader.h"
#include "app/session/session.h"
#include "maskctl/inspect/why/why.h"
#include "maskctl/render/figure/ink_grid.h"

namespace maskctl::app::tui {

/// Which of two SOURCEs is drawn.
enum class Sources : std::uint8_t { kBoth, kA, kB };

/// What is known about one batch and head.
struct PlaneFacts {
  Panel panel;                   // with its leaks, if there are ids
  PlanePtr different = nullptr;  // the cells in which two SOURCEs differ
  Index open = 0, leaks = 0, empty_rows = 0, differences = 0;
  Index id_width = 0;  // characters of the longest id of a query
};

/// A mask after some steps. Never changes; what it knows is found when it is asked for.
class Scene {
 public:
  std::string name, other_name;  // SOURCEs
  std::string pipeline;          // the steps that can be edited, spelled by to_text()
  Mask start;                    // before all steps
  Chain chain;                   // all steps, those of a generated SOURCE first
  Mask mask;                     // after them
  std::optional<Mask> other;
  SegmentTensors ids;
  std::int32_t pad_id = -1;

  Scene() = default;
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  bool has_ids() const { return ids.q && ids.k; }
  const PlaneFacts& facts(Index batch, Index head, Sources sources) const;
  Why why(const Cell& cell) const;

 private:
  mutable std::map<std::tuple<Index, Index, Sources>, PlaneFacts> facts_;
};
using ScenePtr = std::shared_ptr<const Scene>;

/// What the inspector is asked to show.
struct Subject {
  SourceOptions source, other_source;
  std::string name, other;  // SOURCEs; the second may be empty
  std::string segments;     // SOURCE of ids, or empty for those of the first
};

/// Makes scenes of a SOURCE, which is read once.
class Workbench {
 public:
  /// Reads the SOURCEs. Throws what reading throws, Error(kInvalidArgument) for a mask
  /// without cells, Error(kShape) for ids and a second mask that do not fit.
  Workbench(Subject subject, const Settings& settings);
  Workbench(const Workbench&) = delete;
  Workbench& operator=(const Workbench&) = delete;

  /// The mask after the steps that the subject came with.
  const ScenePtr& first() const { return first_; }
  /// The mask after these steps. Throws PipelineError, and Error when a step does not fit or leaves
  /// no cells.
  ScenePtr scene(const std::string& pipeline);
  /// Writes a picture of the head that is shown, or the mask of all heads. Throws Error, also for
  /// an existing file without `replace`.
  void save(const Scene& scene, const Panel& panel, const std::string& file, bool replace) const;
  /// The last note of reading and writing since this was called before, or "".
  std::string take_note() { return std::exchange(note_, {}); }

 private:
  void read_start();
  void read_ids();

  const Subject subject_;
  std::string note_;
  Session session_;
  Loader loader_;
  Mask start_;
  Chain generated_;  // the step of a generated SOURCE
  std::optional<Mask> other_;
  LoadedMask loaded_;
  ScenePtr first_;
};

}  // namespace maskctl::app::tui
