// What a service tells its manager, as a manager receives it.
#include "sotto/posix/service.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace sotto::posix {
namespace {

// Variables of the environment, as a service manager sets them, for one test.
class ServiceTest : public testing::Test {
 protected:
  ~ServiceTest() override {
    for (const char* name :
         {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "SYSTEMD_EXEC_PID"}) {
      unsetenv(name);
    }
    if (manager_ >= 0) close(manager_);
    if (path_[0] == '/') unlink(path_.c_str());
  }

  // A manager that listens on this name: a path, or an abstract name behind @.
  void Listen(const std::string& name) {
    path_ = name;
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    size_t size = sizeof(address);
    if (name[0] == '@') {
      address.sun_path[0] = '\0';
      size = offsetof(sockaddr_un, sun_path) + name.size();
    }
    manager_ = socket(AF_UNIX, SOCK_DGRAM, 0);
    ASSERT_EQ(
        bind(manager_, reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(size)),
        0)
        << std::strerror(errno);
    setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }

  // The next datagram, "" if there is none.
  std::string Heard() const {
    char text[256];
    const ssize_t size = recv(manager_, text, sizeof(text), MSG_DONTWAIT);
    return size < 0 ? "" : std::string(text, static_cast<size_t>(size));
  }

 private:
  std::string path_ = "none";
  int manager_ = -1;
};

TEST_F(ServiceTest, ItsStatesArriveAtAPath) {
  Listen(testing::TempDir() + "/sotto_notify_" + std::to_string(getpid()));
  TellReady();
  TellStatus("round 3\nof 5");
  TellStopping();
  EXPECT_EQ(Heard(), "READY=1");
  EXPECT_EQ(Heard(), "STATUS=round 3 of 5");
  EXPECT_EQ(Heard(), "STOPPING=1");
  EXPECT_EQ(Heard(), "");
}

TEST_F(ServiceTest, ItsStatesArriveAtAnAbstractName) {
  Listen("@sotto_notify_" + std::to_string(getpid()));
  TellReady();
  EXPECT_EQ(Heard(), "READY=1");
}

TEST_F(ServiceTest, ItGoesOnWithoutAManagerThatListens) {
  TellReady();
  for (const std::string& name : {std::string("/nobody/listens"), std::string("relative"),
                                  std::string("@"), std::string(), std::string(200, '/')}) {
    setenv("NOTIFY_SOCKET", name.c_str(), 1);
    TellReady();
  }
  Listen("@sotto_notify_" + std::to_string(getpid()));
  EXPECT_EQ(Heard(), "");
}

TEST_F(ServiceTest, TheWatchdogHasThreeSignsInItsTime) {
  Listen("@sotto_notify_" + std::to_string(getpid()));
  setenv("WATCHDOG_USEC", "3000000", 1);
  setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  WatchdogSigns signs;
  for (uint64_t now_ms = 5000; now_ms < 8000; now_ms += 100) signs.Alive(now_ms);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Heard(), "WATCHDOG=1") << i;
  EXPECT_EQ(Heard(), "");
}

TEST_F(ServiceTest, TheWatchdogOfAnotherProcessHasNoSign) {
  Listen("@sotto_notify_" + std::to_string(getpid()));
  setenv("WATCHDOG_USEC", "3000000", 1);
  setenv("WATCHDOG_PID", "1", 1);
  WatchdogSigns others;
  others.Alive(5000);
  unsetenv("WATCHDOG_PID");
  for (const char* time : {"0", "", "3 s", "-1", "1e6"}) {
    setenv("WATCHDOG_USEC", time, 1);
    WatchdogSigns none;
    none.Alive(5000);
  }
  EXPECT_EQ(Heard(), "");
}

TEST_F(ServiceTest, AManagerHasStartedThisProcessOrAnother) {
  EXPECT_FALSE(IsService());
  setenv("SYSTEMD_EXEC_PID", "1", 1);
  EXPECT_FALSE(IsService());
  setenv("SYSTEMD_EXEC_PID", std::to_string(getpid()).c_str(), 1);
  EXPECT_TRUE(IsService());
}

}  // namespace
}  // namespace sotto::posix
