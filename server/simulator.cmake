# sotto::simulator: a job, its devices and its rounds in one process, and what it says of them. No network, no
# store. The server and examples/tab include this file.
include(${CMAKE_CURRENT_LIST_DIR}/privacy.cmake)
find_package(Threads REQUIRED)
find_path(SOTTO_JSON_INCLUDE_DIR nlohmann/json.hpp PATHS /usr/include NO_CMAKE_FIND_ROOT_PATH REQUIRED
          DOC "Folder that holds nlohmann/json.hpp (Debian: nlohmann-json3-dev)")

# The rooms of it that read options and write texts.
add_library(sotto_simulator_texts OBJECT
  ${CMAKE_CURRENT_LIST_DIR}/src/spec/aggregation_fields.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/spec/configuration.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/spec/inputs.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/spec/job_spec.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/spec/make_job.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/spec/privacy_fields.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/spec/small_delta.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/spec/threshold_bins.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/spec/training_fields.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/views/before_start.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/views/claims_output.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/views/figures.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/views/report.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/views/round_output.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/views/training_warnings.cc)
target_link_libraries(sotto_simulator_texts
  PUBLIC sotto::privacy sotto::data sotto::log sotto::model_file sotto::options sotto::peer_options
         sotto::port_posix sotto::sdk fmt::fmt)
target_include_directories(sotto_simulator_texts PUBLIC
  $<BUILD_INTERFACE:${CMAKE_CURRENT_LIST_DIR}/src> $<BUILD_INTERFACE:${CMAKE_CURRENT_LIST_DIR}/include>)
sotto_own_sources(sotto_simulator_texts)
sotto_texts(sotto_simulator_texts)
sotto_unity(sotto_simulator_texts)

add_library(sotto_simulator STATIC
  ${CMAKE_CURRENT_LIST_DIR}/src/base/build.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/base/bytes.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/base/json_text.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/base/parallel.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/ranks/ranks.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/aggregate/accumulator.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/aggregate/avx2_cells.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/aggregate/avx512_cells.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/aggregate/decode_loops.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/aggregate/dither_engine.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/aggregate/estimators.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/aggregate/kept_state.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/aggregate/lanes_chacha20.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/aggregate/methods.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/aggregate/model_average.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/aggregate/optimisers.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/aggregate/partial_sum.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/aggregate/released_grid.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/aggregate/smoothing.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/aggregate/spectrum.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/aggregate/tensors.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/aggregate/vector_chacha20.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/codec/baseline.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/codec/codecs.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/codec/exact_codec.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/codec/gaussian_float32.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/codec/length_bound.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/codec/lrq_codec.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/codec/own_codec.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/codec/quantized_binomial.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/codec/quantized_gaussian.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/data/catalog.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/data/generated.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/data/parts.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/data/shares.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/data/synthetic.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/evaluation/evaluation.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/evaluation/error_histogram.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/evaluation/threshold.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/export/parameters.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/export/predictor.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/downloads/model_codes.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/round/attempt.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/round/attempt_answers.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/round/budget.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/round/cohort.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/round/devices.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/round/former_keys.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/round/job.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/round/job_cohort.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/round/job_config.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/round/job_phases.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/round/job_state.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/round/needs.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/round/receipts.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/round/recorded_figures.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/round/release.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/round/round_figures.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/round/turn_book.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/traffic/planned_download.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/traffic/traffic.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/sim/device_accuracies.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/sim/fleet.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/sim/noise_decay.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/sim/personal_values.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/sim/run_state.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/sim/simulation.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/sim/simulation_request.cc)
add_library(sotto::simulator ALIAS sotto_simulator)
target_link_libraries(sotto_simulator PUBLIC sotto_simulator_texts PRIVATE kissfft::kissfft Threads::Threads)
if(EMSCRIPTEN)
  target_compile_definitions(sotto_simulator PRIVATE SOTTO_OWN_KEYSTREAM)
else()
  find_path(SOTTO_SODIUM_INCLUDE_DIR sodium.h REQUIRED DOC "Folder that holds sodium.h (Debian: libsodium-dev)")
  find_library(SOTTO_SODIUM_LIBRARY sodium REQUIRED DOC "libsodium (Debian: libsodium-dev)")
  target_include_directories(sotto_simulator SYSTEM PRIVATE ${SOTTO_SODIUM_INCLUDE_DIR})
  target_link_libraries(sotto_simulator PRIVATE ${SOTTO_SODIUM_LIBRARY})
endif()
sotto_own_sources(sotto_simulator)
sotto_unity(sotto_simulator EXCEPT
  ${CMAKE_CURRENT_LIST_DIR}/src/aggregate/avx2_cells.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/aggregate/avx512_cells.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/aggregate/lanes_chacha20.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/aggregate/vector_chacha20.cc)
