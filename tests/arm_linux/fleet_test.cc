// sotto-client for Arm Linux, under QEMU, in a fleet with this machine's own clients, against the
// real server. The Arm clients have the samples as CSV, the others as IDX. One of them is linked
// statically.
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <ostream>

#include <nlohmann/json.hpp>

#include "e2e/live.h"
#include "sotto/data/source.h"

namespace sotto::live {
namespace {

using Json = nlohmann::json;

struct Cpu {
  const char* name;      // of the preset
  const char* emulator;  // path; not there if it is not installed
  const char* libraries;

  std::string ClientPath(const std::string& folder = "bin") const {
    return fmt::format("{}/build/arm-linux/{}/{}/sotto-client", SOTTO_SOURCE_DIR, name, folder);
  }
  // Needs nothing of its system: no folder of libraries is named.
  Arguments StaticClient() const { return {ClientPath("static")}; }
  Arguments Client() const { return {"-L", libraries, ClientPath()}; }
};

void PrintTo(const Cpu& cpu, std::ostream* out) { *out << cpu.name; }

class ArmLinuxFleetTest : public testing::TestWithParam<Cpu> {};

Arguments Concatenate(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

// The site's samples as CSV: the digit, then each pixel as the float that IDX files give.
std::string WriteCsv(const Site& site) {
  const SharedDataset data = ReadDataset(
      ParseDataSource(site.Path("data/train-images-idx3-ubyte") +
                      ":format=idx,labels=" + site.Path("data/train-labels-idx1-ubyte")),
      nullptr);
  std::ofstream file(site.Path("data/train.csv"));
  std::vector<float> pixels(data->input_size());
  file << "digit";
  for (size_t i = 0; i < pixels.size(); ++i) file << ",p" << i;
  for (size_t sample = 0; sample < data->size(); ++sample) {
    data->CopyFeatures(sample, {pixels.data(), pixels.size()});
    file << '\n' << data->Label(sample);
    for (const float pixel : pixels) file << fmt::format(",{}", pixel);
  }
  file << '\n';
  return site.Path("data/train.csv") + ":label=digit,classes=0,1,2,3,4,5,6,7,8,9";
}

Process ArmClient(const Site& site, size_t device, uint16_t port, const std::string& csv,
                  const Cpu& cpu, const Arguments& more) {
  const Arguments options = {
      "-v",        "--once",
      "--server",  Address(port),
      "--key",     site.Path("keys/" + site.key(device).device_id + ".key"),
      "--data",    csv,
      "--samples", fmt::format("{}:{}", Site::kSamples * device, Site::kSamples)};
  const Arguments program = device == 0 ? cpu.StaticClient() : cpu.Client();
  return site.Start(cpu.emulator, Concatenate(Concatenate(program, options), more),
                    std::filesystem::path(site.ClientLog(device)).filename());
}

std::string SimulatedModel(const Site& site, const Arguments& job) {
  const Arguments fleet = {"simulate",
                           "--data",
                           site.Path("data"),
                           "--devices",
                           std::to_string(site.devices()),
                           "--samples-per-device",
                           std::to_string(Site::kSamples),
                           "--json",
                           site.Path("simulate.json")};
  EXPECT_EQ(site.Sotto(Concatenate(fleet, job), "simulate.log").Wait(), 0)
      << ReadFile(site.Path("simulate.log"));
  return Json::parse(ReadFile(site.Path("simulate.json")))["parameters_sha256"];
}

TEST_P(ArmLinuxFleetTest, AFleetWithArmDevicesReachesTheSimulatorsModel) {
  const Cpu& cpu = GetParam();
  if (!std::filesystem::exists(cpu.emulator) || !std::filesystem::exists(cpu.ClientPath())) {
    GTEST_SKIP() << "no " << cpu.emulator << " or no " << cpu.ClientPath() << ": see arm_linux."
                 << cpu.name;
  }
  const Arguments seeded = {"--seed", "7", "--insecure-seed"};
  const Arguments job = {"--cohort", "4", "--rounds", "3", "--noise-multiplier", "1"};
  Site site(4, seeded);
  Server server =
      site.Serve(Concatenate(Concatenate(job, seeded), {"--json", site.Path("serve.json")}));
  const std::string csv = WriteCsv(site);
  std::vector<Process> clients;
  for (size_t i = 0; i < site.devices(); ++i) {
    clients.push_back(i % 2 == 0 ? ArmClient(site, i, server.port, csv, cpu, seeded)
                                 : site.Client(i, server.port, seeded));
  }
  ASSERT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  for (size_t i = 0; i < clients.size(); ++i) {
    EXPECT_EQ(clients[i].Wait(), 0) << ReadFile(site.ClientLog(i));
  }
  const Json live = Json::parse(ReadFile(site.Path("serve.json")));
  EXPECT_EQ(live["rounds_released"], 3);
  EXPECT_EQ(live["parameters_sha256"], SimulatedModel(site, Concatenate(job, {"--seed", "7"})));
}

INSTANTIATE_TEST_SUITE_P(
    Qemu, ArmLinuxFleetTest,
    testing::Values(Cpu{"aarch64", SOTTO_QEMU_AARCH64, "/usr/aarch64-linux-gnu"},
                    Cpu{"armhf", SOTTO_QEMU_ARMHF, "/usr/arm-linux-gnueabihf"}),
    [](const auto& cpu) { return cpu.param.name; });

}  // namespace
}  // namespace sotto::live
