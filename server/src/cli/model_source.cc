#include "cli/model_source.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>

#include <nlohmann/json.hpp>

#include "accounting/figures.h"
#include "backends/open_store.h"
#include "base/json_text.h"
#include "data/catalog.h"
#include "export/parameters.h"
#include "plans/claim_kinds.h"
#include "sotto/data/source.h"
#include "sotto/model/kept_release.h"
#include "sotto/model/layer_kinds.h"
#include "sotto/model/model_bundle.h"
#include "sotto/model/model_text.h"
#include "sotto/models.h"
#include "sotto/posix/check.h"
#include "sotto/posix/files.h"
#include "sotto/posix/terminal.h"
#include "views/report.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kStoreBeginning("SQLite format 3\0", 16);

// What a store says of one of its models.
struct Released {
  JobEntry job;
  posix::SharedModel model;  // that the job trains
  int64_t round = 0;
  std::vector<float> parameters;
  std::optional<LedgerEntry> entry;  // absent: with which the job began
  std::optional<float> threshold;
};

bool IsStore(const std::string& path) {
  posix::RequireRegularFile(path);
  std::ifstream file(path, std::ios::binary);
  std::string head(kStoreBeginning.size(), '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  return file && head == kStoreBeginning;
}

[[noreturn]] void Refuse(const ModelSource& source, const std::string& why) {
  throw std::invalid_argument(fmt::format("{}: {}", source.path, why));
}

// Rounds as people count them.
std::string RoundsText(const std::vector<int64_t>& rounds) {
  std::vector<int64_t> counted;
  for (const int64_t round : rounds) counted.push_back(round + 1);
  constexpr size_t kMost = 20;
  if (counted.size() > kMost) {
    return fmt::format("{} to {}, {} in all", counted.front(), counted.back(), counted.size());
  }
  return fmt::format("{}", fmt::join(counted, ", "));
}

const JobEntry& FindJob(const ModelSource& source, const History& history) {
  if (history.jobs.empty()) Refuse(source, "no job has begun in this store: it has no model");
  if (!source.job) return history.jobs.back();
  for (const JobEntry& job : history.jobs) {
    if (job.number == *source.job) return job;
  }
  Refuse(source, fmt::format("it has no job {}; its jobs are 1 to {}", *source.job,
                             history.jobs.back().number));
}

int64_t FindRound(const ModelSource& source, const JobEntry& job,
                  const std::vector<int64_t>& rounds) {
  if (rounds.empty()) Refuse(source, fmt::format("it has no model of job {}", job.number));
  if (!source.round) return rounds.back();
  const int64_t round = int64_t{*source.round} - 1;
  if (std::find(rounds.begin(), rounds.end(), round) != rounds.end()) return round;
  Refuse(source, fmt::format("it has no model of round {} of job {}; it has the models of the "
                             "rounds {} (0: the model with which the job began)",
                             *source.round, job.number, RoundsText(rounds)));
}

posix::SharedModel DescribedModel(Store& store, const JobEntry& job) {
  const std::vector<uint8_t> bundle = store.ReadDescription(job.number);
  try {
    return posix::ParseBundle({bundle.data(), bundle.size()});
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(
        fmt::format("{}: the model of job {}: {}; a later version of Sotto "
                    "may read it",
                    store.name(), job.number, error.what()));
  }
}

Released ReadReleased(const ModelSource& source) {
  Released released;
  const std::unique_ptr<Store> store = OpenStore(source.path, StoreMode::kRead);
  store->ReadAtOneMoment([&] {
    released.job = FindJob(source, store->ReadHistory());
    released.model = DescribedModel(*store, released.job);
    const int64_t job = released.job.number;
    released.round = FindRound(source, released.job, store->ListModels(job));
    released.parameters = store->ReadModel(job, released.round).parameters;
    for (const LedgerEntry& entry : store->Ledger()) {
      if (entry.job == job && int64_t{entry.round} == released.round) released.entry = entry;
    }
    for (const ModelThreshold& each : store->Thresholds()) {
      if (each.job == job && each.round == released.round) released.threshold = each.threshold;
    }
  });
  return released;
}

constexpr char kNoPrivacy[] = "none: no epsilon bounds what the parameters tell about a device";

// The headline: the claim against a person who sees the released models. A model without a claim
// says so in words.
Metadata ClaimsOf(const LedgerEntry& entry) {
  const privacy::Claim* claim = privacy::FindClaim(entry.claims, privacy::ClaimKinds().front());
  if (claim == nullptr || !std::isfinite(claim->epsilon)) return {{"privacy", kNoPrivacy}};
  Metadata metadata = {{"epsilon", fmt::format("{}", claim->epsilon)},
                       {"delta", fmt::format("{}", claim->delta)},
                       {"unit", privacy::Name(claim->unit)},
                       {"adjacency", privacy::Name(claim->adjacency)},
                       {"adversary", privacy::Name(claim->adversary)},
                       {"view", privacy::Name(claim->view)},
                       {"trust_mode", privacy::Name(claim->trust_mode)},
                       {"colluders", std::to_string(claim->colluders)},
                       {"accountant", claim->accountant}};
  if (entry.seeded) metadata.emplace_back("seeded", "not private: the noise derives from a seed");
  return metadata;
}

Metadata MetadataOf(const Released& released) {
  Metadata metadata = {{"job", std::to_string(released.job.number)},
                       {"round", std::to_string(released.round + 1)}};
  if (!released.entry) return metadata;
  metadata.emplace_back("rounds", std::to_string(released.entry->plan.rounds));
  metadata.emplace_back("mechanism", released.entry->mechanism);
  for (const auto& item : ClaimsOf(*released.entry)) metadata.push_back(item);
  return metadata;
}

// The model of --model.
posix::SharedModel OpenGiven(const ModelSource& source) {
  try {
    return posix::OpenModel(source.model);
  } catch (const std::exception& error) {
    throw std::invalid_argument(fmt::format("--model {}", error.what()));
  }
}

// The model that the user names, or that a file names if it has a name that all know.
posix::SharedModel OpenNamed(const ModelSource& source, const std::string& name) {
  if (!source.model.empty()) return OpenGiven(source);
  if (!name.empty() && FindModel(name.c_str()) != nullptr) return posix::OpenModel(name);
  Refuse(source, name.empty()
                     ? "it does not say of which model its parameters are; name it: --model NAME "
                       "or --model FILE.toml"
                     : fmt::format("it is of model {}, which a file describes; name that file: "
                                   "--model FILE.toml",
                                   name));
}

void RequireModelOf(const ModelSource& source, const Released& released, const ModelInfo& model) {
  const Json configuration = TryParseJson(released.job.configuration);
  const std::string theirs =
      configuration.is_object() ? configuration.value("model_digest", std::string()) : "";
  const std::string ours = posix::ModelDigestHex(model);
  if ((theirs.empty() || theirs == ours) && released.parameters.size() == model.parameters) return;
  Refuse(source, fmt::format("job {} trained model {} with the digest {}; model {} is another net, "
                             "its digest is {}",
                             released.job.number, released.job.model, theirs, model.name, ours));
}

OpenedModel OpenReleased(const ModelSource& source) {
  Released released = ReadReleased(source);
  OpenedModel opened;
  opened.model = source.model.empty() ? released.model : OpenGiven(source);
  RequireModelOf(source, released, *opened.model);
  opened.metadata = MetadataOf(released);
  if (released.threshold) SetThreshold(*released.threshold, *opened.model, &opened.metadata);
  opened.job = released.job.number;
  opened.round = released.round;
  opened.parameters = std::move(released.parameters);
  return opened;
}

// The name of the model in a file that has metadata.
std::string NameIn(const std::string& path) {
  const std::string bytes = ReadModelBytes(path);
  for (const ExportFormat& format : ExportFormats()) {
    if (format.read == nullptr) continue;
    try {
      return ValueOf(format.read(bytes).metadata, "model");
    } catch (const std::exception&) {
      continue;  // of another format
    }
  }
  return "";
}

// What the device that keeps this file knows of it; absent: nobody keeps it (--keep-model of
// sotto-client), or it has changed since.
std::optional<posix::KeptRelease> KeptReleaseOf(const std::string& path,
                                                const std::vector<float>& parameters) {
  const std::filesystem::path file(path);
  if (file.filename() != posix::kKeptModelFile) return std::nullopt;
  const std::string beside = file.parent_path() / posix::kKeptReleaseFile;
  const std::optional<std::string> text = posix::ReadTextFile(beside);
  if (!text) return std::nullopt;
  uint8_t check[kModelCheckSize] = {};
  posix::Check(ModelCheck({parameters.data(), parameters.size()}, check), "the model's check");
  try {
    const posix::KeptRelease kept = posix::ParseKeptRelease(*text);
    const bool is_its = std::equal(std::begin(check), std::end(check), std::begin(kept.check));
    return is_its ? std::optional(kept) : std::nullopt;
  } catch (const posix::FileError& error) {
    throw std::invalid_argument(fmt::format("{}: {}", beside, error.what()));
  }
}

OpenedModel OpenFile(const ModelSource& source) {
  if (source.round || source.job) {
    Refuse(source, "--round and --job choose a model of a store; this is a file of one model");
  }
  OpenedModel opened;
  const std::string name = source.model.empty() ? NameIn(source.path) : "";
  opened.model = OpenNamed(source, name);
  opened.parameters = ReadModelParameters(source.path, *opened.model, &opened.metadata);
  const std::optional<posix::KeptRelease> kept = KeptReleaseOf(source.path, opened.parameters);
  if (kept && kept->threshold != 0) {
    SetThreshold(kept->threshold, *opened.model, &opened.metadata);
  }
  return opened;
}

// First the model itself, then what the source says.
Metadata WithModel(const OpenedModel& opened) {
  Metadata metadata = {{"model", opened.model->name},
                       {"digest", posix::ModelDigestHex(*opened.model)},
                       {"parameters_sha256",
                        ParametersDigest({opened.parameters.data(), opened.parameters.size()})}};
  if (!opened.model->class_names.empty()) {
    const Span<const char* const>& names = opened.model->class_names;
    metadata.emplace_back("class_names",
                          JsonText(Json(std::vector<std::string>(names.begin(), names.end()))));
  }
  for (const auto& item : opened.metadata) {
    const bool is_of_file = item.first == "format" || item.first == "samples";
    if (!is_of_file && ValueOf(metadata, item.first).empty()) metadata.push_back(item);
  }
  return metadata;
}

// All numbers of the file are features. Null if they are not as many as the model takes: then some
// are labels.
//   train  what is known of the training samples, or null
SharedDataset WithoutLabels(const std::string& data, const ModelInfo& model,
                            const SampleInfo* train) {
  DataSource source = ParseDataSource(data);
  std::error_code ignored;
  const bool is_file = std::filesystem::is_regular_file(source.path, ignored);
  if (!is_file || source.options.count("label") > 0) return nullptr;
  ModelInfo asks_for_features = model;
  asks_for_features.classes = 0;
  asks_for_features.loss.target = nn::TargetKind::kInput;
  if (train != nullptr) source.like = train->columns;
  source.like.targets.clear();
  try {
    return ReadDataset(source, &asks_for_features);
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // namespace

const std::vector<posix::Field<ModelSource>>& ModelSourceFields() {
  using Row = posix::Field<ModelSource>;
  constexpr double kMost = 1e9;
  static const std::vector<posix::Field<ModelSource>> kFields = {
      Row("", &ModelSource::path,
          "the store of `sotto serve`, also while it serves; or a file that `sotto model export` "
          "or --model-out wrote")
          .Argument("SOURCE")
          .Required(),
      Row("model", &ModelSource::model,
          "the net: a name, or FILE.toml; a store states its net; needed if a file names no net "
          "that `sotto model` lists"),
      Row("round", &ModelSource::round,
          "for a store: the released round, from 1, or 0 for the model with which the job began")
          .Within({0, kMost})
          .ByDefault("the last one"),
      Row("job", &ModelSource::job, "for a store: the job's number, from 1")
          .Within({0, kMost})
          .ByDefault("the last one"),
  };
  return kFields;
}

posix::SharedModel OpenModelOfStore(const std::string& path, std::optional<uint32_t> job) {
  ModelSource source;
  source.path = path;
  source.job = job;
  posix::SharedModel model;
  const std::unique_ptr<Store> store = OpenStore(path, StoreMode::kRead);
  store->ReadAtOneMoment(
      [&] { model = DescribedModel(*store, FindJob(source, store->ReadHistory())); });
  return model;
}

OpenedModel OpenModelSource(const ModelSource& source) {
  OpenedModel opened = IsStore(source.path) ? OpenReleased(source) : OpenFile(source);
  opened.metadata = WithModel(opened);
  return opened;
}

const std::vector<posix::Field<SamplesSource>>& SamplesFields() {
  using Row = posix::Field<SamplesSource>;
  static const std::vector<posix::Field<SamplesSource>> kFields = {
      Row("data", &SamplesSource::data,
          "the samples: FILE[:options], synthetic or fashion-mnist; only `sotto model evaluate` "
          "needs their labels")
          .Required(),
      Row("trained-on", &SamplesSource::trained_on,
          "the training samples, as --data of the training named them: they give the columns of "
          "--data by name, and the classes of its labels")
          .ByDefault("the names of the model's features and classes; a model without names takes "
                     "columns in their order, and labels as whole numbers from 0"),
  };
  return kFields;
}

namespace {

// Nothing says whether the columns stand as they did in the training, unless the model names them.
void TellOrder(const ColumnNames& columns, const ModelInfo& model) {
  constexpr size_t kShown = 20;
  if (!columns.has_header || columns.features.empty()) return;
  const Span<const char* const> named = model.feature_names;
  if (std::equal(named.begin(), named.end(), columns.features.begin(), columns.features.end())) {
    return;
  }
  const size_t shown = std::min(kShown, columns.features.size());
  const auto begin = columns.features.begin();
  const std::string names =
      fmt::format("{}{}", fmt::join(begin, begin + static_cast<std::ptrdiff_t>(shown), ", "),
                  shown < columns.features.size() ? ", ..." : "");
  fmt::print(stderr,
             "note: the features are {}, in this order; --trained-on TRAINING-FILE takes the "
             "columns and classes of the training\n",
             posix::Printable(names));
}

// The training samples that the user names, or null.
SharedDataset OpenTrainedOn(const SamplesSource& source, const ModelInfo& model) {
  if (source.trained_on.empty()) return nullptr;
  return OpenTest(source.trained_on, &model, nullptr, LabelUse::kTraining);
}

// The samples, once it is known that the model takes them.
SharedDataset Fitting(const SamplesSource& source, const ModelInfo& model, SharedDataset samples) {
  fmt::print(stderr, "{}", NotesText({samples}));
  if (samples->input_size() == model.inputs) return samples;
  throw std::invalid_argument(fmt::format("--data {}: its samples are {}, and model {} takes {}",
                                          source.data, posix::ShapeText(samples->info().shape),
                                          model.name, posix::ShapeText(model.SampleShape())));
}

}  // namespace

SharedDataset OpenSamples(const SamplesSource& source, const ModelInfo& model, Labels labels) {
  const SharedDataset trained_on = OpenTrainedOn(source, model);
  const SampleInfo* const train = trained_on == nullptr ? nullptr : &trained_on->info();
  SharedDataset samples =
      labels == Labels::kIgnored ? WithoutLabels(source.data, model, train) : nullptr;
  if (samples == nullptr) {
    samples = OpenTest(source.data, &model, train,
                       labels == Labels::kIgnored ? LabelUse::kNobody : LabelUse::kTest);
  }
  if (train == nullptr) TellOrder(samples->info().columns, model);
  return Fitting(source, model, std::move(samples));
}

SharedDataset OpenAnomalies(const SamplesSource& source, const ModelInfo& model,
                            const std::string& column) {
  DataSource labelled = ParseDataSource(source.data);
  if (!labelled.options.emplace("label", column).second) {
    throw std::invalid_argument(
        fmt::format("--data {}: label= and --labels {} both name the column that marks anomalies; "
                    "leave label= out",
                    source.data, column));
  }
  const SharedDataset trained_on = OpenTrainedOn(source, model);
  const SampleInfo* const train = trained_on == nullptr ? nullptr : &trained_on->info();
  ModelInfo asks_for_labels = model;
  asks_for_labels.classes = 2;
  asks_for_labels.loss.target = nn::TargetKind::kClass;
  SharedDataset samples = OpenTest(FormatDataSource(labelled), &asks_for_labels, train);
  if (train == nullptr) TellOrder(samples->info().columns, model);
  return Fitting(source, model, std::move(samples));
}

}  // namespace sotto::server
