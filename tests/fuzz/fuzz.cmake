# fuzz.<target>: 5 seconds of fuzzing each, as tests of the host's build. fuzz.build builds the
# preset host-fuzz in build/fuzz first.
if(SOTTO_SANITIZE)
  return()
endif()
set(sotto_fuzz_script ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/fuzz.sh)
add_test(NAME fuzz.build
         COMMAND bash ${sotto_fuzz_script} build ${PROJECT_SOURCE_DIR}
                 -DSOTTO_UNITY=ON -DSOTTO_SDK_UNITY=ON -DSOTTO_WARNINGS_AS_ERRORS=${SOTTO_WARNINGS_AS_ERRORS})
set_tests_properties(fuzz.build PROPERTIES LABELS fuzz COST 30 SKIP_RETURN_CODE 77 TIMEOUT 600
                     FIXTURES_SETUP fuzz_programs)
foreach(target range_coder update_decoder update_round_trip model_difference frame_link packets peer_packets
        proxy_header files datasets model_file accountants)
  add_test(NAME fuzz.${target}
           COMMAND bash ${sotto_fuzz_script} run ${PROJECT_SOURCE_DIR} ${target} 5)
  set_tests_properties(fuzz.${target} PROPERTIES LABELS fuzz COST 30 SKIP_RETURN_CODE 77 TIMEOUT 300
                       FIXTURES_REQUIRED fuzz_programs)
endforeach()
