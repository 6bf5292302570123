// A client for tests of HTTP: requests of HTTP/1.0, so that answers come as they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sotto/posix/tcp.h"

namespace sotto {

struct HttpAnswer {
  int status = 0;    // 0: no answer came
  std::string head;  // status line and headers
  std::string body;
};

// A connection with one request, whose answer comes piece by piece.
class HttpExchange {
 public:
  //   host     also the header Host, with the port, unless `headers` have one
  //   headers  whole lines without their ends
  HttpExchange(const std::string& host, uint16_t port, const std::string& method,
               const std::string& path, const std::vector<std::string>& headers = {},
               const std::string& body = "") {
    if (stream_.Connect(host.c_str(), port, 10000) != Status::kOk) return;
    std::string text = method + " " + path + " HTTP/1.0\r\n";
    bool has_host = false;
    for (const std::string& header : headers) {
      text += header + "\r\n";
      has_host = has_host || header.rfind("Host:", 0) == 0;
    }
    if (!has_host) text += "Host: " + host + ":" + std::to_string(port) + "\r\n";
    if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    text += "\r\n" + body;
    for (size_t sent = 0; sent < text.size();) {
      const int done =
          stream_.Send({reinterpret_cast<const uint8_t*>(text.data()) + sent, text.size() - sent});
      if (done < 0) return;
      if (done == 0) stream_.Wait(true, 1000);
      sent += static_cast<size_t>(done);
    }
  }

  // Receives until the text contains `part`, the server closes or the time is over. Returns
  // everything so far.
  const std::string& ReadUntil(const std::string& part, int timeout_ms) {
    for (int waited = 0; text_.find(part) == std::string::npos && waited < timeout_ms;) {
      uint8_t bytes[4096];
      const int got = stream_.Receive(MutableByteSpan(bytes));
      if (got < 0) {
        is_closed_ = true;
        break;
      }
      text_.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(got));
      if (got == 0 && !stream_.Wait(false, 20)) waited += 20;
    }
    return text_;
  }

  bool is_closed() const { return is_closed_; }

  // Receives until the server closes the connection.
  HttpAnswer Finish(int timeout_ms = 20000) {
    ReadUntil(std::string("\0never\0", 7), timeout_ms);
    HttpAnswer answer;
    const size_t end = text_.find("\r\n\r\n");
    if (end == std::string::npos || text_.size() < 12) return answer;
    answer.status = std::stoi(text_.substr(9, 3));
    answer.head = text_.substr(0, end + 2);
    answer.body = text_.substr(end + 4);
    return answer;
  }

 private:
  posix::TcpStream stream_;
  std::string text_;
  bool is_closed_ = false;
};

inline HttpAnswer Get(const std::string& host, uint16_t port, const std::string& path,
                      const std::vector<std::string>& headers = {}) {
  return HttpExchange(host, port, "GET", path, headers).Finish();
}

}  // namespace sotto
