#include "app/tui/beside/counting.h"

namespace maskctl::app::tui {
namespace {

const PlaneCounts& counts_of(const PlaneShown& shown) {
  return shown.scene->counts(shown.batch, shown.head, shown.sources);
}

bool is_needed(const PlaneShown& shown) {
  const PlaneCounts& counts = counts_of(shown);
  if (!counts.counted) return true;
  return shown.tile > 0 && !shown.scene->tiles(counts.panel.plane, shown.tile);
}

}  // namespace

std::function<Counting::Learn()> Counting::work_for(const PlaneShown& shown) {
  const auto& [scene, batch, head, sources, tile] = shown;
  if (!counts_of(shown).counted) {
    return [=]() -> Learn {
      return [=, counts = scene->count(batch, head, sources)] {
        scene->learn(batch, head, sources, counts);
      };
    };
  }
  const PlanePtr plane = counts_of(shown).panel.plane;
  return [=]() -> Learn {
    return [=, counts = counted_tiles(*plane, tile)] { scene->learn(plane, tile, counts); };
  };
}

/// Counts what is drawn first, then the table of all planes.
void Counting::follow(const PlaneShown& shown, Time end) {
  while (is_needed(shown)) {
    PlaneShown asked = shown;
    if (!counts_of(shown).counted) asked.tile = 0;
    const auto learn = work_.follow(asked, end, [&] { return work_for(asked); });
    if (!learn) return;
    (*learn)();
  }
  work_.stop();
  const ScenePtr& scene = shown.scene;
  if (!scene->lists() || scene->planes->complete()) return table_.stop();
  table_.follow(scene, end, [&] {
    return [scene] {
      scene->planes->fill(*scene);
      return true;
    };
  });
}

}  // namespace maskctl::app::tui
