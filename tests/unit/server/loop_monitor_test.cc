// What counts as a sleep of the server: time for which its thread was not run, and no computing.
#include "net/loop_monitor.h"

#include <gtest/gtest.h>
#include <uv.h>

#include "sotto/posix/port.h"

namespace sotto::server {
namespace {

// A loop that wants to wait for 100 ms, and does `work` once: in a timer, so within a turn, or in a
// prepare handle behind the monitor's, so while it counts as waiting.
uint64_t SleptAfter(void (*work)(LoopMonitor&), bool while_waiting) {
  uv_loop_t loop;
  EXPECT_EQ(uv_loop_init(&loop), 0);
  LoopMonitor monitor;
  uv_prepare_t before_wait;
  uv_timer_t timer;
  uv_prepare_init(&loop, &before_wait);
  uv_timer_init(&loop, &timer);
  struct Work {
    void (*run)(LoopMonitor&);
    LoopMonitor& monitor;
    int turns = 0;
  } state{work, monitor};
  before_wait.data = timer.data = &state;
  // libuv calls handles that began later first.
  if (while_waiting) {
    uv_prepare_start(&before_wait, [](uv_prepare_t* handle) {
      auto* each = static_cast<Work*>(handle->data);
      if (each->turns == 1) each->run(each->monitor);
    });
  }
  monitor.Start(&loop);
  loop.data = while_waiting ? &state : nullptr;
  uv_timer_start(
      &timer,
      [](uv_timer_t* handle) {
        auto* each = static_cast<Work*>(handle->data);
        if (++each->turns == 1 && handle->loop->data == nullptr) each->run(each->monitor);
        if (each->turns == 4) uv_stop(handle->loop);
      },
      100, 100);
  uv_run(&loop, UV_RUN_DEFAULT);
  const uint64_t slept_ms = monitor.slept_ms();
  monitor.Stop();
  uv_close(reinterpret_cast<uv_handle_t*>(&before_wait), nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&timer), nullptr);
  uv_run(&loop, UV_RUN_DEFAULT);
  EXPECT_EQ(uv_loop_close(&loop), 0);
  return slept_ms;
}

void Sleep(LoopMonitor&) { posix::SleepMs(1500); }
void SleepShortly(LoopMonitor&) { posix::SleepMs(300); }
void Compute(LoopMonitor&) {
  volatile uint64_t sum = 0;
  for (const uint64_t end_ms = posix::NowMs() + 1500; posix::NowMs() < end_ms;) sum = sum + 1;
}
void WaitForALog(LoopMonitor& monitor) {
  const LoopMonitor::Wait wait(monitor);
  posix::SleepMs(1500);
}

TEST(LoopMonitor, ASleepIsMeasuredByItsLength) {
  for (const bool while_waiting : {false, true}) {
    const uint64_t slept_ms = SleptAfter(Sleep, while_waiting);
    EXPECT_GE(slept_ms, 1300U) << while_waiting;
    EXPECT_LE(slept_ms, 1700U) << while_waiting;
  }
}

// Round/job.cc, lemma 9: what the process computes and logs depends on uploads.
TEST(LoopMonitor, ComputingShortWaitsAndWaitsForOthersAreNoSleep) {
  for (const bool while_waiting : {false, true}) {
    EXPECT_EQ(SleptAfter(Compute, while_waiting), 0U) << while_waiting;
    EXPECT_EQ(SleptAfter(SleepShortly, while_waiting), 0U) << while_waiting;
    EXPECT_EQ(SleptAfter(WaitForALog, while_waiting), 0U) << while_waiting;
  }
}

}  // namespace
}  // namespace sotto::server
