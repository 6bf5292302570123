#include "outputs.h"

#include <filesystem>
#include <fmt/format.h>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "kept_model.h"
#include "model_bytes.h"
#include "peer_statement.h"
#include "sotto/data/source.h"
#include "sotto/log/json_text.h"
#include "sotto/model/model_text.h"
#include "sotto/posix/files.h"
#include "sotto/posix/hex.h"
#include "sotto/posix/port.h"

namespace sotto::posix {
namespace {

struct NamedFile {
  const char* option;
  std::string path;
};

std::vector<NamedFile> OutputsOf(const ClientOptions& options) {
  std::vector<NamedFile> files = {{"--json", options.json},
                                  {"--model-out", options.model_out},
                                  {"--head-out", options.peer.head_out}};
  if (options.keep_model.empty()) return files;
  files.push_back({"--keep-model", ModelKeeper::ModelPath(options.keep_model)});
  files.push_back({"--keep-model", ModelKeeper::ReleasePath(options.keep_model)});
  return files;
}

std::vector<NamedFile> OtherFilesOf(const ClientOptions& options) {
  std::vector<NamedFile> files = {{"--kit", options.kit},
                                  {"--key", options.key},
                                  {"--mark", MarkPath(options)},
                                  {"--labels", options.labels},
                                  {"--config", options.config},
                                  {"--job", options.peer.job.file},
                                  {"--sample-log", options.sample_log}};
  if (!options.data.empty()) files.push_back({"--data", ParseDataSource(options.data).path});
  if (!options.peer.public_data.empty()) {
    files.push_back({"--public-data", ParseDataSource(options.peer.public_data).path});
  }
  if (IsModelFile(options.model)) files.push_back({"--model", options.model});
  files.push_back({"the record of personal layers", PersonalPath(options)});
  return files;
}

// Links and . and .. make no difference, unless a folder on the way may not be searched.
std::filesystem::path Resolved(const std::string& path) {
  std::error_code error;
  const std::filesystem::path resolved = std::filesystem::weakly_canonical(path, error);
  return error ? std::filesystem::path(path).lexically_normal() : resolved;
}

bool IsSameFile(const std::string& a, const std::string& b) { return Resolved(a) == Resolved(b); }

void RequireOwnName(const NamedFile& output, const std::vector<NamedFile>& others) {
  for (const NamedFile& other : others) {
    if (other.path.empty() || !IsSameFile(output.path, other.path)) continue;
    throw std::invalid_argument(fmt::format("{} {}: {} names it, too; name another file",
                                            output.option, output.path, other.option));
  }
}

std::string TextOrNull(const std::string& text) {
  return text.empty() ? std::string(kJsonNull) : JsonText(text);
}

// The members that all devices' results begin with.
JsonObject BeginResults(const ClientOptions& options, const std::string& device_id,
                        const ModelInfo* model, const Ending& ending) {
  JsonObject results;
  results.Add("outcome", JsonText(RowOf(ending.outcome).event.name))
      .Add("reason", TextOrNull(ending.reason))
      .Add("code", TextOrNull(ending.code))
      .Add("server", JsonText(options.server))
      .Add("device", JsonText(device_id))
      .Add("model", model == nullptr ? kJsonNull : JsonText(model->name))
      .Add("model_digest", model == nullptr ? kJsonNull : JsonText(ModelDigestHex(*model)));
  return results;
}

std::string SecondsSince(uint64_t began_ms) {
  return JsonText(static_cast<double>(NowMs() - began_ms) / 1000);
}

double RhoOf(const PrivateSpending& spent) { return static_cast<double>(spent.rho_q32) * 0x1p-32; }

}  // namespace

void RequireOutputs(const ClientOptions& options) {
  if (!options.keep_model.empty()) MakePrivateFolder(options.keep_model);
  std::vector<NamedFile> others = OtherFilesOf(options);
  const NamedFile ledger = {"--ledger", LedgerPath(options)};
  RequireOwnName(ledger, others);
  const bool is_used =
      options.peer.is_on || options.min_private_noise > 0 || !options.ledger.empty();
  if (is_used) RequireReplaceable(ledger.path);
  others.push_back(ledger);
  for (const NamedFile& output : OutputsOf(options)) {
    if (output.path.empty()) continue;
    RequireOwnName(output, others);
    RequireReplaceable(output.path);
    others.push_back(output);
  }
}

std::string ResultsText(const ClientOptions& options, const std::string& device_id,
                        const Ending& ending, Device& device, const Totals& totals) {
  const auto& last = totals.last_round;
  const std::optional<PrivateSpending> spent = device.private_spending();
  JsonObject results = BeginResults(options, device_id, device.model(), ending);
  results.Add("rounds_drawn", JsonText(totals.rounds_drawn))
      .Add("rounds_trained", JsonText(totals.rounds_trained))
      .Add("rounds_sent", JsonText(totals.rounds_sent))
      .Add("rounds_given_up", JsonText(totals.rounds_given_up))
      .Add("bytes_sent", JsonText(totals.bytes_sent))
      .Add("private_updates", spent ? JsonText(uint64_t{spent->updates}) : kJsonNull)
      .Add("private_rho", spent ? JsonText(RhoOf(*spent)) : kJsonNull)
      .Add("job", last ? JsonText(Hex(last->job_id)) : kJsonNull)
      .Add("last_round", last ? JsonText(uint64_t{last->round} + 1) : kJsonNull)
      .Add("seconds", SecondsSince(totals.began_ms));
  return results.Text() + '\n';
}

std::string ResultsText(const ClientOptions& options, const std::string& device_id,
                        const Ending& ending, const PeerDevice& device, const PeerTotals& totals) {
  const PeerTrainer& trainer = device.trainer();
  const PeerJob& job = device.job();
  const std::optional<double> rho = StatedRho(job, device.policy(), trainer.ledger());
  JsonObject results = BeginResults(options, device_id, &device.model(), ending);
  results.Add("job", JsonText(Hex(trainer.job_id())))
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
      .Add("statement", JsonText(PeerStatement(device.model(), job, device.policy())))
      .Add("seconds", SecondsSince(totals.began_ms));
  return results.Text() + '\n';
}

void WriteResults(const ClientOptions& options, const std::string& results) {
  if (!options.json.empty()) ReplacePrivateFile(options.json, results);
}

void WriteModel(const std::string& path, Span<const float> parameters) {
  if (path.empty()) return;
  ReplaceTextFile(path, ModelBytes(parameters));
}

}  // namespace sotto::posix
