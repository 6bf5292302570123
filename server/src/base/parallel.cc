#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace sotto::server {

void ParallelFor(int threads, size_t count, const std::function<void(size_t, int)>& body) {
  std::atomic<size_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto work = [&](int worker) {
    try {
      for (size_t i = next++; i < count; i = next++) body(i, worker);
    } catch (...) {
      next = count;
      const std::lock_guard<std::mutex> lock(failure_mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  const auto useful = static_cast<int>(std::min<size_t>(count, static_cast<size_t>(threads)));
  try {
    for (int worker = 1; worker < useful; ++worker) others.emplace_back(work, worker);
  } catch (const std::system_error&) {
    // The system gives no more threads: the existing ones do all the work.
  }
  work(0);
  for (std::thread& other : others) other.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace sotto::server
