# sotto::privacy: accounting, plans and published bounds. Pure functions, no I/O; needs the SDK alone: the
# server and the fuzz targets include this file.
set(SOTTO_KISSFFT_SOURCE_DIR "" CACHE PATH "Source of kissfft, to be built along")
if(SOTTO_KISSFFT_SOURCE_DIR)
  include(${CMAKE_CURRENT_LIST_DIR}/kissfft_source.cmake)
else()
  find_package(kissfft CONFIG REQUIRED COMPONENTS float SHARED)
endif()

add_library(sotto_privacy STATIC
  ${CMAKE_CURRENT_LIST_DIR}/src/accounting/accountant.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/accounting/binomial.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/accounting/conversion.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/accounting/figures.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/accounting/gdp.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/accounting/grouping.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/accounting/guarantee.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/accounting/known_draws.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/accounting/loss_plan.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/accounting/loss_sum.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/accounting/pair_rdp.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/accounting/per_round.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/accounting/pld.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/accounting/profile.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/accounting/ratio_moments.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/accounting/rdp.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/accounting/rdp_sum.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/accounting/round_loss.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/accounting/types.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/plans/adaptive_clip.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/plans/device_accuracy.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/plans/learning_rate.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/plans/adaptivity.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/plans/calibration.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/plans/claim.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/plans/claim_kinds.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/plans/composition.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/plans/peer_privacy.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/plans/plan.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/plans/private_noise.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/plans/schedule.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/plans/statement.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/plans/passes_choice.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/plans/turns.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/published/asymptotic.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/published/closed_forms.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/published/comparison.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/published/peer_noise.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/published/sample_level.cc)
add_library(sotto::privacy ALIAS sotto_privacy)
target_include_directories(sotto_privacy PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_LIST_DIR}/src>)
target_link_libraries(sotto_privacy PUBLIC sotto::sdk PRIVATE kissfft::kissfft)
sotto_own_sources(sotto_privacy)
sotto_unity(sotto_privacy EXCEPT
  ${CMAKE_CURRENT_LIST_DIR}/src/accounting/rdp_sum.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/published/asymptotic.cc
  ${CMAKE_CURRENT_LIST_DIR}/src/published/comparison.cc)
