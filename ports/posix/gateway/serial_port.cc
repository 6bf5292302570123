#include "serial_port.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

namespace sotto::posix {
namespace {

struct Rate {
  uint32_t baud;
  speed_t speed;
};

constexpr Rate kRates[] = {{9600, B9600},     {19200, B19200},   {38400, B38400},
                           {57600, B57600},   {115200, B115200}, {230400, B230400},
                           {460800, B460800}, {921600, B921600}};

const Rate* FindRate(uint32_t baud) {
  for (const Rate& rate : kRates) {
    if (rate.baud == baud) return &rate;
  }
  return nullptr;
}

const char* AdviceFor(int error) {
  if (error == EACCES) return "; add this user to the group that owns it, often dialout";
  if (error == ENOTTY) return "; that is no serial device";
  if (error == EBUSY) return "; another program has it";
  return "";
}

bool SetRaw(int descriptor, const Rate& rate) {
  termios settings{};
  if (tcgetattr(descriptor, &settings) != 0) return false;
  cfmakeraw(&settings);
  settings.c_cflag |= CLOCAL | CREAD;
  settings.c_cflag &= static_cast<tcflag_t>(~(CRTSCTS | CSTOPB));
  cfsetispeed(&settings, rate.speed);
  cfsetospeed(&settings, rate.speed);
  return tcsetattr(descriptor, TCSANOW, &settings) == 0;
}

}  // namespace

bool SerialPort::HasRate(uint32_t baud) { return FindRate(baud) != nullptr; }

int SerialPort::Open(const std::string& path, uint32_t baud, std::string* error) {
  const Rate* const rate = FindRate(baud);
  const int descriptor = open(path.c_str(), O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor >= 0 && rate != nullptr && SetRaw(descriptor, *rate)) return descriptor;
  const int failure = errno;
  *error = std::strerror(failure);
  *error += AdviceFor(failure);
  if (descriptor >= 0) close(descriptor);
  return -1;
}

}  // namespace sotto::posix
