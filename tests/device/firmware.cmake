# The firmware of examples/cortex_m with other nets, for tests: built on the same libraries, with the
# RAM of a larger Cortex-M4F.
add_firmware(firmware_small_cnn ${CMAKE_CURRENT_SOURCE_DIR}/nets/small_cnn.h SEEDED RAM_SIZE 196608)
add_firmware(firmware_windows ${CMAKE_CURRENT_SOURCE_DIR}/nets/windows.h ALLOW_NO_PRIVACY)
# On a UART that loses bytes, with the model in flash.
add_firmware(firmware_frames ${SOTTO_DEVICE_NET} SEEDED KEEP_MODEL FRAMES 20)
# Samples that it must refuse: a label u32 and float32 without a head, as earlier builds of sotto-shard
# wrote them, and a damaged shard.
foreach(kind headless damaged)
  if(EXISTS ${SOTTO_DEVICE_SHARD}.${kind})
    add_firmware(firmware_${kind} ${CMAKE_CURRENT_SOURCE_DIR}/nets/softmax.h SHARD ${SOTTO_DEVICE_SHARD}.${kind})
  endif()
endforeach()
# What a TLS handshake costs: built where Mbed TLS has the server's side, too.
if(SOTTO_MBEDTLS_CONFIG MATCHES "mbedtls_both\\.h$")
  add_executable(handshake ${sotto_root}/tests/instructions/handshake.cc tls_pool.cc)
  target_link_libraries(handshake PRIVATE sotto::tls sotto::emulated_board sotto::port_conformance)
  target_include_directories(handshake PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${sotto_root}/tests)
  target_include_directories(handshake SYSTEM PRIVATE ${SOTTO_MBEDTLS_SOURCE_DIR}/include)
  sotto_own_sources(handshake)
  target_compile_options(handshake PRIVATE -fno-exceptions -fno-rtti -fno-threadsafe-statics)
  target_compile_definitions(handshake PRIVATE MBEDTLS_CONFIG_FILE="${SOTTO_MBEDTLS_CONFIG}")
  target_link_options(handshake PRIVATE -Wl,--defsym=sotto_stack_size=8192)
endif()
