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
          "begin another job after the one in the store, which is then over; what that one "
          "spent stays charged to its devices. A restart with the same options goes on with "
          "the job that it began, until that one has released all its rounds"),
      Row("once", &ServeRequest::once,
          "end when the job is over, with status 3 if it gave up; without it the server stays, and "
          "takes the next job of `sotto job start`"),
      Row("accept-delta", &ServeRequest::accepts_delta,
          "begin a job whose --delta may leave out more than a tenth of a device: delta times the "
          "devices of the store"),
      Row("keep-models", &ServeRequest::keep_models,
          "released models that stay in the store; older ones are deleted with each release, "
          "and the ledger keeps their records. A resumed job may change it")
          .Within({1, 1000000})
          .ByDefault("all"),
      Row("listen", &ServeRequest::listen, "ADDRESS:PORT; 0.0.0.0:7177 for the whole network"),
      Row("proxies", &ServeRequest::proxies,
          "ADDRESS[/BITS],... of TCP proxies in front of --listen: each connection from there must "
          "begin with a PROXY header of version 2, and limits by address count the address in it")
          .Checked(CheckProxies),
      Row("port-file", &ServeRequest::port_file, "write the port here once it is open (port 0)"),
      Row("round-timeout", &ServeRequest::round_timeout_s,
          "until a round's deadline, at least two polls")
          .Within({0.05, 1e6})
          .Unit("seconds"),
      Row("release-allowance", &ServeRequest::release_allowance_s,
          "from a round's deadline to the publication of its model; longer than a release "
          "takes, since a late one tells how long it took. Unused with --close-early")
          .Within({0, 86400})
          .Unit("seconds"),
      Row("poll-interval", &ServeRequest::poll_interval_s,
          "how long a device without work waits until it asks again, and up to a quarter more "
          "by chance; devices that let the server hold its answer learn of a round at once")
          .Within({0.01, 86400})
          .Unit("seconds")
          .ByDefault("1, or half of --round-timeout"),
      Row("farewell", &ServeRequest::farewell_s,
          "with --once: how long devices are told that the job is done; with --close-early until "
          "all "
          "know")
          .Within({0, 86400})
          .Unit("seconds"),
      Row("handshake-timeout", &ServeRequest::handshake_timeout_s,
          "until a connection must have proved its key")
          .Within({0.1, 3600})
          .Unit("seconds"),
      Row("request-timeout", &ServeRequest::request_timeout_s,
          "from an answer to the next whole request; devices that train longer connect again")
          .Within({0.1, 86400})
          .Unit("seconds"),
      Row("max-connections", &ServeRequest::max_connections,
          "beyond them the oldest connection without a proved key makes room, or the new one "
          "is closed at once")
          .Within({1, 1000000}),
      Row("max-handshakes", &ServeRequest::max_handshakes,
          "at a time; half of them are kept for addresses of known devices")
          .Within({1, 4096}),
      Row("max-handshakes-per-address", &ServeRequest::max_handshakes_per_address,
          "at a time; more for many devices behind one address")
          .Within({1, 4096}),
      Row("refuse-tickets", &ServeRequest::refuse_tickets,
          "give no TLS tickets, so that each connection does a full handshake; without it a "
          "device that asks for a ticket resumes its session for up to a day, and the session has "
          "forward secrecy only when two days are over"),
  };
}

Fields Run() {
  return {
      Row("test", &ServeRequest::test,
          "evaluate released models on these samples: fashion-mnist, synthetic, a file or a "
          "folder; the results are the operator's")
          .NamesFiles(),
      EvaluateEvery<ServeRequest>("with --test: after each round whose number divides by this "
                                  "one; the last round always; 0: never, as without --test",
                                  0),
      Row("http", &ServeRequest::http,
          "ADDRESS:PORT of the operator's page, for example 127.0.0.1:8080: charts, metrics, "
          "log; a loopback address only"),
      Row("http-token", &ServeRequest::http_token,
          "file of the token that the page asks for; made with a new one if it does not exist")
          .ByDefault("STORE.token"),
      Row("http-name", &ServeRequest::http_name,
          "a further host name under which the page answers: the name of a proxy with TLS in "
          "front of it"),
      Row("metrics", &ServeRequest::metrics,
          "write metrics to this file every five seconds, in Prometheus' text format, for its "
          "node exporter; the operator's"),
      Row("log", &ServeRequest::log,
          "how the log is written to standard error: lines for people, json: an object a line")
          .OneOfNames(posix::LogFormatNames()),
      Row("log-level", &ServeRequest::log_level, "the least important events to write")
          .OneOfNames(posix::LogLevelNames()),
      Row("verbose", &ServeRequest::verbose,
          "also a line when a connection ends or is refused: --log-level debug")
          .Letter("v")
          .Excludes("log-level"),
      Row("seed", &ServeRequest::seed, "for tests: everything derives from it; not private"),
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
      "miss rounds; raise the one or lower the other",
      request.round_timeout_s, *request.poll_interval_s));
}

const Fields& ServeFields() {
  static const Fields kFields =
      Joined({Under(Group::kNetwork, NetworkAndStore()),
              Under(Group::kRun, Joined({OutputFields<ServeRequest>(), Run()}))});
  return kFields;
}

}  // namespace sotto::server
