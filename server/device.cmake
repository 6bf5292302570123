# sotto::device: what the server's simulated devices and sotto-client share, with what a client needs
# and nothing of a server. Its libraries are zlib, fmt and CLI11: the system's, or where
# SOTTO_ZLIB_SOURCE_DIR is set, for foreign Linux, zlib from that source and the other two as headers.
set(SOTTO_ZLIB_SOURCE_DIR "" CACHE PATH "Source of zlib, to be built along")

find_path(SOTTO_CLI11_INCLUDE_DIR CLI/CLI.hpp PATHS /usr/include NO_CMAKE_FIND_ROOT_PATH REQUIRED
          DOC "Folder that holds CLI/CLI.hpp (Debian: libcli11-dev)")
set(sotto_device_includes ${SOTTO_CLI11_INCLUDE_DIR})
if(SOTTO_ZLIB_SOURCE_DIR)
  include(device_source.cmake)
else()
  find_package(ZLIB REQUIRED)
  find_package(fmt CONFIG REQUIRED)
  set_target_properties(ZLIB::ZLIB fmt::fmt fmt::fmt-header-only PROPERTIES IMPORTED_GLOBAL TRUE)
endif()

add_library(sotto_device STATIC
  src/data/idx.cc
  src/data/partition.cc
  src/round/run_key.cc
  src/round/seeded_entropy.cc)
add_library(sotto::device ALIAS sotto_device)
target_include_directories(sotto_device PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/src)
target_include_directories(sotto_device SYSTEM PUBLIC ${sotto_device_includes})
target_link_libraries(sotto_device PUBLIC sotto::sdk sotto::tls sotto::port_posix fmt::fmt
                                   PRIVATE ZLIB::ZLIB)
sotto_own_sources(sotto_device)
