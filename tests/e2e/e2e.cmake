# Whole programs, as users run them.
# The test program has a main() already.
set(minimal_example ${PROJECT_SOURCE_DIR}/examples/minimal/main.cc)
set(minimal_c_example ${PROJECT_SOURCE_DIR}/examples/minimal_c/main.c)
sotto_gtest(minimal_example_test
  LIBRARIES sotto::server
  SOURCES e2e/minimal_example_test.cc ${minimal_example} ${minimal_c_example}
          ${PROJECT_SOURCE_DIR}/examples/minimal_c/models.cc)
set_source_files_properties(${minimal_example} PROPERTIES COMPILE_DEFINITIONS main=RunMinimalDevice)
set_source_files_properties(${minimal_c_example} PROPERTIES COMPILE_DEFINITIONS main=RunMinimalDeviceInC
                            COMPILE_OPTIONS -std=c99)

add_test(NAME e2e.serve_session
         COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/e2e/serve_session.sh ${PROJECT_SOURCE_DIR}
                 ${CMAKE_CURRENT_BINARY_DIR}/e2e/serve_session ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
set_tests_properties(e2e.serve_session PROPERTIES LABELS "e2e;live" SKIP_RETURN_CODE 77 TIMEOUT 600)

add_test(NAME e2e.haproxy
         COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/e2e/haproxy.sh ${PROJECT_SOURCE_DIR}
                 ${CMAKE_CURRENT_BINARY_DIR}/e2e/haproxy ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
set_tests_properties(e2e.haproxy PROPERTIES LABELS "e2e;live" SKIP_RETURN_CODE 77 TIMEOUT 600)

add_test(NAME e2e.frozen
         COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/e2e/frozen.sh ${PROJECT_SOURCE_DIR}
                 ${CMAKE_CURRENT_BINARY_DIR}/e2e/frozen ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
set_tests_properties(e2e.frozen PROPERTIES LABELS "e2e;live" TIMEOUT 120)

add_test(NAME e2e.directory
         COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/e2e/directory.sh ${PROJECT_SOURCE_DIR}
                 ${CMAKE_CURRENT_BINARY_DIR}/e2e/directory ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
set_tests_properties(e2e.directory PROPERTIES LABELS "e2e;live" TIMEOUT 120)

# Servers and clients as processes, over TCP on this machine.
sotto_gtest(live_test
  LIBRARIES sotto::policy sotto::server
  SOURCES e2e/attack.cc e2e/live.cc e2e/live_attack_test.cc e2e/live_audit_test.cc
          e2e/live_client_files_test.cc e2e/live_client_test.cc e2e/live_download_test.cc e2e/live_equality_test.cc
          e2e/live_fleet_test.cc e2e/live_hold_test.cc e2e/live_keep_test.cc e2e/live_personal_test.cc
          e2e/live_ledger_test.cc e2e/live_listening_peers_test.cc e2e/live_page_test.cc
          e2e/live_passes_test.cc e2e/live_peers_test.cc e2e/live_protocol_test.cc e2e/live_proxy_test.cc
          e2e/live_record_test.cc
          e2e/live_said_test.cc e2e/live_servers_test.cc e2e/live_store_test.cc
          e2e/live_swarm_test.cc e2e/live_test.cc e2e/live_tickets_test.cc
          e2e/live_views_test.cc e2e/peer_site.cc e2e/server_failure_test.cc
  DRIVES sotto_cli sotto_lab sotto_client
  COMPUTES LiveAudit LiveEquality LiveKills LiveLedgerTest LivePassesTest LiveRecordTest LiveSaidTest LiveSwarmTest
  TIMEOUT 600 LABEL live)
target_compile_definitions(live_test PRIVATE
  SOTTO_LAB_PROGRAM="$<TARGET_FILE:sotto_lab>" SOTTO_PROGRAM="$<TARGET_FILE:sotto_cli>" SOTTO_CLIENT_PROGRAM="$<TARGET_FILE:sotto_client>")

add_test(NAME e2e.postgres
         COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/e2e/postgres.sh ${CMAKE_CURRENT_BINARY_DIR}/e2e/postgres
                 ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
set_tests_properties(e2e.postgres PROPERTIES LABELS "e2e;live" SKIP_RETURN_CODE 77 TIMEOUT 900 COST 80)

if(NOT SOTTO_SANITIZE)
  add_test(NAME e2e.other_formats
           COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/e2e/other_formats.sh ${PROJECT_SOURCE_DIR}
                   ${CMAKE_CURRENT_BINARY_DIR}/e2e/other_formats ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
  set_tests_properties(e2e.other_formats PROPERTIES LABELS e2e SKIP_RETURN_CODE 77 TIMEOUT 120)
  add_test(NAME e2e.your_data
           COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/e2e/your_data.sh ${PROJECT_SOURCE_DIR}
                   ${CMAKE_CURRENT_BINARY_DIR}/e2e/your_data ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
  set_tests_properties(e2e.your_data PROPERTIES LABELS "e2e;live" SKIP_RETURN_CODE 77 TIMEOUT 600)
  add_test(NAME e2e.signals
           COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/e2e/page_session.sh ${PROJECT_SOURCE_DIR}
                   ${CMAKE_CURRENT_BINARY_DIR}/e2e/signals ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}
                   server/SIGNALS.md numpy)
  set_tests_properties(e2e.signals PROPERTIES LABELS e2e SKIP_RETURN_CODE 77 TIMEOUT 120)
  add_test(NAME e2e.vibration
           COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/e2e/vibration.sh ${PROJECT_SOURCE_DIR}
                   ${CMAKE_CURRENT_BINARY_DIR}/e2e/vibration ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
  set_tests_properties(e2e.vibration PROPERTIES LABELS "e2e;live" SKIP_RETURN_CODE 77 TIMEOUT 900)
  add_test(NAME e2e.wake_word
           COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/e2e/wake_word.sh ${PROJECT_SOURCE_DIR}
                   ${CMAKE_CURRENT_BINARY_DIR}/e2e/wake_word ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
  set_tests_properties(e2e.wake_word PROPERTIES LABELS "e2e;live" SKIP_RETURN_CODE 77 TIMEOUT 900)
  add_test(NAME e2e.independent_client
           COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/e2e/independent_client.sh ${PROJECT_SOURCE_DIR}
                   ${CMAKE_CURRENT_BINARY_DIR}/e2e/independent_client ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
  set_tests_properties(e2e.independent_client PROPERTIES LABELS "e2e;live" SKIP_RETURN_CODE 77 TIMEOUT 600)
  add_test(NAME e2e.standby
           COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/e2e/standby.sh ${PROJECT_SOURCE_DIR}
                   ${CMAKE_CURRENT_BINARY_DIR}/e2e/standby ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
  set_tests_properties(e2e.standby PROPERTIES LABELS "e2e;live" SKIP_RETURN_CODE 77 TIMEOUT 600)
  if(SOTTO_HAS_POSTGRES)
    add_test(NAME e2e.faults
             COMMAND /usr/bin/python3 -B ${CMAKE_CURRENT_SOURCE_DIR}/e2e/faults.py --found --runs 1,2,5,6,9,12,15,17 --jobs 6
                     --bin ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} --work ${CMAKE_CURRENT_BINARY_DIR}/e2e/faults)
    set_tests_properties(e2e.faults PROPERTIES LABELS "e2e;live" SKIP_RETURN_CODE 77 TIMEOUT 1200 COST 90)
  endif()
  add_test(NAME e2e.ranks
           COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/e2e/ranks.sh ${PROJECT_SOURCE_DIR}
                   ${CMAKE_CURRENT_BINARY_DIR}/e2e/ranks ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
  set_tests_properties(e2e.ranks PROPERTIES LABELS e2e SKIP_RETURN_CODE 77 TIMEOUT 600 COST 60 PROCESSORS 2)
  add_test(NAME e2e.python
           COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/e2e/python.sh ${PROJECT_SOURCE_DIR}
                   ${CMAKE_CURRENT_BINARY_DIR}/e2e/python ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
  set_tests_properties(e2e.python PROPERTIES LABELS e2e SKIP_RETURN_CODE 77 TIMEOUT 300)
  add_test(NAME e2e.page
           COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/e2e/page.sh ${PROJECT_SOURCE_DIR}
                   ${CMAKE_CURRENT_BINARY_DIR}/e2e/page $<TARGET_FILE:sotto_cli> $<TARGET_FILE:sotto_lab>)
  set_tests_properties(e2e.page PROPERTIES LABELS "e2e;live" TIMEOUT 1800 SKIP_RETURN_CODE 77 COST 100)
  add_test(NAME e2e.client_readme
           COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/e2e/client_readme.sh ${PROJECT_SOURCE_DIR}
                   ${PROJECT_BINARY_DIR} ${CMAKE_CURRENT_BINARY_DIR}/e2e/client_readme
                   -DSOTTO_WARNINGS_AS_ERRORS=${SOTTO_WARNINGS_AS_ERRORS}
                   -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}
                   -DCMAKE_C_COMPILER_LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER}
                   -DCMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER})
  set_tests_properties(e2e.client_readme PROPERTIES LABELS "e2e;live" TIMEOUT 600)
  add_test(NAME e2e.hosting
           COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/e2e/hosting.sh ${PROJECT_SOURCE_DIR}
                   ${PROJECT_BINARY_DIR} ${CMAKE_CURRENT_BINARY_DIR}/e2e/hosting
                   ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
  set_tests_properties(e2e.hosting PROPERTIES LABELS "e2e;live" TIMEOUT 600)
  add_test(NAME e2e.quickstart
           COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/e2e/quickstart_test.sh ${PROJECT_SOURCE_DIR}
                   ${PROJECT_BINARY_DIR} ${CMAKE_CURRENT_BINARY_DIR}/e2e/quickstart)
  set_tests_properties(e2e.quickstart PROPERTIES LABELS e2e SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()

# The firmware of examples/cortex_m on emulated boards. Plain builds only: the server is what the
# other tests run with sanitizers.
if(NOT SOTTO_SANITIZE)
  add_executable(windows_accuracy e2e/windows_accuracy.cc)
  target_include_directories(windows_accuracy PRIVATE ${PROJECT_SOURCE_DIR}/examples/cortex_m)
  target_link_libraries(windows_accuracy PRIVATE sotto::sdk)
  sotto_own_sources(windows_accuracy)
  foreach(test images fleet windows cut_link frames reset refusal peers port store readme)
    add_test(NAME board.${test}
             COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/e2e/board.sh ${test} ${PROJECT_SOURCE_DIR}
                     ${PROJECT_BINARY_DIR}/board ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
    set_tests_properties(board.${test} PROPERTIES LABELS board SKIP_RETURN_CODE 77 TIMEOUT 600
                                                  FIXTURES_REQUIRED board_images)
  endforeach()
  set_tests_properties(board.images PROPERTIES FIXTURES_REQUIRED "" FIXTURES_SETUP board_images
                                               TIMEOUT 1200 COST 60)
  set_tests_properties(board.fleet PROPERTIES PROCESSORS 2)

  add_test(NAME board.classify
           COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/e2e/classify.sh ${PROJECT_SOURCE_DIR}
                   ${PROJECT_BINARY_DIR}/board/classify ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
  set_tests_properties(board.classify PROPERTIES LABELS board SKIP_RETURN_CODE 77 TIMEOUT 600)

  add_test(NAME board.bring_up
           COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/e2e/bring_up.sh ${PROJECT_SOURCE_DIR}
                   ${PROJECT_BINARY_DIR}/board/bring_up ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
  # After the images, whose objects ccache then has.
  set_tests_properties(board.bring_up PROPERTIES LABELS board SKIP_RETURN_CODE 77 TIMEOUT 600 DEPENDS board.images)

  # What the firmware takes of flash and RAM has not grown beyond sdk/FOOTPRINT.md.
  add_test(NAME size.footprint
           COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/size/table.sh ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}
                   --check ${PROJECT_BINARY_DIR}/size)
  set_tests_properties(size.footprint PROPERTIES LABELS size SKIP_RETURN_CODE 77 TIMEOUT 1200
                                                 COST 200 DEPENDS "${sotto_core_tests}")
endif()
