# golden.<cpu>_<level>: builds and runs `golden` for every CPU, as tests of the host's build.
if(SOTTO_SANITIZE)
  return()
endif()
foreach(cpu host aarch64 armhf cortex-m3 cortex-m4 cortex-m7 cortex-m33 cortex-m55)
  foreach(level O2 Os)
    string(REPLACE - _ name golden.${cpu}_${level})
    add_test(NAME ${name}
             COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/golden/cross.sh ${PROJECT_SOURCE_DIR} ${cpu}
                     ${level} -DSOTTO_WARNINGS_AS_ERRORS=${SOTTO_WARNINGS_AS_ERRORS})
    set_tests_properties(${name} PROPERTIES LABELS golden COST 12 SKIP_RETURN_CODE 77 TIMEOUT 600)
  endforeach()
endforeach()
