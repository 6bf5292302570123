# zlib from source, fmt, CLI11, toml++ and nlohmann-json as headers. To be included by this folder's CMakeLists.txt,
# for foreign Linux.
if(NOT EXISTS ${SOTTO_ZLIB_SOURCE_DIR}/gzread.c)
  message(FATAL_ERROR "There is no ${SOTTO_ZLIB_SOURCE_DIR}/gzread.c. Fetch the source once:\n"
          "  toolchains/fetch-source.sh build/cache bookworm zlib=1.2.13\n"
          "or set SOTTO_ZLIB_SOURCE_DIR, or turn the client off: -DSOTTO_CLIENT=OFF.")
endif()
set(sotto_zlib_sources)
foreach(name adler32 compress crc32 deflate gzclose gzlib gzread gzwrite infback inffast inflate
             inftrees trees uncompr zutil)
  list(APPEND sotto_zlib_sources ${SOTTO_ZLIB_SOURCE_DIR}/${name}.c)
endforeach()
add_library(sotto_zlib STATIC ${sotto_zlib_sources})
add_library(ZLIB::ZLIB ALIAS sotto_zlib)
target_compile_definitions(sotto_zlib PRIVATE HAVE_UNISTD_H _LARGEFILE64_SOURCE=1)
target_include_directories(sotto_zlib SYSTEM PUBLIC ${SOTTO_ZLIB_SOURCE_DIR})

find_path(SOTTO_FMT_INCLUDE_DIR fmt/format.h PATHS /usr/include NO_CMAKE_FIND_ROOT_PATH REQUIRED
          DOC "Folder that holds fmt/format.h (Debian: libfmt-dev)")
# The host's /usr/include must stay out of a cross compile: show it what it needs.
set(sotto_data_includes ${CMAKE_CURRENT_BINARY_DIR}/dependency_headers)
file(MAKE_DIRECTORY ${sotto_data_includes})
file(CREATE_LINK ${SOTTO_CLI11_INCLUDE_DIR}/CLI ${sotto_data_includes}/CLI SYMBOLIC)
file(CREATE_LINK ${SOTTO_TOMLPLUSPLUS_INCLUDE_DIR}/toml++ ${sotto_data_includes}/toml++ SYMBOLIC)
file(CREATE_LINK ${SOTTO_FMT_INCLUDE_DIR}/fmt ${sotto_data_includes}/fmt SYMBOLIC)
if(SOTTO_JSON_INCLUDE_DIR)
  file(CREATE_LINK ${SOTTO_JSON_INCLUDE_DIR}/nlohmann ${sotto_data_includes}/nlohmann SYMBOLIC)
endif()
add_library(sotto_fmt INTERFACE)
add_library(fmt::fmt ALIAS sotto_fmt)
target_compile_definitions(sotto_fmt INTERFACE FMT_HEADER_ONLY)
target_include_directories(sotto_fmt SYSTEM INTERFACE ${sotto_data_includes})
