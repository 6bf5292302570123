// sotto-client for Arm Linux, under QEMU, in a fleet with this machine's own clients, against the
// real server.
#include <filesystem>
#include <gtest/gtest.h>
#include <ostream>

#include <nlohmann/json.hpp>

#include "e2e/live.h"

namespace sotto::live {
namespace {

using Json = nlohmann::json;

struct Cpu {
  const char* name;      // of the preset
  const char* emulator;  // path; not there if it is not installed
  const char* libraries;

  std::string ClientPath() const {
    return std::string(SOTTO_SOURCE_DIR "/build/arm-linux/") + name + "/bin/sotto-client";
  }
};

void PrintTo(const Cpu& cpu, std::ostream* out) { *out << cpu.name; }

class ArmLinuxFleetTest : public testing::TestWithParam<Cpu> {};

Arguments Concatenate(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
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
  const Arguments arm_program = {cpu.emulator, "-L", cpu.libraries, cpu.ClientPath()};
  std::vector<Process> clients;
  for (size_t i = 0; i < site.devices(); ++i) {
    clients.push_back(i % 2 == 0 ? site.Client(i, server.port, seeded, arm_program)
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
