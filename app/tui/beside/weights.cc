#include "app/tui/beside/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "maskctl/attention/calls/by_name.h"
#include "maskctl/attention/softmax/softmax.h"
#include "maskctl/base/error.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::app::tui {
namespace {

constexpr Index kRandomDim = 64;
/// The number of rows of weights that are kept: one for each of two masks side by side.
constexpr std::size_t kMostWeightsKept = 2;
/// Limits for random arrays (elements) and for the weights of a query (multiplications), so that
/// moving the cursor stays fast.
constexpr Index kMostRandom = Index{1} << 24, kMostProducts = Index{1} << 28;

/// A range of tokens of one batch: [1, tokens, H, D] of [B, T, H, D].
Tensor part(const Tensor& array, Index batch, Range tokens) {
  const Index token = array.extent(2) * array.extent(3);
  const Index first = (array.extent(0) == 1 ? 0 : batch) * array.extent(1) + tokens.begin;
  Tensor out =
      Tensor::unwritten(DType::kFloat32, {1, tokens.size(), array.extent(2), array.extent(3)});
  const auto from = array.as<float>().subspan(as_size(first * token), out.as<float>().size());
  std::ranges::copy(from, out.as<float>().begin());
  return out;
}

Tensor read_array(Loader& loader, const std::string& source) {
  Tensor array = loader.array(source);
  if (array.rank() != 4) {
    throw Error(Errc::kShape, fmt::format("{}: an array of {}; expected [B,T,H,D]", source,
                                          shape_text(array.shape())));
  }
  return array.dtype() == DType::kFloat32 ? array : astype(array, DType::kFloat32);
}

void check_tokens(const Tensor& array, const char* name, const Mask& mask, Index tokens) {
  const Index batches = array.extent(0);
  if (array.extent(1) == tokens && (batches == 1 || batches >= mask.batch())) return;
  throw Error(Errc::kShape, fmt::format("{} of {} does not fit a mask of {}", name,
                                        shape_text(array.shape()), shape_text(mask)));
}

}  // namespace

std::span<const float> WeightRow::of(Index head) const {
  const Index keys = weights.extent(1);
  return weights.as<float>().subspan(as_size(head * keys), as_size(keys));
}

RowWeights::RowWeights(WeightOptions options, Loader& loader)
    : options_(std::move(options)), loader_(loader) {
  if (options_.query.empty() == options_.key.empty()) return;
  throw Error(Errc::kInvalidArgument, "weights need the queries and the keys: give both or none");
}

Index RowWeights::heads(const Mask& mask) {
  if (options_.query.empty()) return mask.heads();
  try {
    read();
    return query_->extent(2);
  } catch (const Error&) {
    return 1;  // the weights then take one line, which shows the error
  }
}

bool RowWeights::Kept::is_of(const Mask& other, Index in_batch, Index of_query) const {
  if (batch != in_batch || query != of_query || mask.heads() != other.heads()) return false;
  for (Index head = 0; head < mask.heads(); ++head) {
    if (mask.plane(batch, head) != other.plane(batch, head)) return false;
  }
  return true;
}

const WeightRow& RowWeights::row(const Mask& mask, Index batch, Index query) {
  for (const Kept& kept : kept_) {
    if (kept.is_of(mask, batch, query)) return kept.row;
  }
  if (kept_.size() == kMostWeightsKept) kept_.pop_back();
  WeightRow& row = kept_.emplace_front(Kept{mask, batch, query}).row;
  try {
    options_.query.empty() ? make_random(mask) : read();
    row.weights = weights(mask, batch, query);
  } catch (const Error& error) {
    row.problem = error.what();
  }
  return row;
}

void RowWeights::read() {
  if (query_) return;
  if (!unreadable_.empty()) throw Error(Errc::kIo, unreadable_);
  try {
    key_ = read_array(loader_, options_.key);
    query_ = read_array(loader_, options_.query);
  } catch (const Error& error) {
    unreadable_ = error.what();
    throw;
  }
}

void RowWeights::make_random(const Mask& mask) {
  const std::vector<Index> q{mask.batch(), mask.queries(), mask.heads(), kRandomDim};
  const std::vector<Index> k{mask.batch(), mask.keys(), mask.heads(), kRandomDim};
  if (query_ && query_->shape() == q && key_->shape() == k) return;
  if (mask.batch() * mask.heads() * std::max(mask.queries(), mask.keys()) >
      kMostRandom / kRandomDim) {
    throw Error(Errc::kLimit,
                "the mask is too large for random queries and keys; give --query "
                "and --key, or slice the mask");
  }
  query_ = attention::random_normal(q, options_.seed + 1);
  key_ = attention::random_normal(k, options_.seed + 2);
}

Tensor RowWeights::weights(const Mask& mask, Index batch, Index query) const {
  check_tokens(*query_, "--query", mask, mask.queries());
  check_tokens(*key_, "--key", mask, mask.keys());
  const Index heads = query_->extent(2);
  if (heads * mask.keys() > kMostProducts / query_->extent(3)) {
    throw Error(Errc::kLimit, fmt::format("weights of {} keys and {} heads take too long to "
                                          "follow the cursor; slice the mask",
                                          mask.keys(), heads));
  }
  const Tensor q = part(*query_, batch, {query, query + 1});
  const Tensor k = part(*key_, batch, {0, mask.keys()});
  const Index member = mask.batch() == 1 ? 0 : batch;
  const Mask row =
      sliced(mask, {member, member + 1}, {0, mask.heads()}, {query, query + 1}, {0, mask.keys()});
  Tensor out = attention::softmax_weights({.query = &q, .key = &k, .value = &k, .mask = &row}, {});
  out.reshape({heads, mask.keys()});
  return out;
}

}  // namespace maskctl::app::tui
