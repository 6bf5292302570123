# libcsv from source. To be included by this folder's CMakeLists.txt, for foreign Linux, in the place of
# sotto_optional(CSV ...). libcsv is LGPL 2.1 or later: toolchains/BUILDING.md says what that asks of somebody who
# passes the program on.
if(NOT EXISTS ${SOTTO_LIBCSV_SOURCE_DIR}/libcsv.c)
  message(FATAL_ERROR "There is no ${SOTTO_LIBCSV_SOURCE_DIR}/libcsv.c. Fetch the source once:\n"
          "  toolchains/fetch-source.sh build/cache bookworm libcsv=3.0.3\n"
          "or set SOTTO_LIBCSV_SOURCE_DIR, or go without CSV files: -DSOTTO_LIBCSV_SOURCE_DIR=")
endif()
add_library(sotto_libcsv STATIC ${SOTTO_LIBCSV_SOURCE_DIR}/libcsv.c)
set(SOTTO_HAS_CSV ON)
set(SOTTO_CSV_INCLUDE_DIRS ${SOTTO_LIBCSV_SOURCE_DIR})
set(SOTTO_CSV_LIBRARIES sotto_libcsv)
