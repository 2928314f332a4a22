// Parses the values of options. Error messages begin with the name of the option.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/session/session.h"
#include "maskctl/io/kinds/kind.h"
#include "maskctl/mask/block_size.h"
#include "maskctl/tensor/dtype.h"

namespace maskctl::app {

/// The names of the values of When, in order.
inline constexpr std::string_view kWhens[] = {"auto", "always", "never"};
inline constexpr Index kMostThreads = 4096;

// `option`, such as "--head", is the start of every message. All functions throw
// Error(kInvalidArgument).
/// Parses a finite number that is at least 0.
double parse_number(std::string_view text, std::string_view option);
/// Parses a finite number below 0.
double parse_negative(std::string_view text, std::string_view option);
/// Parses an integer between `low` and `high`, in any spelling of whole_number_from().
Index parse_integer(std::string_view text, std::string_view option, Index low, Index high);
/// Parses a number of bytes: "4GiB", "512MB", "65536"; K and KiB are 1024, KB is 1000.
Index parse_size(std::string_view text, std::string_view option);
/// Parses "64x128", or "64" for 64x64.
BlockSize parse_block(std::string_view text, std::string_view option);
/// Splits a list: "64+128" or "64,128".
std::vector<std::string> parse_list(std::string_view text);
/// Parses a list of block sizes: "64+128x64".
std::vector<BlockSize> parse_blocks(std::string_view text, std::string_view option);
/// Parses a shape written as "B+H+Q+K".
std::vector<Index> parse_shape(std::string_view text, std::string_view option);
DType parse_dtype(std::string_view text, std::string_view option);
/// The names of all kinds of arrays; with `writable`, only of those that masks can be written as.
std::vector<std::string_view> kind_names(bool writable = false);
/// Parses the name of a kind. For an unknown name, the message lists the names of
/// kind_names(writable).
ArrayKind parse_kind(std::string_view text, std::string_view option, bool writable = false);
/// The index of `text` in `names`. For an unknown text, the message suggests the most similar name.
std::size_t parse_choice(std::string_view text, std::string_view option,
                         std::span<const std::string_view> names);

}  // namespace maskctl::app
