#include "peer_program.h"

#include <exception>

#include "outputs.h"
#include "peer_statement.h"
#include "sotto/log/json_text.h"
#include "sotto/model/model_text.h"
#include "sotto/posix/hex.h"
#include "sotto/posix/port.h"
#include "sotto/posix/signals.h"

namespace sotto::posix {

PeerProgram::PeerProgram(const ClientOptions& options, EventLog& log)
    : options_(options), reporter_(log, options.server) {
  CheckOptions(options);
  RequireOutputs(options);
  model_ = ModelOf(options);
  key_ = ReadKeyFile(options.key);
  log.SetDevice(key_.device_id);
}

int PeerProgram::Run() {
  PeerDevice device(options_, *model_, key_, LoadShare(options_, *model_), reporter_);
  CatchStopSignals();
  Ending ending;
  try {
    ending = device.Run();
  } catch (const std::exception& error) {
    WriteOutputs({Outcome::kFailed, error.what()}, device);
    throw;
  }
  WriteOutputs(ending, device);
  reporter_.Ended(ending, device.trainer());
  return ExitStatus(ending);
}

void PeerProgram::WriteOutputs(const Ending& ending, const PeerDevice& device) const {
  WriteModel(options_.model_out, device.local());
  WriteModel(options_.peer.head_out, device.head());
  WriteResults(options_, PeerResultsText(options_, key_.device_id, *model_, ending, device,
                                         reporter_.totals()));
}

std::string PeerResultsText(const ClientOptions& options, const std::string& device_id,
                            const ModelInfo& model, const Ending& ending, const PeerDevice& device,
                            const PeerTotals& totals) {
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? std::string(kJsonNull) : JsonText(text);
  };
  const PeerTrainer& trainer = device.trainer();
  const PeerJob& job = device.job();
  const std::optional<double> rho = StatedRho(job, device.policy(), trainer.ledger());
  JsonObject results;
  results.Add("outcome", JsonText(RowOf(ending.outcome).event.name))
      .Add("reason", text_or_null(ending.reason))
      .Add("code", text_or_null(ending.code))
      .Add("server", JsonText(options.server))
      .Add("device", JsonText(device_id))
      .Add("model", JsonText(model.name))
      .Add("model_digest", JsonText(ModelDigestHex(model)))
      .Add("job", JsonText(Hex(trainer.job_id())))
      .Add("share", JsonText(options.peer.share))
      .Add("steps", JsonText(uint64_t{trainer.steps()}))
      .Add("next_step", JsonText(uint64_t{trainer.step()}))
      .Add("published", JsonText(totals.published))
      .Add("accepted", JsonText(totals.accepted))
      .Add("fallbacks", JsonText(totals.fallbacks))
      .Add("bytes_published", JsonText(totals.bytes_published))
      .Add("head_version", JsonText(uint64_t{trainer.head_version()}))
      .Add("head_sha256", JsonText(Hex(trainer.head_digest())))
      .Add("unit", JsonText(Name(job.unit)))
      .Add("noise_q20", JsonText(uint64_t{job.noise_q20}))
      .Add("releases", JsonText(uint64_t{trainer.ledger().releases}))
      .Add("rho", rho ? JsonText(*rho) : kJsonNull)
      .Add("statement", JsonText(PeerStatement(model, job, device.policy())))
      .Add("seconds", JsonText(static_cast<double>(NowMs() - totals.began_ms) / 1000));
  return results.Text() + '\n';
}

}  // namespace sotto::posix
