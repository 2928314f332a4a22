// Reads and writes small text files; private to the golden layer.
#pragma once

#include <string>

namespace maskctl {

/// Reads a whole file. Throws Error(kIo) when it cannot be read, Error(kLimit) above 16 MiB.
std::string read_text_file(const std::string& path);
/// Creates the folder that a file is in, with its parents. Throws Error(kIo).
void make_folder_of(const std::string& file);
bool file_exists(const std::string& path);
/// True if the file, or the place where it would be written, is below the folder, with symbolic
/// links resolved.
bool is_below(const std::string& folder, const std::string& file);
/// Writes or replaces the file, whole or not at all. Throws Error(kIo).
void write_text_file(const std::string& path, const std::string& text);

}  // namespace maskctl
