#include "maskctl/verify/mutants/mutants.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "maskctl/attention/calls/by_name.h"
#include "maskctl/attention/softmax/softmax.h"
#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/base/work_scope.h"
#include "maskctl/verify/mutants/kernel.h"
#include "maskctl/verify/mutants/kinds.h"

namespace maskctl::attention {
namespace {

constexpr Index kMostCallPairs = Index{1} << 31;
constexpr Index kMostSinks = 4096;
constexpr Index kRightEach = 5;  // one of so many mutants is right
constexpr int kTries = 20;       // draws of a kind before it is given up

// Parts for mixed() that differ from the number of every mutant and of every array.
constexpr std::uint64_t kFirstDraw = 1000, kFirstKind = ~std::uint64_t{0};

/// A number that differs wherever one of the parts does (splitmix64).
std::uint64_t mixed(std::uint64_t seed, std::uint64_t part) {
  std::uint64_t x = seed + (part + 1) * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

void check_call(const MutantCall& call, const Mask& mask) {
  const auto refuse = [](const std::string& message) { throw Error(Errc::kShape, message); };
  if (mask.queries() < 1 || mask.keys() < 1) {
    refuse(fmt::format("mutants of a mask {}: expected a query and a key", shape_text(mask)));
  }
  for (const Index extent : {call.batch, call.heads, call.kv_heads, call.dim}) {
    if (extent < 1) refuse(fmt::format("an extent of {}: expected at least 1", extent));
  }
  if (call.sinks < 0 || call.sinks > kMostSinks) {
    refuse(fmt::format("{} sinks of each head: expected 0 to {}", call.sinks, kMostSinks));
  }
  if (mask.batch() != 1 && mask.batch() != call.batch) {
    refuse(fmt::format("{} batch entries: the mask has {}", call.batch, mask.batch()));
  }
  if (mask.heads() != 1 && mask.heads() != call.heads) {
    refuse(fmt::format("{} heads: the mask has {}", call.heads, mask.heads()));
  }
  if (call.heads % call.kv_heads != 0) {
    refuse(fmt::format("{} key heads do not divide {} heads", call.kv_heads, call.heads));
  }
  const auto pairs =
      checked_product(std::array{call.batch, call.heads, mask.queries(), mask.keys()});
  const auto elements = checked_product(
      std::array{call.batch, call.heads, std::max(mask.queries(), mask.keys()), call.dim});
  if (pairs && *pairs <= kMostCallPairs && elements && *elements <= kMostCallPairs) return;
  throw Error(
      Errc::kLimit,
      fmt::format("mutants: {} queries and {} keys in {} batch entries of {} heads of {} "
                  "are more than {} pairs or elements; take a shorter mask or fewer heads",
                  mask.queries(), mask.keys(), call.batch, call.heads, call.dim, kMostCallPairs));
}

/// The call of a right kernel, with random arrays.
KernelCall right_call(const DeclaredCall& declared, std::uint64_t seed) {
  const MutantCall& about = declared.call();
  const auto normal = [&](std::vector<Index> shape, std::uint64_t array, DType dtype) {
    return rounded(random_normal(std::move(shape), mixed(seed, array)), dtype);
  };
  KernelCall out{.mask = declared.mask()};
  out.query = normal({about.batch, declared.queries(), about.heads, about.dim}, 0, about.dtype);
  out.key = normal({about.batch, declared.keys(), about.kv_heads, about.dim}, 1, about.dtype);
  out.value = normal({about.batch, declared.keys(), about.kv_heads, about.dim}, 2, about.dtype);
  if (about.bias) out.bias = normal({1, about.heads, 1, declared.keys()}, 3, DType::kFloat32);
  if (about.sinks > 0) out.sinks = normal({about.heads, about.sinks}, 4, DType::kFloat32);
  out.scale = about.scale.value_or(1 / std::sqrt(static_cast<double>(about.dim)));
  out.soft_cap = about.soft_cap;
  for (Index h = 0; h < about.heads; ++h) {
    out.key_heads.push_back(h / (about.heads / about.kv_heads));
  }
  out.weights = out.results = about.dtype;
  return out;
}

SoftmaxResult exact_results(const MutantCall& about, const KernelCall& call) {
  SoftmaxOptions options;
  options.scale = call.scale;
  options.soft_cap = call.soft_cap;
  if (about.dtype == DType::kFloat32) options.context.backend = Backend::kReference;
  return softmax_forward({.query = &call.query,
                          .key = &call.key,
                          .value = &call.value,
                          .mask = &call.mask,
                          .bias = call.bias ? &*call.bias : nullptr,
                          .sinks = call.sinks ? &*call.sinks : nullptr},
                         options);
}

/// Adds the cells of a plane as rectangles, until there are enough.
void add_rectangles(const Plane& plane, ChangedCells like, std::vector<ChangedCells>& out) {
  const auto first = static_cast<std::ptrdiff_t>(out.size());
  plane.rows({0, plane.queries()}, [&](Range rows, const Keys& keys) {
    const auto add = [&](Range open) {
      const auto above = std::find_if(out.begin() + first, out.end(), [&](const auto& cells) {
        return cells.keys == open && cells.queries.end == rows.begin;
      });
      if (above != out.end()) {
        above->queries.end = rows.end;
      } else if (out.size() < MutantTruth::kMostRectangles) {
        like.queries = rows;
        like.keys = open;
        out.push_back(like);
      }
    };
    for (const Run& run : keys.runs) add({run.begin, run.end});
    Index begin = -1;
    for (Index k = 0; keys.is_words() && k <= plane.keys(); ++k) {
      const bool open = k < plane.keys() && (keys.words[as_size(k / 64)] >> (k % 64) & 1) != 0;
      if (open && begin < 0) begin = k;
      if (!open && begin >= 0) add({std::exchange(begin, -1), k});
    }
  });
}

/// The cells of the call in one mask and not in another: their number, and rectangles of them.
Index note_cells(const MutantCall& about, const Mask& cells, bool opened,
                 std::vector<ChangedCells>& out) {
  for (Index b = 0; b < about.batch; ++b) {
    for (Index h = 0; h < about.heads; ++h) {
      add_rectangles(*cells.plane(b, h), {.batch = b, .head = h, .opened = opened}, out);
    }
  }
  return cells.count() * (about.batch / cells.batch()) * (about.heads / cells.heads());
}

/// One mutant of a kind; nothing if this draw changes nothing.
std::optional<Mutant> made(const DeclaredCall& declared, const MutantKind& kind, std::uint64_t seed,
                           std::uint64_t draw_seed) {
  Draw draw(draw_seed);
  KernelCall right = right_call(declared, seed);
  KernelCall call = right;
  Mutant out;
  out.truth.kind = kind.info.name;
  out.truth.group = kind.info.group;
  out.truth.text = kind.change(declared, draw, call);
  if (out.truth.text.empty()) return std::nullopt;
  if (kind.info.group == MutantGroup::kMask) {
    std::vector<ChangedCells>& cells = out.truth.cells;
    out.truth.opened =
        note_cells(declared.call(), zip(Op::kSub, call.mask, declared.mask()), true, cells);
    out.truth.closed =
        note_cells(declared.call(), zip(Op::kSub, declared.mask(), call.mask), false, cells);
    if (out.truth.opened + out.truth.closed == 0) return std::nullopt;
  }
  KernelPair pair = run_both(right, call);
  out.truth.weight = pair.moved.share;
  out.truth.heaviest = {pair.moved.row.batch, pair.moved.row.head, pair.moved.row.query, 0};
  out.truth.rows = pair.moved.rows;
  const bool same_lse = same_elements(pair.right.lse, pair.other.lse);
  out.truth.lse_only = !same_lse && pair.moved.share == 0;
  if (!is_right(kind.info.group) && pair.moved.share == 0 && same_lse) return std::nullopt;
  SoftmaxResult exact = exact_results(declared.call(), right);
  out.query = std::move(right.query);
  out.key = std::move(right.key);
  out.value = std::move(right.value);
  out.bias = std::move(right.bias);
  out.sinks = std::move(right.sinks);
  out.out = std::move(pair.other.out);
  out.lse = std::move(pair.other.lse);
  out.right_out = std::move(pair.right.out);
  out.right_lse = std::move(pair.right.lse);
  out.exact_out = std::move(exact.out);
  out.exact_lse = std::move(exact.lse);
  return out;
}

/// Whether some draw of a kind changes the call.
bool applies(const DeclaredCall& declared, const MutantKind& kind, const KernelCall& like) {
  for (int i = 0; i < kTries; ++i) {
    Draw draw(mixed(0, static_cast<std::uint64_t>(i)));
    KernelCall call = like;
    if (kind.change(declared, draw, call).empty()) continue;
    const bool of_mask = kind.info.group == MutantGroup::kMask;
    if (!of_mask || differing_cells(call.mask, declared.mask()) > 0) return true;
  }
  return false;
}

const MutantKind& row_named(std::string_view name) {
  const auto rows = kind_rows();
  const auto found =
      std::ranges::find_if(rows, [name](const MutantKind& kind) { return kind.info.name == name; });
  if (found != rows.end()) return *found;
  std::vector<std::string_view> names;
  for (const MutantKind& kind : rows) names.push_back(kind.info.name);
  throw Error(Errc::kInvalidArgument, fmt::format("no kind of mutants is called '{}'; there are {}",
                                                  printable(name), joined(names, ", ")));
}

}  // namespace

std::string_view name(MutantGroup group) {
  static constexpr std::string_view kNames[] = {"mask", "call", "result", "right", "coarse"};
  return kNames[static_cast<std::size_t>(group)];
}

std::span<const MutantKind> kind_rows() {
  static const std::vector<MutantKind> rows = [] {
    std::vector<MutantKind> out;
    for (const auto part :
         {cell_kinds(), step_kinds(), call_kinds(), result_kinds(), right_kinds()}) {
      out.insert(out.end(), part.begin(), part.end());
    }
    return out;
  }();
  return rows;
}

std::span<const MutantKindInfo> mutant_kinds() {
  static const std::vector<MutantKindInfo> infos = [] {
    std::vector<MutantKindInfo> out;
    for (const MutantKind& kind : kind_rows()) out.push_back(kind.info);
    return out;
  }();
  return infos;
}

DeclaredCall::DeclaredCall(MutantCall call) : call_(std::move(call)), mask_(made_by(call_.steps)) {
  check_call(call_, mask_);
  for (const PlanePtr& plane : mask_.distinct()) {
    std::vector<Index>& before = open_before_.emplace_back(1, 0);
    plane->row_sizes({0, plane->queries()}, [&before](Range equal, const Plane::RowSize& size) {
      for (Index q = equal.begin; q < equal.end; ++q) before.push_back(before.back() + size.keys);
    });
  }
}

std::optional<Cell> DeclaredCall::any_cell(bool open, Draw& draw) const {
  const Index b = draw.below(mask_.batch()), h = draw.below(mask_.heads());
  const std::vector<Index>& before = open_before_[mask_.index_of(b, h)];
  const auto cells_before = [&](Index q) {
    const Index opened = before[as_size(q)];
    return open ? opened : q * keys() - opened;
  };
  if (cells_before(queries()) == 0) return std::nullopt;
  const Index at = draw.below(cells_before(queries()));
  Index low = 0, high = queries();  // the row is in [low, high)
  while (high - low > 1) {
    const Index middle = (low + high) / 2;
    (cells_before(middle) <= at ? low : high) = middle;
  }
  std::vector<bool> row(as_size(keys()));
  mask_.plane(b, h)->rows({low, low + 1}, [&](Range, const Keys& found) {
    for (const Run& run : found.runs) {
      for (Index k = run.begin; k < run.end; ++k) row[as_size(k)] = true;
    }
    for (Index k = 0; found.is_words() && k < keys(); ++k) {
      row[as_size(k)] = (found.words[as_size(k / 64)] >> (k % 64) & 1) != 0;
    }
  });
  Index left = at - cells_before(low);
  for (Index k = 0; k < keys(); ++k) {
    if (row[as_size(k)] == open && left-- == 0) return Cell{b, h, low, k};
  }
  return std::nullopt;
}

Mask with_plane(const Mask& mask, Index batch, Index heads, Index b, Index h,
                const PlanePtr& plane) {
  return Mask::make(batch, heads, mask.queries(), mask.keys(), [&](Index bb, Index hh) {
    return bb == b && hh == h ? plane : mask.plane(bb, hh);
  });
}

Mutants::Mutants(MutantCall call, std::uint64_t seed, const MutantChoice& choice)
    : declared_(std::make_unique<DeclaredCall>(std::move(call))), seed_(seed) {
  for (const auto* const names : {&choice.only, &choice.without}) {
    for (const std::string& kind : *names) row_named(kind);
  }
  const KernelCall like = right_call(*declared_, seed);
  for (const MutantKind& kind : kind_rows()) {
    const auto is_in = [&kind](const std::vector<std::string>& names) {
      return std::ranges::count(names, kind.info.name) > 0;
    };
    if ((!choice.only.empty() && !is_in(choice.only)) || is_in(choice.without)) continue;
    if (applies(*declared_, kind, like)) {
      kinds_.push_back(kind.info);
    } else {
      left_out_.push_back({kind.info.name, fmt::format("needs {}", kind.info.needs)});
    }
  }
  if (!kinds_.empty()) return;
  std::string why;
  for (const KindLeftOut& kind : left_out_) why += fmt::format("; {} {}", kind.kind, kind.reason);
  throw Error(Errc::kInvalidArgument,
              fmt::format("mutants: no kind is left that the call can have{}", why));
}

Mutants::~Mutants() = default;
Mutants::Mutants(Mutants&&) noexcept = default;

const MutantCall& Mutants::call() const { return declared_->call(); }
const Mask& Mutants::mask() const { return declared_->mask(); }
const std::vector<MutantKindInfo>& Mutants::kinds() const { return kinds_; }
const std::vector<KindLeftOut>& Mutants::left_out() const { return left_out_; }

Mutant Mutants::make(Index number) const {
  throw_if_stopped();
  const auto is_wanted = [](const MutantKindInfo& kind, bool right) {
    return is_right(kind.group) == right;
  };
  const auto count = [&](bool right) {
    return std::ranges::count_if(kinds_, [&](const auto& kind) { return is_wanted(kind, right); });
  };
  const bool both = count(true) > 0 && count(false) > 0;
  const bool right = both ? number % kRightEach == kRightEach - 1 : count(true) > 0;
  std::vector<MutantKindInfo> wanted;
  for (const MutantKindInfo& kind : kinds_) {
    if (is_wanted(kind, right)) wanted.push_back(kind);
  }
  // The position of the mutant among the right or among the wrong mutants. It makes all kinds
  // equally frequent; the first kind depends on the seed.
  const Index place = !both ? number : right ? number / kRightEach : number - number / kRightEach;
  const std::size_t first = mixed(seed_, kFirstKind) % wanted.size();
  const std::uint64_t seed = mixed(seed_, static_cast<std::uint64_t>(number));
  for (std::size_t next = 0; next < wanted.size(); ++next) {
    const MutantKind& kind =
        row_named(wanted[(first + as_size(place) + next) % wanted.size()].name);
    for (int i = 0; i < kTries; ++i) {
      const std::uint64_t draw = mixed(seed, kFirstDraw + static_cast<std::uint64_t>(i));
      if (std::optional<Mutant> out = made(*declared_, kind, seed, draw)) {
        out->number = number;
        return *std::move(out);
      }
    }
  }
  throw Error(Errc::kInvalidArgument,
              fmt::format("mutant {}: no change of the call was found in {} draws of each of {}",
                          number, kTries, counted(static_cast<Index>(wanted.size()), "kind")));
}

}  // namespace maskctl::attention
