// Ranks over MPI.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <mpi.h>
#include <optional>
#include <thread>

#include "ranks/launched.h"
#include "ranks/launcher.h"
#include "sotto/options/exit_status.h"
#include "sotto/posix/signals.h"

namespace sotto::server {
namespace {

using Clock = std::chrono::steady_clock;

// How long after a signal that asks this process to stop it waits for the others, which may stop
// with it. mpirun kills a second after its signal.
constexpr std::chrono::milliseconds kPatience{200};

// One message of MPI counts its elements in an int, and a reduction of more takes a buffer as
// large.
constexpr size_t kMostAtOnce = size_t{1} << 20;

// Once a rank has failed, mpirun passes on no more of what the others say: the first one, which
// says why, gets this long before the others end.
constexpr uint32_t kFirstSpeaksMs = 1000;

[[noreturn]] void EndAtOnce(bool is_first, int status) {
  if (!is_first) posix::SleepUnlessStopped(kFirstSpeaksMs);
  std::fflush(nullptr);
  std::_Exit(status);
}

}  // namespace

class LaunchedRanks::Joined : public Ranks {
 public:
  Joined(int* argc, char*** argv) {
    int provided = 0;
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &index_);
    MPI_Comm_size(MPI_COMM_WORLD, &count_);
    if (index_ == 0) return;
    for (FILE* stream : {stdout, stderr}) {
      if (std::freopen("/dev/null", "w", stream) == nullptr) std::abort();
    }
  }

  ~Joined() override { MPI_Finalize(); }

  uint32_t index() const override { return static_cast<uint32_t>(index_); }
  uint32_t count() const override { return static_cast<uint32_t>(count_); }

  void Sum(Span<int64_t> values) override {
    for (size_t first = 0; first < values.size(); first += kMostAtOnce) {
      const size_t size = std::min(kMostAtOnce, values.size() - first);
      MPI_Request request{};
      MPI_Iallreduce(MPI_IN_PLACE, values.data() + first, static_cast<int>(size), MPI_INT64_T,
                     MPI_SUM, MPI_COMM_WORLD, &request);
      Await(&request);
    }
  }

  std::vector<std::string> Gather(const std::string& mine) override {
    const auto ranks = static_cast<size_t>(count_);
    const int size = static_cast<int>(mine.size());
    std::vector<int> sizes(ranks);
    MPI_Request request{};
    MPI_Iallgather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, MPI_COMM_WORLD, &request);
    Await(&request);
    std::vector<int> begins(ranks);
    for (size_t i = 1; i < ranks; ++i) begins[i] = begins[i - 1] + sizes[i - 1];
    std::string all(static_cast<size_t>(begins.back() + sizes.back()), '\0');
    MPI_Iallgatherv(mine.data(), size, MPI_CHAR, all.data(), sizes.data(), begins.data(), MPI_CHAR,
                    MPI_COMM_WORLD, &request);
    Await(&request);
    std::vector<std::string> parts;
    for (size_t i = 0; i < ranks; ++i) {
      parts.push_back(all.substr(static_cast<size_t>(begins[i]), static_cast<size_t>(sizes[i])));
    }
    return parts;
  }

 private:
  // A rank that waits leaves its core to those that compute. No call of MPI follows a wait that is
  // given up, so nothing is written to the message's buffers any more.
  void Await(MPI_Request* request) {
    std::optional<Clock::time_point> signalled;
    std::chrono::microseconds pause{0};
    for (;;) {
      int is_done = 0;
      MPI_Test(request, &is_done, MPI_STATUS_IGNORE);
      if (is_done != 0) return;
      if (posix::StopSignal() != 0) {
        if (!signalled) signalled = Clock::now();
        if (Clock::now() - *signalled > kPatience) throw RanksLost("the other ranks are gone");
      }
      if (pause.count() > 0) std::this_thread::sleep_for(pause);
      pause = std::min(pause + std::chrono::microseconds{1}, std::chrono::microseconds{200});
    }
  }

  int index_ = 0;
  int count_ = 1;
};

LaunchedRanks::LaunchedRanks(int argc, char** argv, const std::vector<std::string>& commands) {
  if (!IsLaunched()) return;
  joined_ = std::make_unique<Joined>(&argc, &argv);
  SetTheRanks(joined_.get());
  if (joined_->count() == 1 || IsOneOf(argc, argv, commands)) return;
  if (!joined_->is_first()) EndAtOnce(false, posix::kExitUsage);
  RefuseLauncher(argv[0],
                 "this command runs in one process: start it without mpirun, which is "
                 "for `sotto simulate` and `sotto-lab experiment`");
}

LaunchedRanks::~LaunchedRanks() {
  SetTheRanks(nullptr);
  if (joined_ != nullptr && status_ != 0) EndAtOnce(joined_->is_first(), status_);
}

int LaunchedRanks::End(int status) { return status_ = status; }

}  // namespace sotto::server
