// check finds what is planted in masks of each family, with rules by batch entry and by head, or it
// says that single cells were not looked at; and it has no warning about the same masks before.
#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "inspect/sentences/faults.h"
#include "maskctl/inspect/check/check.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/inspect/recognise/summary.h"
#include "support/catch_compat.h"
#include "support/rounds.h"

namespace maskctl::test {
namespace {

/// The documents of a mask, as a user gives them.
DocumentSource given_documents(const FaultyMask& drawn) {
  Tensor ids(DType::kInt32, {drawn.faulty.b, drawn.faulty.q});
  std::size_t i = 0;
  for (const TokenNumbers& row : drawn.ids)
    for (const std::int32_t id : row) ids.as<std::int32_t>()[i++] = id;
  return {DocumentForm::kSegments, std::move(ids), {}, -1, "ids"};
}

/// True if the heads of each batch entry agree on the documents of their tokens. Then a mask with
/// moved borders, or with another entry's rule, is a sound mask of other documents.
bool is_sound_of_others(const FaultyMask& drawn) {
  const twin::Dense& cells = drawn.faulty;
  for (Index b = 0; b < cells.b; ++b) {
    // Two tokens that are linked in some head are in one document of that head.
    std::set<std::vector<Index>> documents;
    for (Index h = 0; h < cells.h; ++h) {
      std::vector<Index> starts;  // the first token of each document
      Index end = -1;             // the last token in reach of those before
      for (Index t = 0; t < cells.q; ++t) {
        if (t > end) starts.push_back(t);
        for (Index other = t; other < cells.q; ++other)
          if (cells.get(b, h, t, other) || cells.get(b, h, other, t)) end = std::max(end, other);
        end = std::max(end, t);
      }
      documents.insert(starts);
    }
    if (documents.size() > 1) return false;
  }
  return true;
}

/// Whether the answer says that it did not judge single cells.
bool leaves_cells_out(const CheckResult& result) {
  return std::ranges::any_of(result.not_looked_at, [](NotLookedAt one) {
    return one == NotLookedAt::kCells || one == NotLookedAt::kAnyCells ||
           one == NotLookedAt::kLeftCells;
  });
}

Index faults_asked(Index usual) {
  const char* many = std::getenv("MASKCTL_FAULTS");  // of each family, heads and fault
  return many ? std::atoll(many) : rounds(usual);
}

struct Row {
  Index drawn = 0, found = 0, said = 0, silent = 0;
};

TEST_CASE("check: faults are found, or the answer says what was not looked at", "[faults]") {
  const char* from = std::getenv("MASKCTL_FAULTS_FROM");
  const std::uint64_t first = from ? std::strtoull(from, nullptr, 10) : 0;
  std::map<std::string, Row> rows;
  std::string notes;
  Index undecidable = 0, silent = 0, faulty = 0;
  Index crossing = 0, missed = 0, sound = 0, alarms = 0;
  for (const auto& [family, family_name] : kFamilies) {
    for (const auto& [heads, heads_name] : kHeads) {
      for (const auto& [fault, fault_name] : kFaults) {
        for (Index i = 0; i < faults_asked(2); ++i) {
          const std::uint64_t seed = (first + static_cast<std::uint64_t>(i)) * 1000 +
                                     static_cast<std::uint64_t>(family) * 100 +
                                     static_cast<std::uint64_t>(heads) * 10 +
                                     static_cast<std::uint64_t>(fault);
          const FaultyMask drawn = FaultDraws(seed).draw(family, heads, fault);
          if (drawn.is_faulty() != (fault != Fault::kNone)) continue;
          // The cells alone do not tell which of two masks was meant.
          if (fault == Fault::kNone ? drawn.like_faults : drawn.sound_otherwise) {
            ++undecidable;
            continue;
          }
          const std::string text = fmt::format("seed {}: {} in {}, {}, {}", seed, fault_name,
                                               family_name, heads_name, drawn.text);
          const Mask mask = twin::mask_of(drawn.faulty);
          const CheckResult result = check({.start = mask});
          if (fault == Fault::kNone) {
            ++sound;
            if (!result.ok()) {
              ++alarms;
              notes += fmt::format("{}: {}\n", text, result.findings[0].message);
            }
            continue;
          }
          Row& row = rows[fmt::format("{:<13} {:<17}", fault_name, family_name)];
          ++row.drawn;
          const Index crosses = drawn.crossing();
          row.found += !result.ok();
          row.said += result.ok() && leaves_cells_out(result);
          row.silent += result.ok() && !leaves_cells_out(result);
          ++faulty;
          if (result.ok() && !leaves_cells_out(result)) {
            ++silent;
            notes += fmt::format("{}: silent; {}\n", text, summary_text(recognise(mask).chain));
          }
          // Given documents are always held against the cells.
          if (crosses > 0 && check({.start = mask, .documents = given_documents(drawn)}).ok()) {
            FAIL_CHECK(text << ": given documents leak");
          }
          if (crosses == 0 || is_sound_of_others(drawn)) continue;
          // Documents that the mask itself shows: a leak must not end in exit status 0.
          ++crossing;
          if (!result.ok()) continue;
          ++missed;
          notes += fmt::format("{}: {} cells cross documents\n", text, crosses);
        }
      }
    }
  }
  INFO(notes);
  if (std::getenv("MASKCTL_FAULTS")) {
    fmt::print("{}", notes);
    for (const auto& [name, row] : rows) {
      fmt::print("{}{:6} drawn,{:6} found,{:6} not looked at,{:6} silent\n", name, row.drawn,
                 row.found, row.said, row.silent);
    }
    fmt::print(
        "{} of {} leaks between documents missed, {} of {} sound masks with a warning, "
        "{} of {} faults with neither a finding nor a note; {} draws that cells do not tell "
        "from sound ones\n",
        missed, crossing, alarms, sound, silent, faulty, undecidable);
  }
  CHECK(crossing > rounds(40));
  CHECK(missed == 0);
  CHECK(alarms == 0);
  CHECK(40 * silent <= faulty);  // of few tokens, or groups that see each other
}

}  // namespace
}  // namespace maskctl::test
