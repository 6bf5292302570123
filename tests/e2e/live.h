// A live system on this machine for tests: processes, their logs, keys, data, and a caller that
// sends a server any bytes that a test wants.
//
// A Site is a temporary folder with a store, key files and a small data set. It starts servers and
// clients and ends those that still run. Its destructor checks that no log holds a device's secret.
#pragma once

#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "sotto/posix/key_file.h"
#include "sotto/posix/tcp.h"
#include "sotto/tls.h"
#include "sotto/wire.h"
#include "unit/test_folder.h"

namespace sotto::live {

using Arguments = std::vector<std::string>;

// A tenth of this time is enough on an idle machine without sanitizers.
constexpr int kPatienceMs = 60000;

// Calls is_so() every 10 ms until it returns true. Returns false if it does not within timeout_ms.
bool Eventually(const std::function<bool()>& is_so, int timeout_ms = kPatienceMs);

std::string ReadFile(const std::string& path);  // "" if there is no such file
size_t Count(const std::string& text, const std::string& part);
bool Says(const std::string& text, const std::string& words);

// A loopback address that only this process uses. So no other test takes the port of a server
// between its end and its restart.
const std::string& Host();
std::string Address(uint16_t port);  // "HOST:PORT"

// A child process. It ends with the Process object or with this process.
class Process {
 public:
  Process() = default;
  // The first argument is the program's path. Both outputs are appended to the file `log`;
  // standard input is empty.
  Process(const Arguments& arguments, const std::string& log);
  ~Process() { End(); }
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;

  pid_t pid() const { return pid_; }
  void Signal(int number) const;
  // The exit code, or 128 + the signal that ended it; -1 if it still runs after timeout_ms.
  int Wait(int timeout_ms = kPatienceMs);
  // Sends SIGKILL, unless the process has ended.
  void End();

 private:
  pid_t pid_ = -1;
  int exit_code_ = -1;
};

struct Server {
  Process process;
  uint16_t port = 0;  // 0: the server did not start
  std::string log;    // path

  size_t releases() const { return Count(ReadFile(log), " released: "); }
  bool WaitForReleases(size_t count) const;
  bool WaitForDraw() const;     // until the first attempt is open: before, all devices wait
  size_t memory_bytes() const;  // resident
  size_t open_files() const;    // 0 if the system shows them to root only, as for this program
};

class Site {
 public:
  static constexpr size_t kSamples = 8;  // of one device

  // key_arguments: further arguments of `sotto keys new`.
  explicit Site(uint32_t devices, const Arguments& key_arguments = {});
  ~Site();
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  std::string Path(const std::string& name) const { return folder_.Path(name); }
  const posix::DeviceKey& key(size_t device) const { return keys_[device]; }
  size_t devices() const { return keys_.size(); }

  // Starts `sotto ARGUMENTS`, or another program, with its output in Path(log).
  Process Sotto(const Arguments& arguments, const std::string& log) const;
  Process Start(const std::string& program, const Arguments& arguments,
                const std::string& log) const;
  // Both start `sotto serve` on this site's store. Rounds close early, so that tests are quick,
  // unless the arguments say --release-allowance. Serve() returns when the server is ready. An
  // existing log is continued. `wrapper` is a program that runs the rest of its arguments. The
  // server ends with its job, unless `stays`: then it gets the arguments alone.
  bool stays = false;
  Process StartServe(const Arguments& arguments, const Arguments& wrapper = {}) const;
  Server Serve(const Arguments& arguments, const Arguments& wrapper = {}) const;
  // Starts `sotto-client` for a device with its log in client-N.log, and with -v unless the
  // arguments say --log-level. Its server is at `port`, unless the arguments say --server. It ends
  // with the job, --once, unless `stays`. `program` is the client, preceded by a program that runs
  // it, if any.
  Process Client(size_t device, uint16_t port, const Arguments& arguments = {},
                 const Arguments& program = {SOTTO_CLIENT_PROGRAM}) const;
  // The same of a device that stays when a job is over.
  Process StayingClient(size_t device, uint16_t port, const Arguments& arguments = {}) const;
  std::vector<Process> Clients(uint16_t port, const Arguments& arguments = {}) const;
  std::string ClientLog(size_t device) const;

 private:
  Process StartClient(size_t device, uint16_t port, const Arguments& arguments,
                      const Arguments& program) const;
  void WriteData() const;
  void ReadKeys();
  void ExpectNoSecretInLogs() const;

  TestFolder folder_;
  std::vector<posix::DeviceKey> keys_;
};

// A device that need not be honest. Its TLS is correct; the caller chooses the bytes inside TLS.
class Caller {
 public:
  //   ticket  what it resumes and keeps; null: it asks for none
  Caller(uint16_t port, const posix::DeviceKey& key, TlsTicket* ticket = nullptr);

  // TCP and the handshake. Returns kOk or the status that ended it.
  Status Connect();
  // Sends the plaintext unchanged; it need not be a frame.
  Status Send(ByteSpan bytes);
  Status Send(const Request& request);
  // Receives one reply. Its bytes are valid until the next Receive().
  Status Receive(Reply* reply);
  // Send() and Receive(); an Error of code kUnknown if the link was lost.
  Reply Ask(const Request& request);
  // receipt: of an earlier task; valid during the call
  Reply Hello(ByteSpan receipt = {}, uint32_t hold_ms = 0, uint32_t features = 0);
  Status SendHello(ByteSpan receipt = {}, uint32_t hold_ms = 0, uint32_t features = 0);
  // True if the server closes the connection within that time.
  bool IsClosedWithin(int timeout_ms);
  posix::TcpStream& stream() { return stream_; }
  bool is_resumed() const { return tls_.is_resumed(); }
  const posix::DeviceKey& key() const { return key_; }

  // The requests of an upload of `bytes` for this task. Spans point into the arguments.
  static Request Begin(const TrainTask& task, ByteSpan nonce);
  static Request Chunk(uint32_t offset, ByteSpan bytes, bool last);
  // Sends the whole upload and returns the last reply.
  Reply Upload(const TrainTask& task, ByteSpan nonce, ByteSpan bytes);

 private:
  Status Await(const std::function<Status()>& step, int timeout_ms = kPatienceMs);

  uint16_t port_;
  const posix::DeviceKey& key_;
  TlsTicket* ticket_;
  posix::TcpStream stream_;
  TlsContext context_;
  TlsSession tls_;
  std::vector<uint8_t> buffer_ = std::vector<uint8_t>(4096);
  FrameReader reader_;
};

// Expects that all clients end because the job is done.
void ExpectAllDone(const Site& site, std::vector<Process>& clients);

// All devices of the site report once, honestly: an update of zeros. Returns true once a round is
// released.
bool RoundCompletes(const Site& site, const Server& server);

// Raises the soft limit of open files to at least `files`, for this process and its children.
bool AllowOpenFiles(size_t files);

}  // namespace sotto::live
