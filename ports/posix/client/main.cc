// sotto-client: a device of the fleet on Linux, for example on a Raspberry Pi. Part of
// ports/posix/client.
//
// Reads its share of a data set and its key file, connects, and takes part in the server's jobs,
// with --once in one. One thread. Exit statuses: 0 the job is done (--once); 1 a failure of the
// machine, which may pass; 2 an option or a file is wrong; 3 the device's options refuse the job,
// or the server the device's model or version (both with --once), or --max-private-updates is used
// up, or the key was rotated or revoked; 4 no server in time (--give-up); 130 or 143 stopped by
// SIGINT or SIGTERM, once it has its data: before, these end it at once. Nothing that comes over an
// unauthenticated link ends it, but for 4. --check only looks, and has the same statuses; --record
// fills the file of --sample-log and talks to nobody.
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <utility>

#include "check.h"
#include "device.h"
#include "ending.h"
#include "fetch.h"
#include "kit.h"
#include "options.h"
#include "outputs.h"
#include "peer_device.h"
#include "record.h"
#include "reporter.h"
#include "sotto/log/failures.h"
#include "sotto/options/command.h"
#include "sotto/posix/files.h"
#include "sotto/posix/output_descriptor.h"
#include "sotto/posix/process.h"
#include "sotto/posix/signals.h"
#include "sotto/self_test.h"
#include "sotto/version.h"

namespace {

using sotto::posix::ClientOptions;
using sotto::posix::Device;
using sotto::posix::DeviceKey;
using sotto::posix::Ending;
using sotto::posix::EventLog;
using sotto::posix::kExitFailure;
using sotto::posix::kExitUsage;
using sotto::posix::Outcome;
using sotto::posix::PeerDevice;
using sotto::posix::PeerReporter;
using sotto::posix::Reporter;
using sotto::posix::SharedModel;

// The models that a device leaves to its owner.
void WriteModels(const ClientOptions& options, const Device& device) {
  const sotto::Span<const float> model = device.downloaded_model();
  if (!model.empty()) sotto::posix::WriteModel(options.model_out, model);
}

void WriteModels(const ClientOptions& options, const PeerDevice& device) {
  sotto::posix::WriteModel(options.model_out, device.local());
  sotto::posix::WriteModel(options.peer.head_out, device.head());
}

void Report(const Ending& ending, const Device&, Reporter& reporter) { reporter.Ended(ending); }

void Report(const Ending& ending, const PeerDevice& device, PeerReporter& reporter) {
  reporter.Ended(ending, device.trainer());
}

bool are_errors_json = false;  // --errors

int Told(const Ending& ending) {
  const int status = ExitStatus(ending);
  const bool has_failed = ending.outcome != Outcome::kDone && ending.outcome != Outcome::kStopped;
  if (are_errors_json && has_failed) {
    sotto::posix::TellFailureAsJson("sotto-client", ending.reason, status);
  }
  return status;
}

int RunFetch(const ClientOptions& options, EventLog& log) {
  Reporter reporter(log, options.server);
  CheckOptions(options);
  RequireOutputs(options);
  const SharedModel model = ModelOf(options);
  if (model == nullptr) {
    throw std::invalid_argument("--fetch-only needs --model: a released model is of one net");
  }
  const DeviceKey key = KeyOf(options);
  log.SetDevice(key.device_id);
  sotto::posix::CatchStopSignals();
  const Ending ending = sotto::posix::FetchReleasedModel(options, *model, key, reporter);
  if (ending.outcome != Outcome::kDone) reporter.Ended(ending);
  return Told(ending);
}

// A device, or with --peer a node, until its end, and then its outputs.
template <class AnyDevice, class AnyReporter>
class Program {
 public:
  Program(const ClientOptions& options, EventLog& log)
      : options_(options), reporter_(log, options.server) {
    CheckOptions(options);
    RequireOutputs(options);
    model_ = ModelOf(options);
    key_ = KeyOf(options);
    log.SetDevice(key_.device_id);
  }

  int Run() {
    AnyDevice device(options_, model_, key_, reporter_);
    sotto::posix::CatchStopSignals();
    Ending ending;
    try {
      ending = device.Run();
    } catch (const std::exception& error) {
      WriteOutputs({Outcome::kFailed, error.what()}, device);
      throw;
    }
    WriteOutputs(ending, device);
    Report(ending, device, reporter_);
    return Told(ending);
  }

 private:
  void WriteOutputs(const Ending& ending, AnyDevice& device) const {
    WriteModels(options_, device);
    WriteResults(options_,
                 ResultsText(options_, key_.device_id, ending, device, reporter_.totals()));
  }

  const ClientOptions& options_;
  AnyReporter reporter_;
  SharedModel model_;
  DeviceKey key_;
};

int Fail(EventLog& log, const std::exception& error, int code) {
  log.Write(sotto::posix::event::kFailed, {{"reason", error.what()}});
  if (are_errors_json) sotto::posix::TellFailureAsJson("sotto-client", error.what(), code);
  return code;
}

void RequireOwnArithmetic() {
  if (sotto::SelfTest() == sotto::Status::kOk) return;
  throw std::runtime_error(
      "this sotto-client computes other bits than other devices and the server; build it without "
      "-ffast-math and with -ffp-contract=off");
}

int RunClient(const ClientOptions& options) {
  EventLog log("sotto-client", LogOptionsOf(options));
  try {
    RequireOwnArithmetic();
    if (options.record.is_on) {
      return sotto::posix::RecordSamples(options, std::cin, std::cout, log);
    }
    const ClientOptions all = WithKit(options);
    if (all.check) return sotto::posix::CheckDevice(all);
    if (all.fetch_only) return RunFetch(all, log);
    return all.peer.is_on ? Program<PeerDevice, PeerReporter>(all, log).Run()
                          : Program<Device, Reporter>(all, log).Run();
  } catch (const std::invalid_argument& error) {
    return Fail(log, error, kExitUsage);
  } catch (const sotto::posix::FileError& error) {
    return Fail(log, error, kExitUsage);
  } catch (const std::exception& error) {
    return Fail(log, error, kExitFailure);
  }
}

}  // namespace

int main(int argc, char** argv) {
  sotto::posix::OpenStandardStreams();
  int status = 0;
  const auto run = [&status](const ClientOptions& options) {
    sotto::posix::ForbidCoreDumps();
    sotto::posix::IgnoreWriteSignals();
    status = RunClient(options);
  };
  sotto::posix::Command program = sotto::posix::ClientCommand(run);
  sotto::posix::AddErrorsOption(argc, argv, &program);
  are_errors_json = sotto::posix::AreErrorsJson(argc, argv);
  const int usage = sotto::posix::RunProgram(program, sotto::kVersion, argc, argv);
  return usage != 0 ? usage : status;
}
