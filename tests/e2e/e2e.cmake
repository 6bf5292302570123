# Whole programs, as users run them.
sotto_gtest(minimal_example_test
  LIBRARIES sotto::server
  SOURCES e2e/minimal_example_test.cc ${PROJECT_SOURCE_DIR}/examples/minimal/main.cc)
# The test program has a main() already.
set_source_files_properties(${PROJECT_SOURCE_DIR}/examples/minimal/main.cc
                            PROPERTIES COMPILE_DEFINITIONS main=RunMinimalDevice)

if(NOT SOTTO_SANITIZE)
  add_test(NAME e2e.quickstart
           COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/e2e/quickstart_test.sh ${PROJECT_SOURCE_DIR}
                   ${CMAKE_CURRENT_BINARY_DIR}/e2e/quickstart)
  set_tests_properties(e2e.quickstart PROPERTIES LABELS e2e TIMEOUT 1200 PROCESSORS 2)
endif()
