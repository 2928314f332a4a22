// The grammar of .npy headers: which headers are read, which are refused, and the messages.
#include "io/array_support.h"
#include "maskctl/io/formats/npy/npy.h"

using namespace maskctl;
using namespace maskctl::test;

namespace {

NpyHeader parse(const std::string& text) { return parse_npy_header(text); }
std::string refusal(const std::string& text) {
  return error_of([&] { parse(text); });
}
std::string refused_shape(const std::string& shape) { return refusal(dictionary("<f4", shape)); }
std::string refused_descr(const std::string& descr) { return refusal(dictionary(descr, "(2,)")); }

}  // namespace

TEST_CASE("npy header: numpy's own form is read") {
  const NpyHeader header =
      parse("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }            \n");
  CHECK(header.dtype == DType::kFloat64);
  CHECK(header.fortran_order);
  CHECK_FALSE(header.big_endian);
  CHECK(header.shape == std::vector<Index>{2, 3});
  CHECK(header.data_bytes == 48);
  CHECK(header.elements() == 6);
}

TEST_CASE("npy header: other order, double quotes, odd blanks and long integers are read") {
  CHECK(parse(R"({"shape":(2L,3L),"fortran_order":False,"descr":"|b1"})").shape ==
        std::vector<Index>{2, 3});
  CHECK(parse("\n { 'shape' :\t( 4 , ) , 'descr':'<i4','fortran_order':\nFalse , } \r\n").shape ==
        std::vector<Index>{4});
  CHECK(parse(dictionary("<i4", "()")).data_bytes == 4);
  CHECK(parse(dictionary("<i4", "(0, 4)")).data_bytes == 0);
  CHECK(parse(dictionary("<i4", "(1,1,1,1,1,1,1,2)")).shape.size() == 8);
}

TEST_CASE("npy header: every spelling of the element types is read") {
  const auto dtype = [](const std::string& descr) { return parse(dictionary(descr, "()")).dtype; };
  for (const char* text : {"|b1", "?", "bool", "b1"}) CHECK(dtype(text) == DType::kBool);
  for (const char* text : {"|i1", "i1", "<i1", ">i1"}) CHECK(dtype(text) == DType::kInt8);
  CHECK(dtype("|u1") == DType::kUInt8);
  for (const char* text : {"<i4", ">i4", "=i4", "i4"}) CHECK(dtype(text) == DType::kInt32);
  CHECK(dtype("<i2") == DType::kInt16);
  CHECK(dtype("<i8") == DType::kInt64);
  CHECK(dtype("<u2") == DType::kUInt16);
  CHECK(dtype("<u4") == DType::kUInt32);
  CHECK(dtype("<u8") == DType::kUInt64);
  CHECK(dtype("<f2") == DType::kFloat16);
  CHECK(dtype(">f4") == DType::kFloat32);
  CHECK(dtype("f8") == DType::kFloat64);
  CHECK(dtype("bfloat16") == DType::kBFloat16);
  CHECK(parse(dictionary(">i4", "()")).big_endian);
  CHECK_FALSE(parse(dictionary("=i4", "()")).big_endian);
  CHECK_FALSE(parse(dictionary(">i1", "()")).big_endian);
}

TEST_CASE("npy header: untyped elements of two bytes are bfloat16") {
  for (const char* descr : {"|V2", "<V2", "V2"}) {
    CHECK(parse_npy_header(dictionary(descr, "(3,)")).dtype == DType::kBFloat16);
  }
}

TEST_CASE("npy header: the error about an unreadable element type names it") {
  CHECK(refused_descr("|O") == "contains Python objects (pickle); maskctl never executes pickle");
  CHECK(refused_descr("O") == refused_descr("|O"));
  CHECK(contains(refused_descr("<f1"), "8-bit floats"));
  CHECK(contains(refused_descr("|V1"), "8-bit floats"));
  CHECK(contains(refused_descr("<f16"), "long double"));
  CHECK(contains(refused_descr("<c8"), "complex"));
  CHECK(contains(refused_descr("|S5"), "strings"));
  CHECK(contains(refused_descr("<U5"), "strings"));
  CHECK(contains(refused_descr("<M8[ns]"), "dates"));
  CHECK(contains(refused_descr("<m8"), "time differences"));
  CHECK(contains(refused_descr("|V8"), "raw bytes"));
  CHECK(contains(refused_descr("<i3"), "dtype '<i3'; expected bool"));
  CHECK(contains(refused_descr(""), "dtype ''"));
  CHECK(contains(refusal("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (2,)}"),
                 "structured dtype"));
  CHECK(contains(refusal("{'descr': ('<f4', (2,)), 'fortran_order': False, 'shape': (2,)}"),
                 "subarray dtype"));
  CHECK_FALSE(contains(refused_descr("\x1b[31m"), "\x1b"));
}

TEST_CASE("npy header: each of the three keys must be there once, and no other key") {
  CHECK(contains(refusal("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}"),
                 "'descr' appears twice"));
  CHECK(contains(refusal("{'shape': (1,), 'descr': '<f4', 'fortran_order': False, 'shape': ()}"),
                 "'shape' appears twice"));
  CHECK(contains(refusal("{'descr': '<f4', 'fortran_order': False, 'shape': (), 'x': 1}"),
                 "key 'x'; expected"));
  CHECK(contains(refusal("{'descr': '<f4', 'shape': ()}"), "'fortran_order' is missing"));
  CHECK(contains(refusal("{}"), "'descr' is missing"));
  CHECK(contains(refusal("{1: 2}"), "expected a key in quotes"));
}

TEST_CASE("npy header: shapes are tuples of whole numbers") {
  CHECK(contains(refused_shape("[2, 3]"), "expected a tuple"));
  CHECK(contains(refused_shape("True"), "expected a tuple"));
  CHECK(contains(refused_shape("3"), "expected a tuple"));
  CHECK(contains(refused_shape("(2.5,)"), "expected ')'"));
  CHECK(contains(refused_shape("(True,)"), "expected a whole number"));
  CHECK(contains(refused_shape("(0x4,)"), "expected ')'"));
  CHECK(contains(refused_shape("(010,)"), "leading zero"));
  CHECK(contains(refused_shape("(-1,)"), "negative dimension"));
  CHECK(contains(refused_shape("(,)"), "expected a whole number"));
  CHECK(contains(refused_shape("(2 3)"), "expected ')'"));
  CHECK(contains(refused_shape("(2,,3)"), "expected a whole number"));
  CHECK(contains(refused_shape("(((((((((((("), "expected a whole number"));
  CHECK(contains(refused_shape("(9223372036854775808,)"), "does not fit 64 bits"));
  CHECK(contains(refused_shape("(99999999999999999999999999,)"), "does not fit 64 bits"));
  CHECK(contains(refused_shape("(4294967296, 4294967296)"), "does not fit 64 bits"));
  CHECK(contains(refused_shape("(0, 9223372036854775807, 9223372036854775807)"),
                 "does not fit 64 bits"));
  // The number fits, but not its product with the size of an element.
  CHECK(contains(refused_shape("(9223372036854775807,)"), "does not fit 64 bits"));
  CHECK(contains(refused_shape("(1,1,1,1,1,1,1,1,1)"), "more than 8 dimensions"));
}

TEST_CASE("npy header: broken dictionaries are refused") {
  CHECK(contains(refusal(dictionary("<f4", "()", "1")), "expected True or False"));
  CHECK(contains(refusal(dictionary("<f4", "()", "'True'")), "expected True or False"));
  CHECK(contains(refusal(dictionary("<f4", "()") + " x"), "after the dictionary"));
  CHECK(contains(refusal("{'descr': '<f4"), "without its closing quote"));
  CHECK(contains(refusal("{'descr': '<f4\", }"), "without its closing quote"));
  CHECK(contains(refusal(R"({'descr': '\x3cf4', 'shape': (), 'fortran_order': False})"),
                 "backslash"));
  CHECK(contains(refusal(""), "the end; expected '{'"));
  CHECK(contains(refusal("{'descr'"), "expected ':'"));
  CHECK(contains(refusal("{'descr': '<f4' 'shape': ()}"), "expected '}'"));
  CHECK(contains(refusal(std::string("{\0}", 3)), "expected a key"));
}

TEST_CASE("npy header: the bytes that are written are numpy's") {
  const Scratch scratch;
  python(scratch, R"(
shapes = [(), (0,), (1,), (7,), (0, 4), (2, 3), (128, 4096), (1, 2, 3, 4), (123456789, 1),
          (1,) * 8, (9,) * 8, (10 ** 15,)]
from numpy.lib import format as f
for i, s in enumerate(shapes):
    for d in ['|b1', '|i1', '<i8', '<u2', '<f2', '<f4', '<V2']:
        for o in [0, 1]:
            with open(f'{i}_{d[1:]}_{o}', 'wb') as out:
                f._write_array_header(out, {'descr': d, 'fortran_order': bool(o), 'shape': s})
)");
  const std::vector<std::vector<Index>> shapes = {{},
                                                  {0},
                                                  {1},
                                                  {7},
                                                  {0, 4},
                                                  {2, 3},
                                                  {128, 4096},
                                                  {1, 2, 3, 4},
                                                  {123456789, 1},
                                                  std::vector<Index>(8, 1),
                                                  std::vector<Index>(8, 9),
                                                  {1000000000000000}};
  const std::vector<std::pair<DType, std::string>> dtypes = {
      {DType::kBool, "b1"},    {DType::kInt8, "i1"},    {DType::kInt64, "i8"},
      {DType::kUInt16, "u2"},  {DType::kFloat16, "f2"}, {DType::kFloat32, "f4"},
      {DType::kBFloat16, "V2"}};
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    for (const auto& [dtype, code] : dtypes) {
      for (bool fortran : {false, true}) {
        const std::string file = std::to_string(i) + "_" + code + "_" + (fortran ? "1" : "0");
        INFO(file);
        CHECK(text_of(npy_header_bytes(dtype, shapes[i], fortran)) == slurp(scratch / file));
      }
    }
  }
}

TEST_CASE(
    "npy header: headers of more than 65535 bytes are written as version 2.0, as numpy does") {
  const Scratch scratch;
  for (int dimensions : {21810, 21820, 21830, 30000}) {
    const std::string n = std::to_string(dimensions);
    // Silences numpy's warning that headers of version 2.0 need numpy 1.9.
    python(scratch,
           "import warnings\nwarnings.simplefilter('ignore')\n"
           "from numpy.lib import format as f\n"
           "f._write_array_header(open('h" +
               n +
               "', 'wb'), {'descr': '|b1', "
               "'fortran_order': False, 'shape': (1,) * " +
               n + "})");
    const std::vector<Index> shape(static_cast<std::size_t>(dimensions), 1);
    CHECK(text_of(npy_header_bytes(DType::kBool, shape)) == slurp(scratch / ("h" + n)));
  }
}
