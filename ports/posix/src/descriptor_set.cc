#include "sotto/posix/descriptor_set.h"

#include <cerrno>
#include <stdexcept>
#include <sys/epoll.h>
#include <system_error>
#include <unistd.h>

namespace sotto::posix {
namespace {

void CheckWait(int result) {
  if (result >= 0) return;
  throw std::runtime_error("waiting for connections failed: " +
                           std::generic_category().message(errno));
}

}  // namespace

DescriptorSet::DescriptorSet() : set_(epoll_create1(EPOLL_CLOEXEC)) { CheckWait(set_); }

DescriptorSet::~DescriptorSet() { close(set_); }

void DescriptorSet::Add(int descriptor) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = descriptor;
  CheckWait(epoll_ctl(set_, EPOLL_CTL_ADD, descriptor, &event));
}

void DescriptorSet::Remove(int descriptor) { epoll_ctl(set_, EPOLL_CTL_DEL, descriptor, nullptr); }

}  // namespace sotto::posix
