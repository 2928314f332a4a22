#include "maskctl/io/formats/formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "maskctl/base/text.h"

namespace maskctl {
namespace {

using namespace std::string_view_literals;

constexpr Index kHead = 16;

bool is_text(std::string_view bytes) {
  return std::ranges::all_of(bytes, [](char c) {
    const auto u = static_cast<unsigned char>(c);
    return (u >= 0x20 && u != 0x7F) || c == '\n' || c == '\r' || c == '\t';
  });
}

/// Pickles of protocols 2 to 5 start with the opcode PROTO; older ones cannot be recognised.
bool is_pickle(std::string_view head) {
  return head.size() >= 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
}

/// An ONNX file is a protocol buffer: field 1 is the version of the format (1 to 15 so far); then
/// comes the name or version of the producer, the domain, or the graph.
bool is_onnx(std::string_view head) {
  const bool versioned = head.size() >= 3 && head[0] == '\x08' && head[1] >= 1 && head[1] < 32;
  return versioned && std::string_view("\x12\x1a\x22\x3a\x42").find(head[2]) != head.npos;
}

/// A kind of file that holds no arrays we can read: how to recognise it, and how to get arrays out
/// of it.
struct OtherFile {
  std::string_view description, remedy;
  bool (*is)(std::string_view head);
};
constexpr OtherFile kOtherFiles[] = {
    {"an empty file", "", [](std::string_view head) { return head.empty(); }},
    {"a PNG image", "",
     [](std::string_view head) { return head.starts_with("\x89PNG\r\n\x1a\n"sv); }},
    {"a gzip file", "; unpack it first (gunzip)",
     [](std::string_view head) { return head.starts_with("\x1f\x8b"sv); }},
    {"a GGUF file",
     ", which holds the weights of a model, no masks; in Python, np.save(\"m.npy\", "
     "gguf.GGUFReader(\"m.gguf\").tensors[0].data) writes a tensor",
     [](std::string_view head) { return head.starts_with("GGUF"sv); }},
    {"a Parquet file",
     "; in Python, np.save(\"m.npy\", pyarrow.parquet.read_table(\"m.parquet\")[\"mask\"]"
     ".to_numpy()) writes a column, np.stack(...) one of lists",
     [](std::string_view head) { return head.starts_with("PAR1"sv); }},
    {"an Arrow file",
     "; in Python, np.save(\"m.npy\", pyarrow.feather.read_table(\"m.arrow\")[\"mask\"]"
     ".to_numpy()) writes a column, np.stack(...) one of lists",
     [](std::string_view head) { return head.starts_with("ARROW1"sv); }},
    {"an ONNX model",
     "; in Python, np.save(\"m.npy\", onnx.numpy_helper.to_array(onnx.load(\"m.onnx\").graph."
     "initializer[0])) writes a tensor",
     is_onnx},
    {"a MATLAB file",
     "; in Python, np.save(\"m.npy\", scipy.io.loadmat(\"m.mat\")[\"mask\"]) writes an array",
     [](std::string_view head) { return head.starts_with("MATLAB 5.0 MAT"sv); }},
    {"a Python pickle",
     " (pickle.dump, or an old torch.save), which is never executed; in Python, np.save or "
     "safetensors' save_file writes its arrays",
     is_pickle},
    {"the first bytes of a .npy file", "; the file is truncated",
     [](std::string_view head) { return head.size() > 0 && "\x93NUMPY"sv.starts_with(head); }},
    {"text", "; np.save(\"m.npy\", np.loadtxt(\"m.csv\", delimiter=\",\")) makes an array of CSV",
     is_text},
};

}  // namespace

std::string_view peek_text(ByteSource& source, Index count) {
  const auto bytes = source.peek(count);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

FileLook look_at(ByteSource& source) {
  for (const FileFormat* format : kFileFormats) {
    if (format->recognise(source)) return {format, format->looks_like, ""};
  }
  const auto head = peek_text(source, kHead);
  for (const OtherFile& other : kOtherFiles) {
    if (other.is(head)) return {nullptr, other.description, other.remedy};
  }
  return {nullptr, "unknown data", ""};
}

std::string formats_text(std::string_view (*word)(const FileFormat& format)) {
  std::vector<std::string_view> words;
  for (const FileFormat* format : kFileFormats) {
    if (!word(*format).empty()) words.push_back(word(*format));
  }
  std::string out(words.back());
  words.pop_back();
  return words.empty() ? out : fmt::format("{} or {}", joined(words, ", "), out);
}

}  // namespace maskctl
