// In a build without libmicrohttpd or prometheus-cpp, instead of http_server.cc and metrics.cc.
#include <stdexcept>

#include "service/metrics.h"
#include "web/http_server.h"

namespace sotto::server {

class HttpServer::Daemon {};

HttpServer::HttpServer(const std::string& /*host*/, uint16_t /*port*/, Handler /*handler*/) {
  throw std::invalid_argument(
      "--http: this program was built without its HTTP server; install libmicrohttpd-dev and "
      "prometheus-cpp-dev and build it again, or leave --http out");
}
HttpServer::~HttpServer() = default;
uint16_t HttpServer::port() const { return 0; }
int HttpServer::descriptor() const { return -1; }
std::optional<uint64_t> HttpServer::Run() { return std::nullopt; }
void HttpServer::Publish(const std::string& /*bytes*/) {}
size_t HttpServer::streams() const { return 0; }

std::string MetricsText(const NetworkFigures& /*network*/, const JobFigures& /*job*/) { return ""; }

}  // namespace sotto::server
