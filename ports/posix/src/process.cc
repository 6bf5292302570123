#include "sotto/posix/process.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <link.h>
#include <spawn.h>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <vector>

#include "sotto/posix/hex.h"

namespace sotto::posix {
namespace {

constexpr int kNice = -10;

size_t Aligned(size_t size) { return (size + 3) / 4 * 4; }

// The id in a segment of notes, [bytes] from `note` on; empty: there is none.
std::string IdIn(const char* note, size_t bytes) {
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header{};
    std::memcpy(&header, note, sizeof(header));
    const size_t name = sizeof(header);
    const size_t text = name + Aligned(header.n_namesz);
    const size_t size = text + Aligned(header.n_descsz);
    if (size > bytes) break;
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == sizeof(ELF_NOTE_GNU) &&
        std::memcmp(note + name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0) {
      return Hex({reinterpret_cast<const uint8_t*>(note + text), header.n_descsz});
    }
    note += size;
    bytes -= size;
  }
  return "";
}

// The first object is the program itself.
int TakeId(dl_phdr_info* program, size_t, void* id) {
  for (size_t i = 0; i < program->dlpi_phnum; ++i) {
    const auto& segment = program->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* notes = reinterpret_cast<const char*>(program->dlpi_addr + segment.p_vaddr);
    const std::string found = IdIn(notes, segment.p_memsz);
    if (!found.empty()) *static_cast<std::string*>(id) = found;
  }
  return 1;
}

}  // namespace

void ForbidCoreDumps() {
  const rlimit none{0, 0};
  // The limit alone does not hold for a core that is piped to a program.
  if (setrlimit(RLIMIT_CORE, &none) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
    throw std::runtime_error("cannot forbid core dumps: " + std::generic_category().message(errno));
  }
}

size_t AllowOpenFiles() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  if (limit.rlim_cur != limit.rlim_max) {
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
  }
  return static_cast<size_t>(limit.rlim_cur);
}

// Linux keeps a niceness for each thread; 0 is the calling one.
void RaiseThreadPriority() { (void)setpriority(PRIO_PROCESS, 0, kNice); }

int RunTool(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ);
  if (error != 0) {
    throw std::runtime_error(words[0] + ": " + std::generic_category().message(error));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw std::runtime_error(words[0] + ": its end cannot be seen");
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string BuildId() {
  std::string id;
  dl_iterate_phdr(TakeId, &id);
  return id;
}

std::string ThisProcess() {
  char host[256] = "";
  if (gethostname(host, sizeof(host) - 1) != 0) host[0] = '\0';
  return std::to_string(getpid()) + " of " + (host[0] != '\0' ? host : "this host");
}

}  // namespace sotto::posix
