// safetensors files: which are read, which are refused, and files that arrays are added to.
#include "maskctl/io/formats/safetensors/safetensors.h"

#include "io/array_support.h"
#include "support/dtypes.h"

using namespace maskctl;
using maskctl::test::as_bytes;
using maskctl::test::contains;
using maskctl::test::counting;
using maskctl::test::error_of;
using maskctl::test::PipeSource;
using maskctl::test::Scratch;
using maskctl::test::slurp;
using maskctl::test::spit;
using maskctl::test::text_of;

namespace {

std::string file(const std::string& header, const std::string& data = "") {
  std::string out(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) out[i] = static_cast<char>(header.size() >> (8 * i));
  return out + header + data;
}

std::string tensor(const std::string& name, const std::string& dtype, const std::string& shape,
                   const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + shape +
         "],\"data_offsets\":[" + offsets + "]}";
}

SafetensorsFile open(const std::string& bytes, const ReadOptions& options = {}) {
  return SafetensorsFile(ByteSource::from_memory("x.safetensors", as_bytes(bytes)), options);
}

std::string header_refusal(const std::string& bytes) {
  return error_of([&] { open(bytes); });
}

}  // namespace

TEST_CASE("safetensors: tensors of every dtype and shape are written and read back") {
  const DType dtype = GENERATE(from_range(test::all_dtypes()));
  const std::vector<Index> shape =
      GENERATE(std::vector<Index>{}, std::vector<Index>{0, 4}, std::vector<Index>{3, 5},
               std::vector<Index>{2, 1, 3, 2});
  CAPTURE(name(dtype), shape);
  const Scratch folder;
  const std::string path = folder / "m.safetensors";
  const Tensor written = counting(dtype, shape);
  const Tensor other = counting(DType::kInt16, {3});
  const ArrayRef arrays[] = {{"other", &other}, {"mask", &written}};
  write_arrays(path, arrays);
  const Tensor back = read_array(path + ":mask");
  CHECK(back.dtype() == dtype);
  CHECK(back.shape() == shape);
  CHECK(std::ranges::equal(back.bytes(), written.bytes()));
  CHECK(error_of([&] { read_array(path); }) ==
        path + ": 2 arrays (other, mask), named as " + path + ":other");
  const PipeSource pipe(slurp(path));
  SafetensorsFile piped(pipe.open());
  CHECK(std::ranges::equal(piped.read("mask").bytes(), written.bytes()));
}

TEST_CASE("safetensors: written files equal those of the reference implementation") {
  const Scratch folder;
  const Tensor mask = counting(DType::kBool, {2, 3});
  const ArrayRef array{"a\"b", &mask};
  write_arrays(folder / "m.safetensors", {&array, 1});
  CHECK(slurp(folder / "m.safetensors") ==
        file(R"({"a\"b":{"dtype":"BOOL","shape":[2,3],"data_offsets":[0,6]}}    )",
             text_of(mask.bytes())));
}

TEST_CASE(
    "8-bit floats: .npy, .npz and HDF5 cannot store them, and a failed write keeps the file") {
  const Scratch folder;
  const Tensor kept = counting(DType::kBool, {3});
  for (const DType dtype : {DType::kFloat8E4M3, DType::kFloat8E5M2}) {
    for (const std::string file : {"a.npy", "a.npz", "a.h5"}) {
      const std::string path = folder / file, key = file == "a.npy" ? "" : ":a";
      write_array(path + key, kept, {.force = true});
      const std::string before = slurp(path);
      CHECK(contains(
          error_of([&] { write_array(path + key, counting(dtype, {3}), {.force = true}); }),
          std::string(name(dtype)) + " has no name in .npy, .npz and HDF5; write a "
                                     ".safetensors, or convert to float16"));
      CHECK(slurp(path) == before);
    }
  }
}

TEST_CASE("safetensors: headers with blanks, metadata, any order and unknown types are read") {
  const std::string bytes =
      file("{ \"__metadata__\" : {\"format\":\"pt\"}, " + tensor("w", "F8_E4M3FNUZ", "2", "4,6") +
               "," + tensor("m", "BOOL", "2,2", "0,4") + "," + tensor("e", "I32", "0", "6,6") +
               "," + tensor("new", "F4X2", "9", "6,9") + "}   ",
           std::string("\1\0\0\1xxyyy", 9));
  SafetensorsFile opened = open(bytes);
  CHECK(opened.keys() == std::vector<std::string>{"m", "w", "e", "new"});
  CHECK(opened.header().metadata ==
        std::vector<std::pair<std::string, std::string>>{{"format", "pt"}});
  CHECK(text_of(opened.read("m").bytes()) == std::string("\1\0\0\1", 4));
  CHECK(opened.read("e").elements() == 0);
  CHECK(error_of([&] { opened.read("w"); }) ==
        "x.safetensors:w: dtype F8_E4M3FNUZ: expected BOOL, I8, I16, I32, I64, U8, U16, U32, U64, "
        "F16, BF16, F32, F64, F8_E4M3, F8_E5M2");
  CHECK(contains(error_of([&] { opened.read("new"); }), "dtype F4X2"));
  CHECK(error_of([&] { opened.read("none"); }) ==
        "x.safetensors: no array 'none'; it has m, w, e, new");
}

TEST_CASE("safetensors: hostile files are refused") {
  const std::string good = tensor("a", "U8", "4", "0,4");
  const auto [header, data, expected] = GENERATE_COPY(table<std::string, std::string, std::string>({
      {"", "", "does not start with '{'"},
      {"[]", "", "does not start with '{'"},
      {" {}", "", "does not start with '{'"},
      {"{", "", "not valid JSON"},
      {"{} x", "", "not valid JSON"},
      {"{\"a\":", "", "not valid JSON"},
      {"{\"\xff\":{}}", "", "not valid JSON"},
      {"{" + good + "," + good + "}", "xxxx", "two entries 'a'"},
      {"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}", "xxxx",
       "two entries 'dtype'"},
      {"{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}", "", "two entries 'k'"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4]}}", "xxxx", "lacks a field"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4],\"x\":\"y\"}}", "xxxx",
       "a string in 'x'"},
      {"{\"a\":{}}", "", "lacks a field"},
      {"{\"a\":1}", "", "a number where"},
      {"{\"a\":\"b\"}", "", "a string where"},
      {"{\"a\":[1]}", "", "a list where"},
      {"{\"a\":null}", "", "null where"},
      {"{\"__metadata__\":{\"k\":1}}", "", "a number in 'k' of __metadata__"},
      {"{\"__metadata__\":{\"k\":{}}}", "", "nests too deep"},
      {"{\"__metadata__\":{\"k\":[]}}", "", "a list in 'k'"},
      {"{\"a\":{\"dtype\":{},\"shape\":[4]}}", "", "nests too deep"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[[4]],\"data_offsets\":[0,4]}}", "xxxx", "a list"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[{}],\"data_offsets\":[0,4]}}", "xxxx",
       "nests too deep"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":4,\"data_offsets\":[0,4]}}", "xxxx", "a number in"},
      {"{\"a\":{\"dtype\":[1],\"shape\":[4],\"data_offsets\":[0,4]}}", "xxxx", "a list in"},
      {"{" + tensor("a", "U8", "-4", "0,4") + "}", "xxxx", "a negative number"},
      {"{" + tensor("a", "U8", "4.0", "0,4") + "}", "xxxx", "a fraction"},
      {"{" + tensor("a", "U8", "4e0", "0,4") + "}", "xxxx", "a fraction"},
      {"{" + tensor("a", "U8", "true", "0,1") + "}", "x", "a bool"},
      {"{" + tensor("a", "U8", "18446744073709551616", "0,4") + "}", "xxxx", "a fraction"},
      {"{" + tensor("a", "U8", "18446744073709551615", "0,4") + "}", "xxxx", "too large"},
      {"{" + tensor("a", "U8", "4294967296,4294967296", "0,0") + "}", "", "too many bytes"},
      {"{" + tensor("a", "U8", "0,9223372036854775807,2", "0,0") + "}", "", "too many bytes"},
      {"{" + tensor("a", "F64", "4611686018427387904", "0,0") + "}", "", "too many bytes"},
      {"{" + tensor("a", "U8", "1,1,1,1,1,1,1,1,1", "0,1") + "}", "x", "more than 8 numbers"},
      {"{" + tensor("a", "U8", "4", "0") + "}", "xxxx", "data_offsets of 1 numbers"},
      {"{" + tensor("a", "U8", "4", "0,4,8") + "}", "xxxx", "data_offsets of 3 numbers"},
      {"{" + tensor("a", "U8", "4", "4,0") + "}", "xxxx", "from 4 to 0"},
      {"{" + tensor("a", "U8", "3", "0,4") + "}", "xxxx", "takes 3 bytes"},
      {"{" + tensor("a", "I32", "4", "0,4") + "}", "xxxx", "takes 16 bytes"},
      {"{" + tensor("a", "?!", "4", "4,0") + "}", "xxxx", "from 4 to 0"},
      {"{" + tensor("a", "U8", "4", "1,5") + "}", "xxxxx", "past the previous data"},
      {"{" + good + "," + tensor("b", "U8", "4", "2,6") + "}", "xxxxxx",
       "inside the previous data"},
      {"{" + good + "," + tensor("b", "U8", "4", "0,4") + "}", "xxxx", "inside the previous data"},
      {"{" + good + "," + tensor("b", "U8", "2", "5,7") + "}", "xxxxxxx", "past the previous data"},
      {"{" + good + "}", "xxx", "expected 4 bytes of data, got 3"},
      {"{" + good + "}", "xxxxx", "expected 4 bytes of data, got 5"},
  }));
  CAPTURE(header, data);
  const std::string text = header_refusal(file(header, data));
  CHECK(text.starts_with("x.safetensors: "));
  CHECK(contains(text, expected));
  CHECK(text.find('\n') == std::string::npos);
}

TEST_CASE("safetensors: memory is not allocated for wrong lengths") {
  const auto with_length = [](std::uint64_t length, const std::string& rest) {
    std::string out(8, '\0');
    for (std::size_t i = 0; i < 8; ++i) out[i] = static_cast<char>(length >> (8 * i));
    return out + rest;
  };
  CHECK(contains(header_refusal("short"), "shorter than 8 bytes"));
  CHECK(
      contains(header_refusal(with_length(~std::uint64_t{0}, "{}")), "at most 100000000 are read"));
  CHECK(contains(header_refusal(with_length(100'000'001, "{}")), "at most 100000000 are read"));
  CHECK(contains(header_refusal(with_length(99'999'999, "{}")), "the file has 2 more"));
  ReadOptions small;
  small.max_bytes = 10;
  CHECK(contains(error_of([&] { open(file("{             }"), small); }), "at most 10 are read"));
  const PipeSource pipe(with_length(99'999'999, "{}"));
  CHECK(contains(error_of([&] { SafetensorsFile file(pipe.open()); }), "more than there are"));
  // Reading refuses deep nesting at the fourth level, whatever follows.
  CHECK(contains(header_refusal(file(std::string(1'000'000, '{'))), "not valid JSON"));
  std::string deep = "{\"a\":{\"shape\":";
  CHECK(contains(header_refusal(file(deep + std::string(1'000'000, '['))), "a list in 'shape'"));
}

TEST_CASE("safetensors: the limit applies to the tensor that is read, not to the file") {
  const std::string bytes = file("{" + tensor("big", "U8", "1000", "0,1000") + "," +
                                     tensor("small", "U8", "2", "1000,1002") + "}",
                                 std::string(1002, 'x'));
  ReadOptions options;
  options.max_bytes = 200;
  SafetensorsFile opened = open(bytes, options);
  CHECK(opened.read("small", options).elements() == 2);
  CHECK(contains(error_of([&] { opened.read("big", options); }), "the limit is 200"));
}

TEST_CASE("safetensors: a pipe is read from front to back") {
  const std::string bytes =
      file("{" + tensor("a", "U8", "2", "0,2") + "," + tensor("b", "U8", "2", "2,4") + "}", "wxyz");
  const PipeSource pipe(bytes);
  SafetensorsFile opened(pipe.open());
  CHECK(text_of(opened.read("b").bytes()) == "yz");
  CHECK(contains(error_of([&] { opened.read("a"); }), "a pipe is read front to back"));
  const PipeSource cut(bytes.substr(0, bytes.size() - 1));
  SafetensorsFile truncated(cut.open());
  CHECK(contains(error_of([&] { truncated.read("b"); }), "expected 2 bytes of data, got 1"));
}

TEST_CASE("append: the other arrays of a container are kept") {
  const std::string suffix = GENERATE(".npz", ".safetensors");
  const Scratch folder;
  const std::string path = folder / ("m" + suffix);
  const Tensor first = counting(DType::kBool, {5, 5});
  const Tensor second = counting(DType::kFloat32, {2, 3});
  const Tensor third = counting(DType::kInt64, {7});
  WriteOptions append;
  append.append = true;
  write_array(path + ":a", first, append);  // makes the file when there is none
  write_array(path + ":b", second, append);
  CHECK(error_of([&] { write_array(path + ":a", third, append); }) ==
        path + ": already holds an array 'a'");
  CHECK(contains(error_of([&] { write_array(path, third); }), " exists and holds 2 arrays"));
  const auto same = [&](const std::string& key, const Tensor& expected) {
    const Tensor back = read_array(path + ":" + key);
    return back.dtype() == expected.dtype() && back.shape() == expected.shape() &&
           std::ranges::equal(back.bytes(), expected.bytes());
  };
  CHECK(same("a", first));
  CHECK(same("b", second));
  append.force = true;
  write_array(path + ":a", third, append);
  CHECK(same("a", third));
  CHECK(same("b", second));
  spit(folder / "other.npz", "no archive");
  CHECK(contains(error_of([&] { write_array((folder / "other.npz") + ":a", first, append); }),
                 "it looks like text; adding arrays needs an .npz"));
  CHECK(contains(error_of([&] { write_array(folder / "x.npy", first, append); }),
                 "arrays are added to a container"));
  CHECK(folder.entries() == 2);
}

TEST_CASE("append: an .npz equals one that is written at once, and metadata is kept") {
  const Scratch folder;
  const Tensor a = counting(DType::kBool, {5, 5});
  const Tensor b = counting(DType::kFloat32, {2, 3});
  const ArrayRef both[] = {{"a", &a}, {"b", &b}};
  write_arrays(folder / "once.npz", both);
  WriteOptions append;
  append.append = true;
  write_array((folder / "twice.npz") + ":a", a, append);
  write_array((folder / "twice.npz") + ":b", b, append);
  CHECK(slurp(folder / "once.npz") == slurp(folder / "twice.npz"));

  const std::string path = folder / "m.safetensors";
  spit(path,
       file("{\"__metadata__\":{\"format\":\"pt\"}," + tensor("w", "F8_E5M2FNUZ", "2", "0,2") + "}",
            "xy"));
  write_array(path + ":a", a, append);
  SafetensorsFile opened{ByteSource(path)};
  CHECK(opened.header().metadata ==
        std::vector<std::pair<std::string, std::string>>{{"format", "pt"}});
  CHECK(opened.header().entries[0].dtype_name == "F8_E5M2FNUZ");
  CHECK(std::ranges::equal(opened.read("a").bytes(), a.bytes()));
}

TEST_CASE("safetensors: invalid names are refused") {
  const Scratch folder;
  const Tensor a = counting(DType::kBool, {1});
  const auto write = [&](std::vector<ArrayRef> arrays) {
    return error_of([&] { write_arrays(folder / "m.safetensors", arrays); });
  };
  CHECK(contains(write({{"", &a}}), "cannot name a tensor"));
  CHECK(contains(write({{"__metadata__", &a}}), "cannot name a tensor"));
  CHECK(contains(write({{"x", &a}, {"x", &a}}), "two tensors named 'x'"));
  CHECK(contains(write({{"\xff", &a}}), "not UTF-8"));
  CHECK(folder.entries() == 0);
}
