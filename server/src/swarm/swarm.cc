#include "swarm/swarm.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <fmt/format.h>
#include <memory>
#include <stdexcept>
#include <uv.h>

#include "base/counted.h"
#include "base/parallel.h"
#include "sotto/posix/process.h"
#include "sotto/posix/signals.h"
#include "swarm/device.h"

namespace sotto::server {
namespace {

constexpr uint64_t kTickMs = 20;
constexpr size_t kReservedFiles = 64;  // for the store, outputs and libuv
constexpr double kServerPatienceS = 15;

double CpuSeconds() {
  uv_rusage_t usage{};
  uv_getrusage(&usage);
  const auto seconds = [](const uv_timeval_t& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void RequireFiles(size_t devices) {
  const size_t files = posix::AllowOpenFiles();
  if (files >= devices + kReservedFiles) return;
  throw std::runtime_error(fmt::format(
      "{} need {} open files, and this process may open {}; raise the limit, for example with "
      "`ulimit -n`, or give fewer --devices",
      Counted(devices, "device"), devices + kReservedFiles, files));
}

// What the threads of a swarm share.
struct Control {
  const SwarmOptions& options;
  const std::vector<Device>& devices;
  const ModelInfo& model;
  const std::optional<SwarmSamples>& samples;
  const std::function<void(const SwarmProgress&)>& on_second;
  Figures figures{};
  std::atomic<bool> must_stop{false};
  const uint64_t start_ns = uv_hrtime();

  double seconds() const { return kSecondsPerNs * static_cast<double>(uv_hrtime() - start_ns); }
};

// One thread's part of the swarm: every device whose index divided by the number of threads leaves
// this loop's number.
class SwarmLoop {
 public:
  SwarmLoop(Control& control, uint32_t number)
      : control_(control),
        number_(number),
        around_{&loop_,
                control.options,
                control.model,
                control.samples,
                control.figures,
                SharedMemory(control.model),
                {},
                [this] { Fail(); }} {
    if (uv_loop_init(&loop_) != 0) throw std::runtime_error("starting an event loop failed");
    uv_timer_init(&loop_, &tick_);
    tick_.data = this;
    const uint32_t threads = control.options.threads;
    for (size_t i = number; i < control.devices.size(); i += threads) {
      devices_.push_back(
          std::make_unique<SwarmDevice>(around_, control.devices[i], static_cast<uint32_t>(i)));
    }
  }
  ~SwarmLoop() { uv_loop_close(&loop_); }
  SwarmLoop(const SwarmLoop&) = delete;
  SwarmLoop& operator=(const SwarmLoop&) = delete;

  // Throws what ended the swarm.
  void Run() {
    uv_timer_start(
        &tick_,
        [](uv_timer_t* timer) {
          auto* self = static_cast<SwarmLoop*>(timer->data);
          try {
            self->Tick();
          } catch (...) {
            self->Fail();
          }
        },
        0, kTickMs);
    uv_run(&loop_, UV_RUN_DEFAULT);
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void Tick() {
    if (posix::StopSignal() != 0 || IsOver()) control_.must_stop = true;
    if (control_.must_stop) {
      Stop();
      return;
    }
    StartDevices();
    bool all_ended = started_ == devices_.size();
    for (size_t i = 0; i < started_; ++i) {
      devices_[i]->OnTick();
      all_ended = all_ended && devices_[i]->has_ended();
    }
    if (number_ == 0) Tell();
    if (all_ended) Stop();
  }

  bool IsOver() const {
    const double duration_s = control_.options.duration_s;
    return duration_s > 0 && control_.seconds() >= duration_s;
  }

  // Those whose turn it is by the rate of connections.
  void StartDevices() {
    const double due =
        control_.seconds() * control_.options.connect_rate / control_.options.threads;
    while (started_ < devices_.size() && static_cast<double>(started_) <= due) {
      devices_[started_++]->Start();
    }
  }

  void Tell() {
    const double seconds = control_.seconds();
    if (seconds < told_.seconds + 1) return;
    SwarmProgress progress = {seconds, control_.figures.Counts(), control_.figures.rounds(), 0};
    progress.updates_s = static_cast<double>(progress.counts.accepted - told_.counts.accepted) /
                         (seconds - told_.seconds);
    RequireServer(progress);
    control_.on_second(progress);
    told_ = progress;
  }

  void RequireServer(const SwarmProgress& progress) const {
    if (progress.seconds < kServerPatienceS || progress.counts.handshakes > 0) return;
    const SwarmOptions& options = control_.options;
    if (progress.counts.connected_max == 0) {
      throw std::runtime_error(
          fmt::format("no server answers at {} port {}: does `sotto serve` run there?",
                      options.address, options.port));
    }
    throw std::runtime_error(fmt::format(
        "the server at {} port {} accepts no key of these devices: give the keys of its store",
        options.address, options.port));
  }

  // Call it in a catch block.
  void Fail() {
    if (!failure_) failure_ = std::current_exception();
    control_.must_stop = true;
  }

  void Stop() {
    for (const auto& device : devices_) device->Stop();
    uv_close(reinterpret_cast<uv_handle_t*>(&tick_), nullptr);
  }

  Control& control_;
  const uint32_t number_;
  uv_loop_t loop_{};
  uv_timer_t tick_{};
  Surroundings around_;
  std::vector<std::unique_ptr<SwarmDevice>> devices_;
  size_t started_ = 0;
  SwarmProgress told_;
  std::exception_ptr failure_;
};

}  // namespace

std::string LocalAddress(uint32_t index) {
  constexpr uint32_t kHosts = 250;
  return fmt::format("127.{}.{}.{}", 100 + index / (kHosts * kHosts), index / kHosts % kHosts,
                     1 + index % kHosts);
}

bool IsLocal(const std::string& address) { return address.rfind("127.", 0) == 0; }

SwarmSummary RunSwarm(const SwarmOptions& options, const std::vector<Device>& devices,
                      const ModelInfo& model, const std::optional<SwarmSamples>& samples,
                      const std::function<void(const SwarmProgress&)>& on_second) {
  RequireFiles(devices.size());
  Control control = {options, devices, model, samples, on_second};
  std::vector<std::unique_ptr<SwarmLoop>> loops;
  for (uint32_t i = 0; i < options.threads; ++i) {
    loops.push_back(std::make_unique<SwarmLoop>(control, i));
  }
  const double cpu_before = CpuSeconds();
  ParallelFor(static_cast<int>(options.threads), loops.size(),
              [&](size_t i, int) { loops[i]->Run(); });
  SwarmSummary summary = control.figures.Summarise();
  summary.wall_seconds = control.seconds();
  summary.cpu_seconds = CpuSeconds() - cpu_before;
  return summary;
}

}  // namespace sotto::server
