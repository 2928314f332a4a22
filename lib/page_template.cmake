# Writes OUT, a source that holds the text of the page in FOLDER with its styles and scripts.
file(READ ${FOLDER}/page.html page)
file(READ ${FOLDER}/page.css style)
string(REPLACE "%%style%%" "${style}" page "${page}")
set(scripts)
foreach(name IN ITEMS runs view words lists page)
  file(READ ${FOLDER}/${name}.js script)
  string(APPEND scripts "${script}")
endforeach()
string(REPLACE "%%scripts%%" "${scripts}" page "${page}")
file(WRITE ${OUT} "#include \"maskctl/render/page/template.h\"

namespace maskctl {

std::string_view page_template() {
  return R\"~page~(${page})~page~\";
}

}  // namespace maskctl
")
