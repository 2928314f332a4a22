// Packs the keys and values of a head kUnit keys at a time, each only once.
#include "maskctl/attention/cpu/packed_heads.h"

#include <algorithm>
#include <utility>

#include "maskctl/attention/cpu/kernel.h"

namespace maskctl::attention {
PackedHead::PackedHead(const CpuCall& c, Index head)
    : d_(c.d),
      rows_(c, head / c.d.kv_heads, head % c.d.kv_heads),
      clean_rows_(rows_),
      panel_(panel_columns()),
      panel_rows_(round_up(d_.keys, kUnit)),
      memory_(as_size(panel_rows_ * (d_.dim + round_up(d_.value_dim, kColumnGroup))) *
              sizeof(float)),
      keys_(memory_.as<float>()),
      values_(keys_ + panel_rows_ * d_.dim),
      packed_(as_size(panel_rows_ / kUnit)) {}

void PackedHead::need(Range keys) {
  for (Index unit = keys.begin / kUnit; unit * kUnit < keys.end; ++unit) {
    std::call_once(packed_[as_size(unit)], [&] { pack(unit * kUnit); });
  }
}

void PackedHead::pack(Index first) {
  if (pack(rows_, first)) return;
  std::call_once(cleaned_, [this] { clean_rows_.clean(); });
  pack(clean_rows_, first);
}

bool PackedHead::pack(const HeadRows& rows, Index first) {
  const Index n = std::min(kUnit, d_.keys - first);
  float* const keys = keys_ + first * d_.dim;
  pack_columns(rows.key(first), rows.key_stride(), n, d_.dim, keys);
  float* values = values_ + first * panel_;
  pack_rows(rows.value(first), rows.value_stride(), n, d_.value_dim, panel_rows_, values);
  bool finite = all_finite(keys, d_.dim * round_up(n, kColumnGroup));
  for (Index x = 0; x < d_.value_dim; x += panel_, values += panel_rows_ * panel_) {
    finite = finite && all_finite(values, n * panel_);
  }
  return finite;
}

PackedHeads::PackedHeads(const CpuCall& c, Index tasks)
    : call_(c), heads_(as_size(c.d.batch * c.d.kv_heads), Head{nullptr, tasks}) {}

std::shared_ptr<PackedHead> PackedHeads::take(Index n) {
  const std::lock_guard lock(mutex_);
  Head& head = heads_[as_size(n)];
  if (!head.packed) head.packed = std::make_shared<PackedHead>(call_, n);
  return --head.tasks == 0 ? std::move(head.packed) : head.packed;
}

}  // namespace maskctl::attention
