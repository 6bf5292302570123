#include "cli/verify_store.h"

#include <fmt/format.h>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "store/open_store.h"
#include "views/json_output.h"
#include "views/output_file.h"

namespace sotto::server {
namespace {

// "1", "2 and 3", "4 to 9": rounds without a gap, from 1.
std::string DescribeRounds(const std::vector<int64_t>& rounds) {
  if (rounds.size() == 1) return fmt::format("round {}", rounds[0] + 1);
  return fmt::format("rounds {} {} {}", rounds.front() + 1, rounds.size() == 2 ? "and" : "to",
                     rounds.back() + 1);
}

// "job 1: the first, rounds 1 to 3; job 2: round 9"
std::string DescribeModels(const std::vector<StoredModels>& models) {
  std::string text;
  for (const auto& [job, rounds] : models) {
    const bool has_first = rounds.front() == kFirstModel;
    text += fmt::format("{}job {}: ", text.empty() ? "" : "; ", job);
    if (has_first) text += rounds.size() == 1 ? "the first" : "the first, ";
    const std::vector<int64_t> released(rounds.begin() + (has_first ? 1 : 0), rounds.end());
    if (!released.empty()) text += DescribeRounds(released);
  }
  return text.empty() ? "none" : text;
}

nlohmann::ordered_json ToJson(const std::vector<StoredModels>& models) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const auto& [job, rounds] : models) {
    nlohmann::ordered_json numbers = nlohmann::ordered_json::array();
    for (const int64_t round : rounds) {
      if (round != kFirstModel) numbers.push_back(round + 1);
    }
    all.push_back(
        {{"job", job}, {"first", rounds.front() == kFirstModel}, {"rounds", std::move(numbers)}});
  }
  return all;
}

std::string Describe(const std::string& store, const StoreReport& report) {
  return fmt::format(
      "{}: version {}, {}, each as it was written\n"
      "  devices    {}, {} eligible\n"
      "  jobs       {}\n"
      "  attempts   {}\n"
      "  releases   {}, {} evaluated\n"
      "  models     {}\n"
      "  last       {}\n"
      "  head       {}\n"
      "An older copy of a store is sound too. Note the number of records and the head: later they "
      "are\nthose of this copy, or the records are more.\n",
      store, report.version, Counted(report.records, "record"), report.devices,
      report.eligible_devices, report.jobs, report.attempts, report.releases, report.evaluations,
      DescribeModels(report.models), report.last_record, report.head);
}

nlohmann::ordered_json ToJson(const std::string& store, const StoreReport& report) {
  nlohmann::ordered_json json = {{"store", store}, {"version", report.version}};
  json["records"] = report.records;
  json["head"] = report.head;
  json["last_record"] = report.last_record;
  json["devices"] = report.devices;
  json["eligible_devices"] = report.eligible_devices;
  json["jobs"] = report.jobs;
  json["attempts"] = report.attempts;
  json["releases"] = report.releases;
  json["evaluations"] = report.evaluations;
  json["models"] = ToJson(report.models);
  return json;
}

}  // namespace

void VerifyStore(const std::string& store, const std::string& json) {
  RequireOutput(json, store);
  const StoreReport report = InspectStore(store);
  PrintResults(json, Describe(store, report), ToJson(store, report));
}

}  // namespace sotto::server
