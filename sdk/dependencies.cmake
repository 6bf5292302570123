# What the SDK is built on: Eigen's headers, Mbed TLS, nanopb. The latter two in three ways, in this order:
#   from source       SOTTO_MBEDTLS_SOURCE_DIR and SOTTO_NANOPB_SOURCE_DIR: for a target that has no
#                     packages, bare metal or foreign Linux (toolchains/fetch-source.sh fetches both)
#   system's          the installed libraries
#   headers only      bare metal without sources: the SDK's archive, for a project that brings both
# Sets
#   sotto_sdk_dependencies, sotto_tls_dependencies   targets to link to
#   sotto_dependency_includes                        folders of headers
#   sotto_mbedtls_definition                         which header configures Mbed TLS, if any
#   SOTTO_HAS_TLS                                    whether sotto::tls is built
#   SOTTO_FINDS_LIBRARIES                            whether an installed SDK needs installed libraries
option(SOTTO_EIGEN "Kernels by Eigen; OFF: by the SDK's own lanes, which give the same bits" ON)
if(SOTTO_EIGEN OR SOTTO_SERVER)
  find_path(SOTTO_EIGEN_INCLUDE_DIR Eigen/Core PATHS /usr/include/eigen3
            NO_CMAKE_FIND_ROOT_PATH REQUIRED
            DOC "Folder that holds Eigen/Core (Debian: libeigen3-dev); or -DSOTTO_EIGEN=OFF")
endif()
find_program(SOTTO_NANOPB_GENERATOR nanopb_generator.py REQUIRED
             DOC "nanopb's generator, run as it is (Debian: nanopb)")
set(SOTTO_MBEDTLS_SOURCE_DIR "" CACHE PATH "Source of Mbed TLS, to be built along")
set(SOTTO_NANOPB_SOURCE_DIR "" CACHE PATH "Source of nanopb, to be built along")
set(SOTTO_MBEDTLS_CONFIG "" CACHE FILEPATH
    "Header that configures Mbed TLS (MBEDTLS_CONFIG_FILE); bare metal needs one for sotto::tls")

# The header that the system's Mbed TLS is configured with needs an operating system.
set(sotto_mbedtls_config ${SOTTO_MBEDTLS_CONFIG})
if(NOT sotto_mbedtls_config AND NOT SOTTO_IS_HOSTED)
  set(sotto_mbedtls_config ${CMAKE_CURRENT_SOURCE_DIR}/src/crypto/mbedtls_config.h)
endif()
set(sotto_mbedtls_definition)
if(sotto_mbedtls_config)
  set(sotto_mbedtls_definition MBEDTLS_CONFIG_FILE="${sotto_mbedtls_config}")
endif()

set(SOTTO_HAS_TLS OFF)
set(SOTTO_FINDS_LIBRARIES OFF)
if(SOTTO_IS_HOSTED OR SOTTO_MBEDTLS_CONFIG)
  set(SOTTO_HAS_TLS ON)
endif()

if(SOTTO_MBEDTLS_SOURCE_DIR OR SOTTO_NANOPB_SOURCE_DIR)
  include(source_dependencies.cmake)
  return()
endif()

find_path(SOTTO_MBEDTLS_INCLUDE_DIR mbedtls/sha256.h PATHS /usr/include
          NO_CMAKE_FIND_ROOT_PATH REQUIRED
          DOC "Folder that holds mbedtls/ (Debian: libmbedtls-dev)")
if(SOTTO_IS_HOSTED)
  set(SOTTO_FINDS_LIBRARIES ON)
  foreach(part mbedtls mbedx509 mbedcrypto)
    string(TOUPPER ${part} upper)
    find_library(SOTTO_${upper}_LIBRARY ${part} REQUIRED
                 DOC "Mbed TLS library ${part} (Debian: libmbedtls-dev)")
    # A name instead of a path, so that an installed SDK looks for the library where it is then.
    add_library(sotto::${part} UNKNOWN IMPORTED GLOBAL)
    set_target_properties(sotto::${part} PROPERTIES IMPORTED_LOCATION ${SOTTO_${upper}_LIBRARY})
  endforeach()
  find_package(nanopb CONFIG REQUIRED)
  set_target_properties(nanopb::protobuf-nanopb-static PROPERTIES IMPORTED_GLOBAL TRUE)
  set(sotto_sdk_dependencies sotto::mbedcrypto nanopb::protobuf-nanopb-static)
  set(sotto_tls_dependencies sotto::mbedtls sotto::mbedx509 sotto::mbedcrypto)
  set(sotto_dependency_includes ${SOTTO_MBEDTLS_INCLUDE_DIR})
  return()
endif()

find_path(SOTTO_NANOPB_INCLUDE_DIR pb.h PATHS /usr/include
          NO_CMAKE_FIND_ROOT_PATH REQUIRED
          DOC "Folder that holds pb.h (Debian: libnanopb-dev)")
# The host's /usr/include must stay out of a bare-metal compile: show it what it needs.
set(sotto_dependency_includes ${CMAKE_CURRENT_BINARY_DIR}/dependency_headers)
file(MAKE_DIRECTORY ${sotto_dependency_includes})
foreach(folder mbedtls psa)  # psa: Mbed TLS 3
  if(EXISTS ${SOTTO_MBEDTLS_INCLUDE_DIR}/${folder})
    file(CREATE_LINK ${SOTTO_MBEDTLS_INCLUDE_DIR}/${folder} ${sotto_dependency_includes}/${folder}
         SYMBOLIC)
  endif()
endforeach()
foreach(header pb.h pb_common.h pb_decode.h pb_encode.h)
  file(CREATE_LINK ${SOTTO_NANOPB_INCLUDE_DIR}/${header} ${sotto_dependency_includes}/${header}
       SYMBOLIC)
endforeach()
