# sotto-bench: what a coordinate and a sample of a net cost in time. A test runs each case once;
# ratios.sh and nets.sh measure. sotto-bench-ranks: what ranks cost, for ranks.sh. sotto-bench-ingest:
# what a coordinator of several ingest servers would do, for ingest.sh; a test runs it on small sizes, and wake_word.sh.
if(SOTTO_WITH_MPI)
  add_executable(sotto_bench_ranks benchmark/ranks.cc)
  set_target_properties(sotto_bench_ranks PROPERTIES OUTPUT_NAME sotto-bench-ranks)
  target_link_libraries(sotto_bench_ranks PRIVATE sotto::launched_ranks)
  sotto_own_sources(sotto_bench_ranks)
endif()
add_executable(sotto_bench_ingest benchmark/ingest.cc)
set_target_properties(sotto_bench_ingest PROPERTIES OUTPUT_NAME sotto-bench-ingest)
target_link_libraries(sotto_bench_ingest PRIVATE sotto::server)
sotto_own_sources(sotto_bench_ingest)
add_test(NAME benchmark.ingest
         COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/benchmark/ingest.sh ${PROJECT_BINARY_DIR} --small)
set_tests_properties(benchmark.ingest PROPERTIES TIMEOUT 300)

# The table of examples/wake_word, on a fleet that is too small to learn.
if(NOT SOTTO_SANITIZE)
  add_test(NAME benchmark.wake_word
           COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/benchmark/wake_word.sh ${PROJECT_BINARY_DIR} --small)
  set_tests_properties(benchmark.wake_word PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()

find_package(benchmark CONFIG QUIET)
if(NOT benchmark_FOUND)
  add_test(NAME benchmark.runs
           COMMAND sh -c "echo 'skipped: no Google Benchmark (Debian: libbenchmark-dev)'; exit 77")
  set_tests_properties(benchmark.runs PROPERTIES SKIP_RETURN_CODE 77)
  return()
endif()

add_executable(sotto_bench benchmark/main.cc benchmark/nets.cc)
set_target_properties(sotto_bench PROPERTIES OUTPUT_NAME sotto-bench)
target_link_libraries(sotto_bench PRIVATE sotto::server benchmark::benchmark)
target_include_directories(sotto_bench PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
sotto_own_sources(sotto_bench)
add_test(NAME benchmark.runs COMMAND sotto_bench --benchmark_min_time=0)
set_tests_properties(benchmark.runs PROPERTIES TIMEOUT 300)
