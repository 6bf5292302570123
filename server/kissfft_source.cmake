# kissfft from source, in float and double. To be included by privacy.cmake, where there is no package for the target.
if(NOT EXISTS ${SOTTO_KISSFFT_SOURCE_DIR}/kiss_fftr.c)
  message(FATAL_ERROR "There is no ${SOTTO_KISSFFT_SOURCE_DIR}/kiss_fftr.c. Fetch the source once:\n"
          "  toolchains/fetch-source.sh build/cache bookworm kissfft=131.1.0\n"
          "or set SOTTO_KISSFFT_SOURCE_DIR.")
endif()
add_library(sotto_kissfft STATIC
  ${SOTTO_KISSFFT_SOURCE_DIR}/kiss_fft.c
  ${SOTTO_KISSFFT_SOURCE_DIR}/kiss_fftnd.c
  ${SOTTO_KISSFFT_SOURCE_DIR}/kiss_fftr.c)
add_library(kissfft::kissfft ALIAS sotto_kissfft)
# Sources include its headers from a folder of its name.
set(sotto_kissfft_headers ${CMAKE_CURRENT_BINARY_DIR}/kissfft_headers)
file(MAKE_DIRECTORY ${sotto_kissfft_headers})
file(CREATE_LINK ${SOTTO_KISSFFT_SOURCE_DIR} ${sotto_kissfft_headers}/kissfft SYMBOLIC)
target_include_directories(sotto_kissfft SYSTEM PUBLIC $<BUILD_INTERFACE:${sotto_kissfft_headers}>)
# Debian compiles its library with -ffast-math, in which GCC adds in another order: last bits of a smoothed model differ.
target_compile_definitions(sotto_kissfft PUBLIC kiss_fft_scalar=float)
target_compile_options(sotto_kissfft PRIVATE -ffp-contract=off)
if(SOTTO_SERVER)
  install(TARGETS sotto_kissfft EXPORT sottoLabTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT lab)
endif()
