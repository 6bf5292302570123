// What a running server says of this moment, for `sotto status`: the file STORE-live. Part of
// sotto::server/service.
//
//   {"format": 1, "server": process id as a text, "written": seconds since 1970,
//    "phase": {"kind": "open" | "closed" | "waiting" | "finished", "reason", "round", "attempt",
//              "drawn", "opened", "deadline"}}
// Devices are in another file (served_devices.h), which outlives the server.
//
// Rounds and attempts count from 1, times are seconds since 1970. The file is written at most once
// a second, and only if something has changed; it has mode 0600, and it is removed when the server
// ends. It is no record: nothing that is read from it decides anything. After a kill it stays, and
// ReadLive() does not take it for a running server's.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "net/server.h"

namespace sotto::server {

// "open"; the phase as live file and page have it.
const char* Name(ServerPhase::Kind kind);

// A file of a server beside its store, by whatever name the store is called.
std::string ServersFile(const std::string& store, const char* ending);

// Throws std::runtime_error if something is there that no server wrote, such as another store.
void RequireServersFile(const std::string& path);

class LiveFile {
 public:
  // Call it when this process has claimed the store's jobs: one process alone writes the file.
  //   server  Store::Server()
  LiveFile(const std::string& store, std::string server);
  ~LiveFile();
  LiveFile(const LiveFile&) = delete;
  LiveFile& operator=(const LiveFile&) = delete;

  // The next two on the thread of Server::Run(), or before it.
  void OnPhase(const ServerPhase& phase);
  // ServerEvents::alive: takes down what is to be written, if it is time.
  void Alive(uint64_t now_ms);

  // In the pool, ServerEvents::watch. A file that cannot be written ends no job: the next change
  // is another try.
  void Write();

 private:
  std::string Text() const;

  const std::string path_;
  const std::string server_;
  ServerPhase phase_;
  bool is_due_ = true;
  uint64_t next_ms_ = 0;

  std::mutex mutex_;  // guards the next member
  std::string text_;  // what Write() writes; empty: nothing
};

// What the server of a store says of this moment; null: none runs, or it has said nothing yet.
//   server  the process that serves the store: Store::Server()
nlohmann::ordered_json ReadLive(const std::string& store, const std::optional<std::string>& server);

// Lines of `sotto status`: what the server does, and the names of the devices in each state. Empty
// if nothing is known.
//   states  ReadDeviceStates()
std::string DescribeLive(const nlohmann::ordered_json& live, const nlohmann::ordered_json& states);

}  // namespace sotto::server
