#include "backends/sql_devices.h"

#include <algorithm>
#include <stdexcept>

#include "base/bytes.h"

namespace sotto::server {
namespace {

constexpr char kIsEligible[] = "position NOT IN (SELECT device FROM revocations)";

void RequireValidName(const std::string& id) {
  if (!IsValidDeviceId(BytesOf(id))) {
    throw std::invalid_argument("device name '" + id +
                                "': use 1 to 64 characters of A-Z a-z 0-9 . _ -");
  }
}

}  // namespace

void SqlDevices::Add(const std::vector<Registration>& devices, bool seeded) {
  Chain chain(database_);
  for (const auto& [device, owner, kit] : devices) {
    if (!owner.empty()) RequireValidOwner(owner);
    RequireNew(device);
    const int64_t number = database_.Integer("SELECT coalesce(max(position), 0) + 1 FROM devices");
    Insert(database_, "devices",
           {{"position", number},
            {"id", device.id},
            {"secret", SecretBytes{device.secret.bytes}},
            {"created", SecondsSince1970()},
            {"seeded", seeded}});
    chain.Append({"device", {number}});
    if (!owner.empty()) AppendOwner(chain, number, owner);
    if (!kit.empty()) AppendKit(chain, number, kit);
  }
}

void SqlDevices::RequireNew(const Device& device) {
  RequireValidName(device.id);
  Statement named(database_, "SELECT 1 FROM devices WHERE id = ?");
  if (named.Bind(device.id).Step()) {
    database_.Refuse("device " + device.id + " is in the store already; choose another name");
  }
  RequireNewSecret(device);
}

void SqlDevices::RequireNewSecret(const Device& device) {
  Statement other(database_,
                  "SELECT id FROM devices WHERE secret = ? UNION ALL SELECT id FROM devices JOIN "
                  "rotations ON device = position WHERE rotations.secret = ?");
  const SecretBytes secret{device.secret.bytes};
  if (!other.Bind(secret, secret).Step()) return;
  database_.Refuse("devices " + other.Text(0) + " and " + device.id +
                   " would have the same secret; provision each with its own");
}

// The number of an eligible device. Refuses another one.
int64_t SqlDevices::NumberOf(const std::string& id) {
  Statement row(database_,
                "SELECT position, revoked FROM devices LEFT JOIN revocations ON device = position "
                "WHERE id = ?");
  if (!row.Bind(id).Step()) {
    database_.Refuse("there is no device " + id + "; `sotto keys list` names those there are");
  }
  if (!row.IsNull(1)) database_.Refuse("device " + id + " is revoked; provision a new one");
  return row.Integer(0);
}

// The secret in use: of the last rotation, or else the first one. No query here sorts secrets,
// which would leave copies of them.
Key SqlDevices::SecretOf(Chain& chain, int64_t device) {
  Key secret;
  chain.RequireIntact({"device", {device}});
  Statement rotation(database_,
                     "SELECT number, secret FROM rotations WHERE device = ? "
                     "ORDER BY number DESC LIMIT 1");
  if (rotation.Bind(device).Step()) {
    chain.RequireIntact({"rotation", {device, rotation.Integer(0)}});
    std::copy_n(rotation.Blob(1).data(), kKeySize, secret.bytes);
    return secret;
  }
  Statement first(database_, "SELECT secret FROM devices WHERE position = ?");
  first.Bind(device).Step();
  std::copy_n(first.Blob(0).data(), kKeySize, secret.bytes);
  return secret;
}

void SqlDevices::Revoke(const std::string& id) {
  const int64_t device = NumberOf(id);
  Insert(database_, "revocations", {{"device", device}, {"revoked", SecondsSince1970()}});
  Chain(database_).Append({"revocation", {device}});
}

void SqlDevices::Rotate(const std::string& id, const Key& secret) {
  const int64_t device = NumberOf(id);
  RequireNewSecret({id, secret});
  Statement last(database_, "SELECT coalesce(max(number), 0) FROM rotations WHERE device = ?");
  last.Bind(device).Step();
  const int64_t number = last.Integer(0) + 1;
  Insert(database_, "rotations",
         {{"device", device},
          {"number", number},
          {"secret", SecretBytes{secret.bytes}},
          {"rotated", SecondsSince1970()}});
  Chain(database_).Append({"rotation", {device, number}});
}

void SqlDevices::AppendOwner(Chain& chain, int64_t device, const std::string& owner) {
  Statement last(database_, "SELECT coalesce(max(number), 0) FROM owners WHERE device = ?");
  last.Bind(device).Step();
  const int64_t number = last.Integer(0) + 1;
  Insert(database_, "owners",
         {{"device", device},
          {"number", number},
          {"owner", owner},
          {"registered", SecondsSince1970()}});
  chain.Append({"owner", {device, number}});
}

void SqlDevices::SetOwner(const std::string& id, const std::string& owner) {
  RequireValidOwner(owner);
  Chain chain(database_);
  const int64_t device = NumberOf(id);
  if (OwnerOf(chain, device) != owner) AppendOwner(chain, device, owner);
}

// Empty: it has none.
std::string SqlDevices::OwnerOf(Chain& chain, int64_t device) {
  Statement row(database_,
                "SELECT number, owner FROM owners WHERE device = ? ORDER BY number DESC LIMIT 1");
  if (!row.Bind(device).Step()) return "";
  chain.RequireIntact({"owner", {device, row.Integer(0)}});
  return row.Text(1);
}

void SqlDevices::AppendKit(Chain& chain, int64_t device, const std::string& settings) {
  Statement last(database_, "SELECT coalesce(max(number), 0) FROM kits WHERE device = ?");
  last.Bind(device).Step();
  const int64_t number = last.Integer(0) + 1;
  Insert(database_, "kits",
         {{"device", device},
          {"number", number},
          {"settings", settings},
          {"written", SecondsSince1970()}});
  chain.Append({"kit", {device, number}});
}

void SqlDevices::SetKit(const std::string& id, const std::string& settings) {
  Chain chain(database_);
  const int64_t device = NumberOf(id);
  if (KitOf(chain, device) != settings) AppendKit(chain, device, settings);
}

std::string SqlDevices::KitOf(const std::string& id) {
  Chain chain(database_);
  if (!id.empty()) return KitOf(chain, NumberOf(id));
  Statement row(database_,
                "SELECT device FROM kits ORDER BY written DESC, device DESC, number DESC LIMIT 1");
  return row.Step() ? KitOf(chain, row.Integer(0)) : "";
}

std::string SqlDevices::KitOf(Chain& chain, int64_t device) {
  Statement row(database_,
                "SELECT number, settings FROM kits WHERE device = ? ORDER BY number DESC LIMIT 1");
  if (!row.Bind(device).Step()) return "";
  chain.RequireIntact({"kit", {device, row.Integer(0)}});
  return row.Text(1);
}

Device SqlDevices::Find(const std::string& id) {
  Chain chain(database_);
  return {id, SecretOf(chain, NumberOf(id))};
}

std::vector<DeviceRecord> SqlDevices::List() {
  std::vector<DeviceRecord> devices;
  Statement row(database_,
                "SELECT position, id, created, revoked, seeded, "
                "(SELECT max(rotated) FROM rotations WHERE device = position), "
                "(SELECT owner FROM owners WHERE device = position ORDER BY number DESC LIMIT 1) "
                "FROM devices LEFT JOIN revocations ON device = position ORDER BY position");
  while (row.Step()) {
    DeviceRecord device;
    device.number = row.Integer(0);
    device.id = row.Text(1);
    device.created = row.Integer(2);
    if (!row.IsNull(3)) device.revoked = row.Integer(3);
    device.seeded = row.Integer(4) != 0;
    if (!row.IsNull(5)) device.rotated = row.Integer(5);
    if (!row.IsNull(6)) device.owner = row.Text(6);
    devices.push_back(std::move(device));
  }
  return devices;
}

std::vector<int64_t> SqlDevices::EligibleNumbers() {
  std::vector<int64_t> eligible;
  Statement row(database_, std::string("SELECT position FROM devices WHERE ") + kIsEligible);
  while (row.Step()) eligible.push_back(row.Integer(0));
  return eligible;
}

DeviceRegistry SqlDevices::Load() {
  DeviceRegistry registry;
  Chain chain(database_);
  const bool has_owners = database_.Integer("SELECT count(*) FROM owners") != 0;
  Statement row(database_,
                std::string("SELECT id, position, secret, (SELECT count(*) FROM rotations WHERE "
                            "device = position) FROM devices WHERE ") +
                    kIsEligible + " ORDER BY position");
  while (row.Step()) {
    const int64_t number = row.Integer(1);
    Device device{row.Text(0), {}};
    if (row.Integer(3) != 0) {
      device.secret = SecretOf(chain, number);
    } else {
      chain.RequireIntact({"device", {number}});
      std::copy_n(row.Blob(2).data(), kKeySize, device.secret.bytes);
    }
    registry.Register(std::move(device), number, has_owners ? OwnerOf(chain, number) : "");
  }
  return registry;
}

// A device has its first secret under number 0, and one more with each rotation. The time at which
// a secret was taken from it is the time of the next rotation, or of its revocation. No query here
// sorts secrets.
std::vector<FormerKey> SqlDevices::LoadFormer() {
  std::vector<FormerKey> keys;
  Chain chain(database_);
  Statement device(database_,
                   "SELECT position, id, revoked FROM devices LEFT JOIN revocations "
                   "ON device = position WHERE revoked IS NOT NULL "
                   "OR position IN (SELECT device FROM rotations) ORDER BY position");
  while (device.Step()) {
    const int64_t number = device.Integer(0);
    const bool is_revoked = !device.IsNull(2);
    chain.RequireIntact({"device", {number}});
    const auto add = [&](ByteSpan secret, bool is_replaced, int64_t replaced) {
      if (!is_replaced && !is_revoked) return;  // in use
      FormerKey key{device.Text(1), {}, is_revoked, is_revoked ? device.Integer(2) : replaced};
      std::copy_n(secret.data(), kKeySize, key.secret.bytes);
      keys.push_back(std::move(key));
    };
    Statement first(database_,
                    "SELECT secret, (SELECT rotated FROM rotations WHERE device = position AND "
                    "number = 1) FROM devices WHERE position = ?");
    if (first.Bind(number).Step()) {
      const bool is_replaced = !first.IsNull(1);
      add(first.Blob(0), is_replaced, is_replaced ? first.Integer(1) : 0);
    }
    Statement later(database_,
                    "SELECT number, secret, (SELECT rotated FROM rotations AS next WHERE "
                    "next.device = old.device AND next.number = old.number + 1) "
                    "FROM rotations AS old WHERE device = ? ORDER BY number");
    for (later.Bind(number); later.Step();) {
      chain.RequireIntact({"rotation", {number, later.Integer(0)}});
      const bool is_replaced = !later.IsNull(2);
      add(later.Blob(1), is_replaced, is_replaced ? later.Integer(2) : 0);
    }
  }
  return keys;
}

std::vector<DeviceChange> SqlDevices::ChangesAfter(int64_t record) {
  using Kind = DeviceChange::Kind;
  std::vector<DeviceChange> changes;
  Chain chain(database_);
  Statement row(database_,
                "SELECT kind, position, id FROM chain JOIN devices ON position = first_key "
                "WHERE sequence > ? AND kind IN ('device', 'revocation', 'rotation', 'owner') "
                "ORDER BY sequence");
  row.Bind(record);
  while (row.Step()) {
    const std::string kind = row.Text(0);
    DeviceChange change;
    change.kind = kind == "device"     ? Kind::kAdded
                  : kind == "rotation" ? Kind::kRotated
                  : kind == "owner"    ? Kind::kOwned
                                       : Kind::kRevoked;
    change.number = row.Integer(1);
    change.device.id = row.Text(2);
    const bool has_secret = change.kind == Kind::kAdded || change.kind == Kind::kRotated;
    if (has_secret) change.device.secret = SecretOf(chain, change.number);
    if (change.kind == Kind::kOwned) change.owner = OwnerOf(chain, change.number);
    changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace sotto::server
