#include "maskctl/pipeline/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/io/formats/png/png.h"
#include "maskctl/io/streams/byte_sink.h"
#include "maskctl/io/streams/deflate.h"
#include "maskctl/render/page/page.h"
#include "maskctl/render/picture/markup.h"
#include "maskctl/render/picture/raster.h"
#include "maskctl/render/picture/svg.h"

namespace maskctl {
namespace {

std::string lower_suffix(std::string_view dest) {
  std::string suffix(dest.substr(std::min(dest.rfind('.'), dest.size())));
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  std::transform(suffix.begin(), suffix.end(), suffix.begin(), lower);
  return suffix;
}

std::optional<PictureFormat> format_of(std::string_view dest) {
  const std::string suffix = lower_suffix(dest);
  if (suffix == ".png") return PictureFormat::kPng;
  if (suffix == ".svg") return PictureFormat::kSvg;
  if (suffix == ".html" || suffix == ".htm") return PictureFormat::kHtml;
  return std::nullopt;
}

std::vector<std::byte> encode(const Raster& raster) {
  std::vector<std::array<std::uint8_t, 3>> palette;
  for (const Rgb& color : raster.palette) palette.push_back({color.r, color.g, color.b});
  return png_bytes({raster.width, raster.height, palette, raster.pixels});
}

std::string html(const PageData& data) { return draw_page(data, base64(deflated(data.runs))); }

std::string_view suffix_of(PictureFormat format) {
  constexpr std::string_view kSuffixes[] = {".png", ".svg", ".html"};
  return kSuffixes[static_cast<std::size_t>(format)];
}

}  // namespace

PictureFormat picture_format(std::string_view dest) {
  if (const auto format = format_of(dest)) return *format;
  throw Error(
      Errc::kInvalidArgument,
      fmt::format("{}: pictures are .png, .svg or .html; {}", printable(dest),
                  lower_suffix(dest) == ".pdf" ? "rsvg-convert -f pdf makes a PDF of an .svg"
                                               : "give a name that ends in one"));
}

bool is_picture_name(std::string_view dest) { return format_of(dest).has_value(); }

std::string picture_bytes(PictureFormat format, const Figure& figure,
                          const PictureOptions& options) {
  if (format == PictureFormat::kSvg) return draw_svg(figure, options);
  if (format == PictureFormat::kHtml) return html(page_data(figure, options));
  const std::vector<std::byte> png = encode(draw_raster(figure, options));
  return {reinterpret_cast<const char*>(png.data()), png.size()};
}

std::vector<std::string> write_picture(const std::string& dest, const Figure& figure,
                                       const PictureOptions& options, const WriteOptions& write) {
  return write_picture(dest, picture_format(dest), figure, options, write);
}

std::vector<std::string> write_picture(const std::string& dest, PictureFormat format,
                                       const Figure& figure, const PictureOptions& options,
                                       const WriteOptions& write) {
  ByteSink sink(dest, write, format == PictureFormat::kPng ? suffix_of(format) : "");
  std::vector<std::string> remarks;
  if (format == PictureFormat::kHtml) {
    PageData data = page_data(figure, options);
    sink.write(html(data));
    remarks = std::move(data.remarks);
  } else {
    sink.write(picture_bytes(format, figure, options));
  }
  sink.commit();
  return remarks;
}

}  // namespace maskctl
