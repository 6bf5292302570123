// sotto-bench-ingest FOLDER DEVICES: what a coordinator of several ingest servers would do in a
// round, measured on the parts of today's server; started by ingest.sh.
//   FOLDER   with the files of the models, *.toml; stores are written there, too
//   DEVICES  of the largest fleet that a cohort is drawn of
// Prints lines "WHAT SIZE MS", each the least of five. SIZE is the parameters for
//   merge    one server's partial sum is added to the total
//   release  from the total to the next model and what devices download of it
//   commit   what a store on the disk adds to that
//   zero     one zero update
// and the devices of the fleet for
//   open     the draw and the attempt, with a hundredth of the fleet
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "aggregate/accumulator.h"
#include "aggregate/partial_sum.h"
#include "backends/sql_store.h"
#include "round/job.h"
#include "sotto/model/model_file.h"
#include "sotto/models.h"

namespace sotto::server {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 5;
constexpr uint32_t kCohort = 100;

struct NoLog : JobLog {
  void BeginJob(const JobRecord& /*record*/) override {}
  void CommitAttempt(const AttemptRecord& /*record*/) override {}
  void SealAttempt(const SealRecord& /*record*/) override {}
  void CommitRelease(const ReleaseRecord& /*record*/) override {}
};

template <typename Action>
double Ms(Action action) {
  const auto start = Clock::now();
  action();
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

void Print(const char* what, size_t size, double ms) {
  fmt::print("{} {} {:.4f}\n", what, size, ms);
}

std::vector<Device> SomeDevices(uint32_t count) {
  std::vector<Device> devices(count);
  for (uint32_t i = 0; i < count; ++i) {
    devices[i].id = "device-" + std::to_string(i);
    for (int byte = 0; byte < 4; ++byte)
      devices[i].secret.bytes[byte] = static_cast<uint8_t>(i >> (8 * byte));
    devices[i].secret.bytes[31] = 1;
  }
  return devices;
}

JobConfig Config(const ModelInfo& model, uint32_t devices, uint32_t cohort) {
  JobConfig config;
  config.model = &model;
  config.plan.sampling = privacy::Sampling::kPasses;
  config.plan.devices = devices;
  config.plan.cohort = cohort;
  config.plan.planned_reports = cohort;
  config.plan.rounds = kRounds;
  config.plan.participations = kRounds;
  config.plan.dimension = model.parameters;
  config.plan.clip_l2 = 0.4;
  config.plan.noise_sigma = 0.2;
  config.plan.delta = 1e-5;
  config.plan = RoundToDevice(config.plan);
  config.training.clip_l2 = 0.4F;
  config.min_devices = 0;
  config.process.hears_all = true;
  return config;
}

// What the ingest servers' parts come to: all of the cohort has reported noise and nothing else.
PartialSum Total(const UpdateCodec& codec, const Key& key, uint32_t parameters) {
  Accumulator sum(parameters);
  codec.AddZeroUpdate(key, 0, sum);
  PartialSum total(sum.Take());
  total.counts.reported = kCohort;
  return total;
}

// Milliseconds from the total to what devices can download, the least over the rounds.
double ReleaseMs(const JobConfig& config, JobLog& log, const DeviceRegistry& devices) {
  Job job(config, devices, log, Key());
  const auto codec = config.codec->make(config.TaskFor(0, config.training.clip_l2));
  double least = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    if (!job.OpenRound()) throw std::runtime_error(job.finish_reason());
    job.CloseUploads();
    PartialSum total = Total(*codec, Key(), config.model->parameters);
    least = std::min(least, Ms([&] {
                       job.FinishRound(std::move(total));
                       job.ShowRelease();
                     }));
  }
  return least;
}

double MergeMs(size_t parameters) {
  PartialSum total(std::vector<int64_t>(parameters, 1));
  const PartialSum part(std::vector<int64_t>(parameters, 2));
  double least = 1e9;
  for (int i = 0; i < kRounds; ++i) least = std::min(least, Ms([&] { total.Merge(part); }));
  return least;
}

double ZeroMs(const JobConfig& config) {
  const auto codec = config.codec->make(config.TaskFor(0, config.training.clip_l2));
  Accumulator sum(config.model->parameters);
  double least = 1e9;
  for (uint32_t i = 0; i < kRounds; ++i)
    least = std::min(least, Ms([&] { codec->AddZeroUpdate(Key(), i, sum); }));
  return least;
}

void MeasureModel(const std::string& folder, const std::string& file) {
  const posix::SharedModel model = posix::ReadModelFile(file);
  const size_t parameters = model->parameters;
  const JobConfig config = Config(*model, kCohort, kCohort);
  const std::string path = folder + "/" + std::to_string(parameters) + ".db";
  SqlStore store(path, StoreMode::kCreate);
  store.AddDevices(SomeDevices(kCohort), true);
  store.ClaimJobs();
  store.AllowNewJob();
  NoLog none;
  const DeviceRegistry devices = store.LoadDevices();
  const double release = ReleaseMs(config, none, devices);
  Print("merge", parameters, MergeMs(parameters));
  Print("release", parameters, release);
  Print("commit", parameters, std::max(0.0, ReleaseMs(config, store, devices) - release));
  Print("zero", parameters, ZeroMs(config));
}

void MeasureFleet(uint32_t count) {
  DeviceRegistry devices;
  devices.Reserve(count);
  for (Device& device : SomeDevices(count)) devices.Register(std::move(device));
  NoLog none;
  const JobConfig config = Config(*FindModel("softmax-64-10"), count, count / 100);
  Job job(config, devices, none, Key());
  double least = 1e9;
  for (int i = 0; i < kRounds; ++i) {
    least = std::min(least, Ms([&] { job.OpenRound(); }));
    PartialSum total = job.CloseUploads();
    total.counts.reported = count / 100;  // no zero updates: they are no part of an opening
    job.FinishRound(std::move(total));
  }
  Print("open", count, least);
}

void Measure(const std::string& folder, uint32_t devices) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".toml") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) MeasureModel(folder, file);
  for (uint32_t count = devices / 100; count <= devices; count *= 10) MeasureFleet(count);
}

}  // namespace
}  // namespace sotto::server

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: sotto-bench-ingest FOLDER DEVICES\n");
    return 2;
  }
  try {
    sotto::server::Measure(argv[1], static_cast<uint32_t>(std::stoul(argv[2])));
  } catch (const std::exception& error) {
    fmt::print(stderr, "sotto-bench-ingest: {}\n", error.what());
    return 1;
  }
  return 0;
}
