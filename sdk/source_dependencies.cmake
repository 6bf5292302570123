# Mbed TLS and nanopb from source. To be included by dependencies.cmake, which see.
foreach(needed ${SOTTO_MBEDTLS_SOURCE_DIR}/library/sha256.c ${SOTTO_NANOPB_SOURCE_DIR}/pb_common.c)
  if(NOT EXISTS ${needed})
    message(FATAL_ERROR "There is no ${needed}. Fetch the sources once:\n"
            "  toolchains/fetch-source.sh build/cache bookworm mbedtls=2.28 nanopb=0.4.7\n"
            "or set SOTTO_MBEDTLS_SOURCE_DIR and SOTTO_NANOPB_SOURCE_DIR, both or neither.")
  endif()
endforeach()

# What sotto::sdk calls, and the rest. Each file is empty where the configuration leaves it out.
set(sotto_mbedcrypto_sources)
foreach(name chacha20 platform_util sha256)
  list(APPEND sotto_mbedcrypto_sources ${SOTTO_MBEDTLS_SOURCE_DIR}/library/${name}.c)
endforeach()
file(GLOB sotto_mbedtls_sources CONFIGURE_DEPENDS ${SOTTO_MBEDTLS_SOURCE_DIR}/library/*.c)
list(REMOVE_ITEM sotto_mbedtls_sources ${sotto_mbedcrypto_sources})
add_library(sotto_mbedcrypto STATIC ${sotto_mbedcrypto_sources})
add_library(sotto_mbedtls STATIC ${sotto_mbedtls_sources})
target_link_libraries(sotto_mbedtls PUBLIC sotto_mbedcrypto)
if(NOT SOTTO_HAS_TLS)
  set_target_properties(sotto_mbedtls PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
# Under the names that the system's libraries have here.
add_library(sotto::mbedcrypto ALIAS sotto_mbedcrypto)
add_library(sotto::mbedx509 ALIAS sotto_mbedtls)
add_library(sotto::mbedtls ALIAS sotto_mbedtls)
foreach(library sotto_mbedcrypto sotto_mbedtls)
  target_include_directories(${library} SYSTEM PUBLIC
    $<BUILD_INTERFACE:${SOTTO_MBEDTLS_SOURCE_DIR}/include>)
  target_include_directories(${library} PUBLIC $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_definitions(${library} PRIVATE ${sotto_mbedtls_definition})
endforeach()

# The keystream is most of what encoding costs: on a Cortex-M4, 300 bytes more halve it.
set_source_files_properties(${SOTTO_MBEDTLS_SOURCE_DIR}/library/chacha20.c PROPERTIES
                            COMPILE_OPTIONS "$<$<CONFIG:MinSizeRel>:-O2>")

add_library(sotto_nanopb STATIC
  ${SOTTO_NANOPB_SOURCE_DIR}/pb_common.c
  ${SOTTO_NANOPB_SOURCE_DIR}/pb_decode.c
  ${SOTTO_NANOPB_SOURCE_DIR}/pb_encode.c)
target_include_directories(sotto_nanopb SYSTEM PRIVATE ${SOTTO_NANOPB_SOURCE_DIR})

set(sotto_sdk_dependencies sotto_mbedcrypto sotto_nanopb)
set(sotto_tls_dependencies sotto_mbedtls)
set(sotto_dependency_includes ${SOTTO_MBEDTLS_SOURCE_DIR}/include ${SOTTO_NANOPB_SOURCE_DIR})

# An installed SDK brings them: sotto::mbedcrypto, sotto::mbedtls with its headers, and sotto::nanopb.
set(sotto_installed_dependencies sotto_mbedcrypto sotto_nanopb)
if(SOTTO_HAS_TLS)
  list(APPEND sotto_installed_dependencies sotto_mbedtls)
  install(DIRECTORY ${SOTTO_MBEDTLS_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT sdk
          FILES_MATCHING PATTERN "*.h")
endif()
if(sotto_mbedtls_config)
  # With the configuration that it was compiled with.
  install(FILES ${sotto_mbedtls_config} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT sdk
          RENAME sotto_mbedtls_config.h)
  target_compile_definitions(sotto_mbedcrypto INTERFACE
    $<INSTALL_INTERFACE:MBEDTLS_CONFIG_FILE="sotto_mbedtls_config.h">)
endif()
foreach(library mbedcrypto mbedtls nanopb)
  set_target_properties(sotto_${library} PROPERTIES EXPORT_NAME ${library})
endforeach()
install(TARGETS ${sotto_installed_dependencies} EXPORT sottoTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT sdk)
