#include "store/configuration.h"

#include <cmath>
#include <fmt/format.h>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "sotto/posix/hex.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

void AddPlan(const privacy::Plan& plan, Json& json) {
  json["sampling"] = privacy::Name(plan.sampling);
  json["devices"] = plan.devices;
  json["cohort"] = plan.cohort;
  json["planned_reports"] = plan.planned_reports;
  json["rounds"] = plan.rounds;
  json["dimension"] = plan.dimension;
  json["clip_l2"] = plan.clip_l2;
  json["noise_sigma"] = plan.noise_sigma;
  json["colluders"] = plan.colluders;
  json["delta"] = plan.delta;
  // Absent if the server is trusted, as in jobs that began before there was a choice.
  if (plan.Trust() != privacy::TrustMode::kTrustedServer) {
    json["trust_mode"] = privacy::Name(plan.Trust());
    json["private_noise_multiplier"] = plan.private_noise_multiplier;
  }
  json["certificate_eta"] = plan.certificate.eta;
  json["certificate_tau"] = plan.certificate.tau;
  json["certificate_range"] = plan.certificate.range;
}

// Nothing for a bound that stays: older stores do not know these fields.
void AddClipping(const JobConfig& config, Json& json) {
  if (!config.clip_schedule) return;
  json["clip_bit_scale"] = config.plan.clip_bit_scale;
  json["clip_quantile"] = config.clip_schedule->quantile;
  json["clip_learning_rate"] = config.clip_schedule->learning_rate;
}

void AddTraining(const TrainingOptions& training, Json& json) {
  json["local_epochs"] = training.local_epochs;
  json["batch_size"] = training.batch_size;
  json["learning_rate"] = static_cast<double>(training.learning_rate);
  json["weight_decay"] = static_cast<double>(training.weight_decay);
  json["clipping"] = training.clipping == Clipping::kAtEnd ? "at-end" : "every-step";
}

[[noreturn]] void Refuse(const std::string& path, const std::string& field, const std::string& was,
                         const std::string& is) {
  throw std::runtime_error(
      fmt::format("{}: the job in this store began with {} = {}, and now it is {}; a job keeps the "
                  "configuration it began with: restore {}, or begin another job after it "
                  "(sotto serve --new-job)",
                  path, field, was, is, field));
}

[[noreturn]] void RefuseDamaged(const std::string& path) {
  throw std::runtime_error(path +
                           ": the job's configuration is damaged; begin a new job in a new store");
}

Json Parse(const std::string& path, const std::string& held) {
  Json json = Json::parse(held, nullptr, false);
  if (!json.is_object()) RefuseDamaged(path);
  return json;
}

privacy::Sampling SamplingOf(const std::string& name) {
  for (const privacy::Sampling sampling :
       {privacy::Sampling::kUniform, privacy::Sampling::kPoisson, privacy::Sampling::kNone}) {
    if (name == privacy::Name(sampling)) return sampling;
  }
  throw std::out_of_range("no such sampling: " + name);
}

// The inverse of AddPlan().
privacy::Plan PlanOf(const Json& json) {
  privacy::Plan plan;
  plan.sampling = SamplingOf(json.at("sampling"));
  plan.devices = json.at("devices");
  plan.cohort = json.at("cohort");
  plan.planned_reports = json.at("planned_reports");
  plan.rounds = json.at("rounds");
  plan.dimension = json.at("dimension");
  plan.clip_l2 = json.at("clip_l2");
  plan.clip_bit_scale = json.value("clip_bit_scale", 0.0);
  plan.noise_sigma = json.at("noise_sigma");
  plan.colluders = json.at("colluders");
  plan.delta = json.at("delta");
  plan.certificate = {json.at("certificate_eta"), json.at("certificate_tau"),
                      json.at("certificate_range")};
  plan.private_noise_multiplier = json.value("private_noise_multiplier", 0.0);
  return plan;
}

std::string Value(const Json& json, const std::string& field) {
  return json.contains(field) ? json[field].dump() : "absent";
}

}  // namespace

Json ConfigurationToJson(const JobRecord& job) {
  const JobConfig& config = job.config;
  Json json = {{"model", config.model->name},        {"model_digest", posix::Hex(job.model_digest)},
               {"mechanism", config.codec->name},    {"coding", Name(config.format().coding)},
               {"padding", config.format().padding}, {"seeded", config.seeded}};
  AddPlan(config.plan, json);
  AddClipping(config, json);
  AddTraining(config.training, json);
  json["learning_rate_decay"] = config.learning_rate_decay;
  json["server_learning_rate"] = config.aggregation.server_learning_rate;
  json["smoothing"] = config.aggregation.smoothing;
  json["min_devices"] = config.min_devices;
  const bool is_limited = std::isfinite(config.epsilon_budget);
  json["epsilon_budget"] = is_limited ? Json(config.epsilon_budget) : Json(nullptr);
  return json;
}

privacy::Plan PlanFromConfiguration(const std::string& path, const std::string& held) {
  const Json json = Parse(path, held);
  try {
    privacy::Plan plan = PlanOf(json);
    const CodecInfo* codec = FindCodec(json.at("mechanism"));
    if (codec == nullptr || !codec->certified) plan.noise_sigma = 0;
    return plan;
  } catch (const std::exception&) {
    RefuseDamaged(path);
  }
}

void RequireSameConfiguration(const std::string& path, const std::string& held, const Json& now) {
  const Json before = Parse(path, held);
  for (const Json& side : {now, before}) {
    for (const auto& item : side.items()) {
      const std::string& field = item.key();
      const std::string was = Value(before, field);
      const std::string is = Value(now, field);
      if (was != is) Refuse(path, field, was, is);
    }
  }
}

}  // namespace sotto::server
