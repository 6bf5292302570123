#include "net/serve_request.h"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

#include "sotto/log/event_log.h"
#include "sotto/posix/ip_address.h"

namespace sotto::server {
namespace {

using Row = Field<ServeRequest>;
using Fields = std::vector<Row>;

std::string CheckProxies(const std::string& text) {
  try {
    (void)posix::ParseIpRanges(text);
    return "";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

Fields NetworkAndStore() {
  return {
      Row("store", &ServeRequest::store,
          "the store that `sotto keys new` made; the job lives in it")
          .Argument("STORE")
          .Required(),
      Row("new-job", &ServeRequest::new_job,
          "end the job in the store and begin another one; the first job's cost stays charged to "
          "its devices. A restart with the same options goes on with the new job, until it has "
          "released all its rounds"),
      Row("once", &ServeRequest::once,
          "end when the job is over, with status 3 if it gave up; without it the server stays, and "
          "takes the next job of `sotto job start`"),
      Row("accept-delta", &ServeRequest::accepts_delta,
          "begin a job whose --delta may leave out more than a tenth of a device: delta times the "
          "devices of the store"),
      Row("keep-models", &ServeRequest::keep_models,
          "number of released models that stay in the store; each release deletes older ones, and "
          "the ledger keeps their records. A resumed job may change it")
          .Within({1, 1000000})
          .ByDefault("all"),
      Row("listen", &ServeRequest::listen, "ADDRESS:PORT; 0.0.0.0:7177 for the whole network"),
      Row("proxies", &ServeRequest::proxies,
          "addresses of TCP proxies in front of --listen, ADDRESS[/BITS],...: each connection from "
          "them must begin with a PROXY header of version 2, and limits for each address count the "
          "address in the header")
          .Checked(CheckProxies),
      Row("port-file", &ServeRequest::port_file,
          "write the port to this file once it is open (port 0)"),
      Row("round-timeout", &ServeRequest::round_timeout_s,
          "time from the beginning of a round to its deadline, at least two polls")
          .Within({0.05, 1e6})
          .Unit("seconds"),
      Row("release-allowance", &ServeRequest::release_allowance_s,
          "time from a round's deadline to the publication of its model. Set it longer than a "
          "release takes: a late publication tells how long the release took. Unused with "
          "--close-early")
          .Within({0, 86400})
          .Unit("seconds"),
      Row("poll-interval", &ServeRequest::poll_interval_s,
          "time after which a device without work asks again, plus a random part of up to a "
          "quarter; devices that let the server hold its answer learn of a round at once")
          .Within({0.01, 86400})
          .Unit("seconds")
          .ByDefault("1, or half of --round-timeout"),
      Row("farewell", &ServeRequest::farewell_s,
          "with --once: time for which the server tells devices that the job is done; with "
          "--close-early it ends once all devices know")
          .Within({0, 86400})
          .Unit("seconds"),
      Row("handshake-timeout", &ServeRequest::handshake_timeout_s,
          "time within which a connection must prove its key")
          .Within({0.1, 3600})
          .Unit("seconds"),
      Row("request-timeout", &ServeRequest::request_timeout_s,
          "time from an answer to the next whole request; devices that train longer connect again")
          .Within({0.1, 86400})
          .Unit("seconds"),
      Row("max-connections", &ServeRequest::max_connections,
          "most connections at once; then the server closes the oldest connection without a proved "
          "key, or, if there is none, the new one")
          .Within({1, 1000000}),
      Row("max-handshakes", &ServeRequest::max_handshakes,
          "most handshakes at once; half of them are kept for addresses of known devices")
          .Within({1, 4096}),
      Row("max-handshakes-per-address", &ServeRequest::max_handshakes_per_address,
          "most handshakes of one address at once; raise it for many devices behind one address")
          .Within({1, 4096}),
      Row("refuse-tickets", &ServeRequest::refuse_tickets,
          "give no TLS tickets: each connection does a full handshake. Without it a device that "
          "asks for a ticket can resume its session for up to a day, and the session has forward "
          "secrecy only after two days"),
  };
}

Fields Run() {
  return {
      Row("test", &ServeRequest::test,
          "evaluate released models on these samples: fashion-mnist, synthetic, a file or a "
          "folder; the results are for the operator only")
          .NamesFiles(),
      EvaluateEvery<ServeRequest>(
          "with --test: evaluate after each round whose number is a "
          "multiple of this, and after the last; 0: never, as without --test",
          0),
      Row("http", &ServeRequest::http,
          "ADDRESS:PORT of the operator's page, for example 127.0.0.1:8080: charts, metrics, "
          "log; a loopback address only"),
      Row("http-token", &ServeRequest::http_token,
          "file with the token that the page asks for; if it does not exist, the server makes it "
          "with a new token")
          .ByDefault("STORE.token"),
      Row("http-name", &ServeRequest::http_name,
          "a further host name under which the page answers: the name of a proxy with TLS in "
          "front of it"),
      Row("metrics", &ServeRequest::metrics,
          "write metrics to this file every five seconds, in Prometheus' text format, for its node "
          "exporter; for the operator only"),
      Row("log", &ServeRequest::log,
          "format of the log on standard error; lines: for people; json: one object a line")
          .OneOfNames(posix::LogFormatNames()),
      Row("log-level", &ServeRequest::log_level, "the least important events to write")
          .OneOfNames(posix::LogLevelNames()),
      Row("verbose", &ServeRequest::verbose,
          "log also when a connection ends or is refused, as --log-level debug")
          .Letter("v")
          .Excludes("log-level"),
      Row("seed", &ServeRequest::seed, "for tests: all keys derive from this number; NOT PRIVATE"),
      Row("insecure-seed", &ServeRequest::insecure_seed, "confirms --seed"),
  };
}

}  // namespace

double PollInterval(const ServeRequest& request) {
  return request.poll_interval_s.value_or(std::min(1.0, request.round_timeout_s / 2));
}

void Validate(const ServeRequest& request) {
  if (request.round_timeout_s >= 2 * PollInterval(request)) return;
  throw std::invalid_argument(fmt::format(
      "--round-timeout {} is shorter than two polls of --poll-interval {} seconds: devices would "
      "miss rounds; raise --round-timeout or lower --poll-interval",
      request.round_timeout_s, *request.poll_interval_s));
}

const Fields& ServeFields() {
  static const Fields kFields =
      Joined({Under(Group::kNetwork, NetworkAndStore()),
              Under(Group::kRun, Joined({OutputFields<ServeRequest>(), Run()}))});
  return kFields;
}

}  // namespace sotto::server
