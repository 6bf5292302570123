# cmake -DOUT=FILE.cc -DFILES=PATH=FILE;... -P embed.cmake
# Writes the table kBuiltInFiles of server/src/base/built_in.h: the text of each FILE under its PATH.
set(text "// Made by server/embed.cmake.\n#include \"base/built_in.h\"\n\n")
string(APPEND text "namespace sotto::server {\n\nconst std::vector<BuiltInFile> kBuiltInFiles = {\n")
foreach(entry IN LISTS FILES)
  string(FIND "${entry}" "=" at)
  string(SUBSTRING "${entry}" 0 ${at} path)
  math(EXPR at "${at} + 1")
  string(SUBSTRING "${entry}" ${at} -1 file)
  file(READ "${file}" content)
  string(APPEND text "    {\"${path}\", R\"built_in(${content})built_in\"},\n")
endforeach()
string(APPEND text "};\n\n}  // namespace sotto::server\n")
file(WRITE "${OUT}" "${text}")
