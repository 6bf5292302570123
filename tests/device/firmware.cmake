# The firmware of examples/cortex_m with other nets, for tests: built on the same libraries. RAM is
# that of a larger Cortex-M4F.
add_firmware(firmware_small_cnn ${CMAKE_CURRENT_SOURCE_DIR}/nets/small_cnn.h SEEDED RAM_SIZE 196608)
add_firmware(firmware_windows ${CMAKE_CURRENT_SOURCE_DIR}/nets/windows.h ALLOW_NO_PRIVACY)
# On a UART that loses bytes.
add_firmware(firmware_frames ${SOTTO_DEVICE_NET} SEEDED FRAMES 20)
# Samples that it must refuse: a label u32 and float32 without a head, as earlier builds of sotto-shard
# wrote them, and a damaged shard.
foreach(kind headless damaged)
  if(EXISTS ${SOTTO_DEVICE_SHARD}.${kind})
    add_firmware(firmware_${kind} ${CMAKE_CURRENT_SOURCE_DIR}/nets/softmax.h SHARD ${SOTTO_DEVICE_SHARD}.${kind})
  endif()
endforeach()
