#include "net/serve_request.h"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

namespace sotto::server {
namespace {

using Fields = std::vector<Field<ServeRequest>>;

constexpr auto Row = RowOf<ServeRequest>;

Fields NetworkAndStore() {
  return {
      Row("store", "the store that `sotto keys new` made; the job lives in it")
          .In(Group::kNetwork)
          .Argument("STORE")
          .Required()
          .Asked(&ServeRequest::store),
      Row("new-job",
          "begin another job after the one in the store, which is then over; what that one spent "
          "stays charged to its devices. A restart with the same options goes on with the job that "
          "it began, until that one has released all its rounds")
          .In(Group::kNetwork)
          .Asked(&ServeRequest::new_job),
      Row("keep-models",
          "released models that stay in the store; older ones are deleted with each release, and "
          "the ledger keeps their records. A resumed job may change it")
          .In(Group::kNetwork)
          .Within({1, 1000000})
          .ByDefault("all")
          .Asked(&ServeRequest::keep_models),
      Row("listen", "ADDRESS:PORT; 0.0.0.0:7177 for the whole network")
          .In(Group::kNetwork)
          .Asked(&ServeRequest::listen),
      Row("port-file", "write the port here once it is open (port 0)")
          .In(Group::kNetwork)
          .Asked(&ServeRequest::port_file),
      Row("round-timeout", "until a round's deadline, at least two polls")
          .In(Group::kNetwork)
          .Within({0.05, 1e6})
          .Unit("seconds")
          .Asked(&ServeRequest::round_timeout_s),
      Row("release-allowance",
          "from a round's deadline to the publication of its model; longer than a release takes, "
          "since a late one tells how long it took. Unused with --close-early")
          .In(Group::kNetwork)
          .Within({0, 86400})
          .Unit("seconds")
          .Asked(&ServeRequest::release_allowance_s),
      Row("poll-interval",
          "how long a device without work waits until it asks again, and up to a quarter more by "
          "chance; devices that let the server hold its answer learn of a round at once")
          .In(Group::kNetwork)
          .Within({0.01, 86400})
          .Unit("seconds")
          .ByDefault("1, or half of --round-timeout")
          .Asked(&ServeRequest::poll_interval_s),
      Row("farewell",
          "how long devices are told that the job is done; with --close-early until all know")
          .In(Group::kNetwork)
          .Within({0, 86400})
          .Unit("seconds")
          .Asked(&ServeRequest::farewell_s),
      Row("handshake-timeout", "until a connection must have proved its key")
          .In(Group::kNetwork)
          .Within({0.1, 3600})
          .Unit("seconds")
          .Asked(&ServeRequest::handshake_timeout_s),
      Row("request-timeout",
          "from an answer to the next whole request; devices that train longer connect again")
          .In(Group::kNetwork)
          .Within({0.1, 86400})
          .Unit("seconds")
          .Asked(&ServeRequest::request_timeout_s),
      Row("max-connections",
          "beyond them the oldest connection without a proved key makes room, or the new one is "
          "closed at once")
          .In(Group::kNetwork)
          .Within({1, 1000000})
          .Asked(&ServeRequest::max_connections),
      Row("max-handshakes", "at a time; half of them are kept for addresses of known devices")
          .In(Group::kNetwork)
          .Within({1, 4096})
          .Asked(&ServeRequest::max_handshakes),
      Row("max-handshakes-per-address", "at a time; more for many devices behind one address")
          .In(Group::kNetwork)
          .Within({1, 4096})
          .Asked(&ServeRequest::max_handshakes_per_address),
  };
}

Fields Run() {
  return {
      Row("test",
          "evaluate released models on these samples: fashion-mnist, synthetic, a file or a "
          "folder; "
          "the results are the operator's")
          .In(Group::kRun)
          .Asked(&ServeRequest::test),
      EvaluateEvery<ServeRequest>(
          "with --test: after each round whose number divides by this one; the last round always"),
      Row("http",
          "ADDRESS:PORT of the operator's page, for example 127.0.0.1:8080: charts, metrics, log; "
          "a "
          "loopback address only")
          .In(Group::kRun)
          .Asked(&ServeRequest::http),
      Row("http-token",
          "file of the token that the page asks for; made with a new one if it does not exist")
          .In(Group::kRun)
          .ByDefault("STORE.token")
          .Asked(&ServeRequest::http_token),
      Row("http-name",
          "a further name under which the page answers: that of a proxy with TLS in front of it")
          .In(Group::kRun)
          .Asked(&ServeRequest::http_name),
      Row("metrics",
          "write metrics to this file every five seconds, in Prometheus' text format, for its "
          "node exporter; the operator's")
          .In(Group::kRun)
          .Asked(&ServeRequest::metrics),
      Row("verbose", "also a line when a connection ends or is refused")
          .In(Group::kRun)
          .Letter("v")
          .Asked(&ServeRequest::verbose),
      Row("seed", "for tests: everything derives from it; not private")
          .In(Group::kRun)
          .Asked(&ServeRequest::seed),
      Row("insecure-seed", "confirms --seed").In(Group::kRun).Asked(&ServeRequest::insecure_seed),
  };
}

Fields AllFields() {
  Fields all;
  for (const Fields& part : {NetworkAndStore(), OutputFields<ServeRequest>(), Run()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
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
  static const Fields kFields = AllFields();
  return kFields;
}

}  // namespace sotto::server
