# cmake -DPROGRAM=... -DNAME=... -DOUT=... "-DPROPERTIES=NAME VALUE..." -P suites.cmake
# Writes to OUT a CTest test for each suite of a GoogleTest program, NAME.SUITE, for a build in which a program takes
# long to start. The suites with the most cases start first.
execute_process(COMMAND "${PROGRAM}" --gtest_list_tests OUTPUT_VARIABLE listed RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} does not list its tests: ${result}")
endif()
string(REPLACE ";" "," listed "${listed}")
string(REPLACE "\n" ";" lines "${listed}")
set(suites "")
foreach(line IN LISTS lines)
  if(line MATCHES "^([A-Za-z0-9_/]+)[.]( |$)")
    set(suite "${CMAKE_MATCH_1}")
    list(APPEND suites "${suite}")
    set("cases_of_${suite}" 0)
  elseif(line MATCHES "^  ")
    math(EXPR "cases_of_${suite}" "${cases_of_${suite}} + 1")
  endif()
endforeach()
set(tests "")
foreach(suite IN LISTS suites)
  string(APPEND tests
    "add_test([=[${NAME}.${suite}]=] [=[${PROGRAM}]=] [=[--gtest_filter=${suite}.*]=])\n"
    "set_tests_properties([=[${NAME}.${suite}]=] PROPERTIES COST ${cases_of_${suite}} ${PROPERTIES})\n")
endforeach()
file(WRITE "${OUT}" "${tests}")
