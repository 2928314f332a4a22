// Parses the values of options into numbers, sizes and names; messages name the option.
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

/// The names of When, in order.
inline constexpr std::string_view kWhens[] = {"auto", "always", "never"};
inline constexpr Index kMostThreads = 4096;

/// `option` ("--head") starts every message. All functions throw Error(kInvalidArgument).
/// A finite number, 0 or more.
double parse_number(std::string_view text, std::string_view option);
/// A finite number below 0.
double parse_negative(std::string_view text, std::string_view option);
/// In any spelling of whole_number_from().
Index parse_integer(std::string_view text, std::string_view option, Index low, Index high);
/// Bytes: "4GiB", "512MB", "65536"; K, KiB = 1024, KB = 1000.
Index parse_size(std::string_view text, std::string_view option);
/// "64x128", or "64" for 64x64.
BlockSize parse_block(std::string_view text, std::string_view option);
/// The parts of a list: "64+128" or "64,128".
std::vector<std::string> parse_list(std::string_view text);
/// "64+128x64".
std::vector<BlockSize> parse_blocks(std::string_view text, std::string_view option);
/// "B+H+Q+K".
std::vector<Index> parse_shape(std::string_view text, std::string_view option);
DType parse_dtype(std::string_view text, std::string_view option);
/// The names of all kinds, or of those in which a mask can be written.
std::vector<std::string_view> kind_names(bool writable = false);
/// A message about an unknown kind lists all, or only those that can be written.
ArrayKind parse_kind(std::string_view text, std::string_view option, bool writable = false);
/// The index of the text in `names`; for a mistyped one the message suggests the nearest.
std::size_t parse_choice(std::string_view text, std::string_view option,
                         std::span<const std::string_view> names);

}  // namespace maskctl::app
