// sotto-client: a device of the fleet on Linux, for example on a Raspberry Pi. Part of
// ports/posix/client.
//
// Reads its share of a data set and its key file, connects, and takes part in rounds until the
// job is done. One thread. Exit statuses: 0 the job is done; 1 a failure of the machine, which may
// pass; 2 an option or a file is wrong; 3 the device's options refuse the job, or the server the
// device's model or version; 4 no server in time (--give-up); 130 or 143 stopped by SIGINT or
// SIGTERM, once it has its data: before, these end it at once. Nothing that comes over an
// unauthenticated link ends it, but for 4.
#include <exception>
#include <stdexcept>
#include <string>

#include "device.h"
#include "ending.h"
#include "options.h"
#include "outputs.h"
#include "peer_program.h"
#include "reporter.h"
#include "share.h"
#include "sotto/options/command.h"
#include "sotto/posix/core_dumps.h"
#include "sotto/posix/files.h"
#include "sotto/posix/key_file.h"
#include "sotto/posix/output_descriptor.h"
#include "sotto/posix/signals.h"
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
using sotto::posix::PeerProgram;
using sotto::posix::Reporter;
using sotto::posix::SharedModel;

// The device until its end, and then its outputs.
class Program {
 public:
  Program(const ClientOptions& options, EventLog& log)
      : options_(options), reporter_(log, options.server) {
    CheckOptions(options);
    RequireOutputs(options);
    model_ = ModelOf(options);
    key_ = sotto::posix::ReadKeyFile(options.key);
    log.SetDevice(key_.device_id);
  }

  int Run() {
    Device device(options_, *model_, key_, LoadShare(options_, *model_), reporter_);
    sotto::posix::CatchStopSignals();
    Ending ending;
    try {
      ending = device.Run();
    } catch (const std::exception& error) {
      WriteOutputs({Outcome::kFailed, error.what()}, device);
      throw;
    }
    WriteOutputs(ending, device);
    reporter_.Ended(ending);
    return ExitStatus(ending);
  }

 private:
  void WriteOutputs(const Ending& ending, Device& device) const {
    const sotto::Span<const float> model = device.downloaded_model();
    if (!model.empty()) sotto::posix::WriteModel(options_.model_out, model);
    WriteResults(options_, ResultsText(options_, key_.device_id, model_.get(), ending,
                                       reporter_.totals(), device.private_spending()));
  }

  const ClientOptions& options_;
  Reporter reporter_;
  SharedModel model_;
  DeviceKey key_;
};

int Fail(EventLog& log, const std::exception& error, int code) {
  log.Write(sotto::posix::event::kFailed, {{"reason", error.what()}});
  return code;
}

int RunClient(const ClientOptions& options) {
  EventLog log("sotto-client", LogOptionsOf(options));
  try {
    return options.peer.is_on ? PeerProgram(options, log).Run() : Program(options, log).Run();
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
  const int usage =
      sotto::posix::RunProgram(sotto::posix::ClientCommand(run), sotto::kVersion, argc, argv);
  return usage != 0 ? usage : status;
}
