#include "cli/inspect_store.h"

#include <fmt/format.h>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "base/counted.h"
#include "cli/json_output.h"
#include "cli/output_file.h"
#include "store/open_store.h"

namespace sotto::server {
namespace {

struct InspectStoreOptions {
  std::string store;
  std::string json;
};

std::string Describe(const std::string& store, const StoreReport& report) {
  if (!report.is_chained) {
    return fmt::format(
        "{}: version {}: its file is sound, and its records have no chain; a command that opens "
        "it, "
        "for example `sotto keys list`, converts it\n",
        store, report.version);
  }
  return fmt::format(
      "{}: version {}, {}, each as it was written\n"
      "  devices    {}, {} eligible\n"
      "  jobs       {}\n"
      "  attempts   {}\n"
      "  releases   {}\n"
      "  last       {}\n"
      "  head       {}\n"
      "An older copy of a store is sound too. Note the number of records and the head: later they "
      "are\nthose of this copy, or the records are more.\n",
      store, report.version, Counted(report.records, "record"), report.devices,
      report.eligible_devices, report.jobs, report.attempts, report.releases, report.last_record,
      report.head);
}

nlohmann::ordered_json ToJson(const std::string& store, const StoreReport& report) {
  nlohmann::ordered_json json = {{"store", store}, {"version", report.version}};
  json["chained"] = report.is_chained;
  if (!report.is_chained) return json;
  json["records"] = report.records;
  json["head"] = report.head;
  json["last_record"] = report.last_record;
  json["devices"] = report.devices;
  json["eligible_devices"] = report.eligible_devices;
  json["jobs"] = report.jobs;
  json["attempts"] = report.attempts;
  json["releases"] = report.releases;
  return json;
}

void RunInspectStore(const InspectStoreOptions& o) {
  RequireOutput(o.json, o.store);
  const StoreReport report = InspectStore(o.store);
  fmt::print(IsStandardOutput(o.json) ? stderr : stdout, "{}", Describe(o.store, report));
  WriteJson(o.json, ToJson(o.store, report));
}

}  // namespace

void AddInspectStoreCommand(CLI::App& inspect) {
  const auto o = std::make_shared<InspectStoreOptions>();
  CLI::App& command = *inspect.add_subcommand(
      "store", "verify that every record of a store is as it was written; changes nothing");
  command.add_option("RUN,--store", o->store, "the store of `sotto serve`")->required();
  command.add_option("--json", o->json, "write the report to this file; - is standard output");
  command.callback([o] { RunInspectStore(*o); });
}

}  // namespace sotto::server
