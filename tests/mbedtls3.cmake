# tls_test_mbedtls3: the tests of crypto and TLS once more, with Mbed TLS 3.6 in place of the system's,
# built from the source that toolchains/fetch-source.sh fetches.
set(SOTTO_MBEDTLS3_SOURCE_DIR "" CACHE PATH "Source of Mbed TLS 3.6, for the test tls_test_mbedtls3")

if(NOT EXISTS "${SOTTO_MBEDTLS3_SOURCE_DIR}/library/ssl_tls.c")
  add_test(NAME tls_test_mbedtls3
           COMMAND sh -c "echo 'skipped: SOTTO_MBEDTLS3_SOURCE_DIR names no source'; exit 77")
  set_tests_properties(tls_test_mbedtls3 PROPERTIES SKIP_RETURN_CODE 77)
  return()
endif()

# Which files there are depends on the version; each is empty where the configuration leaves it out.
file(GLOB sotto_mbedtls3_sources CONFIGURE_DEPENDS ${SOTTO_MBEDTLS3_SOURCE_DIR}/library/*.c)
add_library(sotto_mbedtls3 STATIC ${sotto_mbedtls3_sources})
target_compile_options(sotto_mbedtls3 PRIVATE -O1)
target_include_directories(sotto_mbedtls3 SYSTEM PUBLIC ${SOTTO_MBEDTLS3_SOURCE_DIR}/include)

# sotto::sdk and sotto::tls are compiled for the system's Mbed TLS, so their sources are taken here.
set(sotto_sdk_source ${PROJECT_SOURCE_DIR}/sdk/src)
add_executable(tls_test_mbedtls3
  ${sotto_sdk_source}/base/bytes.cc
  ${sotto_sdk_source}/base/status.cc
  ${sotto_sdk_source}/crypto/chacha20.cc
  ${sotto_sdk_source}/crypto/hello_token.cc
  ${sotto_sdk_source}/crypto/keys.cc
  ${sotto_sdk_source}/crypto/random.cc
  ${sotto_sdk_source}/crypto/sha256.cc
  ${sotto_sdk_source}/tls/context.cc
  ${sotto_sdk_source}/tls/resumption.cc
  ${sotto_sdk_source}/tls/server.cc
  ${sotto_sdk_source}/tls/session.cc
  ${sotto_sdk_source}/tls/ticket_keys.cc
  ${sotto_sdk_source}/tls/tickets.cc
  unit/sdk/crypto_test.cc
  unit/sdk/tls_peer_test.cc
  unit/sdk/tls_test.cc
  unit/sdk/tls_tickets_test.cc)
target_compile_definitions(tls_test_mbedtls3 PRIVATE SOTTO_EXPECT_MBEDTLS_3)
target_include_directories(tls_test_mbedtls3 PRIVATE
  ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/sdk/include ${sotto_sdk_source})
target_link_libraries(tls_test_mbedtls3 PRIVATE sotto_mbedtls3 GTest::gtest_main)
sotto_own_sources(tls_test_mbedtls3)
add_test(NAME tls_test_mbedtls3 COMMAND tls_test_mbedtls3)
set_tests_properties(tls_test_mbedtls3 PROPERTIES TIMEOUT 300)
