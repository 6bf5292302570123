// The devices of a store: the tables `devices`, `revocations`, `rotations`, `owners` and
// `kits`. Part of sotto::server/backends.
//
// What changes a device runs in the caller's transaction and appends its record to the chain; what
// reads a secret verifies the device's records. Refusals name the file and say what to do.
//
// One thread at a time for each database.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/sql.h"
#include "backends/sql_chain.h"
#include "round/devices.h"
#include "round/former_keys.h"
#include "store/records.h"

namespace sotto::server {

class SqlDevices {
 public:
  // The database must hold the tables of sql_tables.h, and must outlive this object.
  explicit SqlDevices(Database& database) : database_(database) {}

  // As Store::Register() says.
  void Add(const std::vector<Registration>& devices, bool seeded);

  // Throws if Add() would refuse this device.
  void RequireNew(const Device& device);

  // These refuse a device that there is not, and one that is revoked.
  void Revoke(const std::string& id);
  void Rotate(const std::string& id, const Key& secret);
  void SetOwner(const std::string& id, const std::string& owner);
  void SetKit(const std::string& id, const std::string& settings);
  std::string KitOf(const std::string& id);
  Device Find(const std::string& id);

  // All devices, and the numbers of the eligible ones, in the order in which they were added.
  std::vector<DeviceRecord> List();
  std::vector<int64_t> EligibleNumbers();

  // The eligible devices, in the same order.
  DeviceRegistry Load();

  // As Store::LoadFormerKeys() says.
  std::vector<FormerKey> LoadFormer();

  // The changes after this record of the chain, in its order.
  std::vector<DeviceChange> ChangesAfter(int64_t record);

 private:
  void RequireNewSecret(const Device& device);
  int64_t NumberOf(const std::string& id);
  Key SecretOf(Chain& chain, int64_t device);
  void AppendOwner(Chain& chain, int64_t device, const std::string& owner);
  void AppendKit(Chain& chain, int64_t device, const std::string& settings);
  std::string KitOf(Chain& chain, int64_t device);
  std::string OwnerOf(Chain& chain, int64_t device);

  Database& database_;
};

}  // namespace sotto::server
