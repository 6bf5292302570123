#include <cstdio>
#include <ctime>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "accounting/figures.h"
#include "backends/copy_store.h"
#include "backends/open_store.h"
#include "base/counted.h"
#include "cli/commands.h"
#include "cli/consent.h"
#include "cli/new_key_file.h"
#include "cli/rows.h"
#include "store/copy_record.h"
#include "store/history.h"
#include "store/life.h"
#include "store/recovery.h"
#include "views/prices.h"

namespace sotto::server {
namespace {

struct StoreOptions {
  std::string store;
  std::string file;
  double epsilon = 0;
  std::optional<double> delta;
  bool again = false;
  bool withdraws = false;
  Consent consent;
};

using StoreOptionRow = posix::Field<StoreOptions>;

std::string Time(int64_t seconds) {
  return fmt::format("{:%F %T}Z", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

void RunCopy(const StoreOptions& o) {
  if (o.withdraws != o.file.empty()) {
    throw std::invalid_argument("name the new store, or take a copy back: --withdraw");
  }
  if (!GoOn(o.consent, o.withdraws ? "serve this store again?"
                                   : "from now on only the new store is used; go on?")) {
    return;
  }
  if (o.withdraws) {
    WithdrawMove(o.store);
    fmt::print("{}: it has not moved, and may be served again\n", o.store);
    return;
  }
  const NewKeyFile key_file(o.file);
  const LogEnd end = MoveStore(o.store, o.file);
  key_file.Say();
  fmt::print(
      "{}: all of {}, with {}, each as it was written; the last one is {}, its hash {}\n"
      "{} says where it went, and is written no more. It holds the same secrets: remove it when "
      "the new store has been served\n",
      o.file, o.store, Counted(end.records, "record"), end.last_record, end.head, o.store);
}

// A server looks how old its newest copy is. The copy is good without that.
void RecordCopy(const StoreOptions& o, const LogEnd& end) {
  try {
    WriteCopyRecord(FilesBeside(o.store), {end.attempts, static_cast<int64_t>(std::time(nullptr))});
  } catch (const std::exception& error) {
    fmt::print(stderr, "warning: {}; the copy is whole, but the server cannot tell how old it is\n",
               error.what());
  }
}

void RunBackup(const StoreOptions& o) {
  const LogEnd end = BackUpStore(o.store, o.file);
  RecordCopy(o, end);
  fmt::print(
      "{}: a copy of {} with {}, each as it was written; the last one is {}, its hash {}\n"
      "It holds every secret that the store holds: keep it as safe. Restore only the newest "
      "copy.\n",
      o.file, o.store, Counted(end.records, "record"), end.last_record, end.head);
  for (const std::string& leftover : end.leftovers) {
    fmt::print(stderr,
               "warning: {}: a backup that was interrupted left it, with secrets of the store; "
               "remove it\n",
               leftover);
  }
}

// The first one of a store takes nothing back. One that is no raise is refused by the store.
bool MayRaise(const StoreOptions& o, const History& history) {
  if (!history.life || o.epsilon <= history.life->epsilon) return MayAct(o.consent);
  fmt::print("{}: {}", o.store, PriceOfLife(history, o.epsilon));
  return GoOn(o.consent, "raise it? It is never lowered");
}

void RaiseLifeEpsilon(const StoreOptions& o) {
  const std::unique_ptr<Store> store = OpenStore(o.store);
  const History history = store->ReadHistory();
  const double delta =
      history.life ? history.life->delta : o.delta.value_or(DefaultLifeDelta(history));
  if (o.delta && *o.delta != delta) {
    throw std::invalid_argument(
        fmt::format("--delta {}: the life epsilon of {} has delta {} for good; leave --delta out",
                    *o.delta, o.store, delta));
  }
  const std::string why = WhyNotLifeEpsilon(history, o.epsilon, delta, store->Server().has_value());
  if (!why.empty()) throw std::invalid_argument(fmt::format("{}: {}", o.store, why));
  if (const std::string room = DescribeRoomOf(o.epsilon, delta); !room.empty()) {
    fmt::print(stderr, "note: {}\n", room);
  }
  if (!MayRaise(o, history)) return;
  store->RaiseLifeEpsilon(o.epsilon, delta);
  fmt::print("{}: life epsilon {} at delta {}, before {}{}\n", o.store, o.epsilon,
             privacy::DeltaText(delta),
             history.life ? fmt::format("{}", history.life->epsilon) : "none",
             store->Server() ? "; the server takes it at its next start" : "");
}

void RecoverStore(const StoreOptions& o) {
  const std::unique_ptr<Store> store = OpenStore(o.store);
  if (const std::optional<std::string> server = store->Server()) {
    throw std::invalid_argument(
        fmt::format("{}: process {} serves it; stop that first", o.store, *server));
  }
  const History history = store->ReadHistory();
  if (history.recovery && !o.again) {
    const std::string record = fmt::format("recovery number {}", history.recovery->number);
    if (InspectStore(o.store).last_record == record) {
      fmt::print("{}: it is recovered already, {}; start its server\n", o.store,
                 Time(history.recovery->since));
      return;
    }
    throw std::invalid_argument(fmt::format(
        "{}: {}; nothing was changed. Start its server. Only if this file is once more an older "
        "copy, since that last state is lost, too, give --again",
        o.store, DescribeRecovery(history)));
  }
  fmt::print("{}, if it is recovered as all there is:\n{}", o.store, DescribeCopy(history));
  if (!GoOn(o.consent, "recover it? A newer copy cannot be used afterwards")) return;
  store->Recover();
  fmt::print(
      "{}: recovered; start its server. Devices come back within a minute, each with its receipt\n",
      o.store);
}

}  // namespace

posix::Command StoreCommand() {
  return posix::CommandOf(
      "store", "copy or move a store, and limit what its devices spend in all its jobs",
      {posix::CommandFor<StoreOptions>("copy",
                                       "move a store into a new one, a file or a database; no "
                                       "server may run, and the old store becomes read-only")
           .Takes({
               StoreRow<StoreOptions>(),
               StoreOptionRow("", &StoreOptions::file,
                              "the new store: FILE or postgresql://...; it must not be there yet")
                   .Argument("TO"),
               StoreOptionRow("withdraw", &StoreOptions::withdraws,
                              "withdraw a copy that was interrupted before the new store was "
                              "complete"),
           })
           .TakesFor(&StoreOptions::consent, ConsentRows())
           .Runs(RunCopy),
       posix::CommandFor<StoreOptions>("backup",
                                       "copy a store into a new file, also while a server runs")
           .Takes({
               StoreRow<StoreOptions>(),
               StoreOptionRow("", &StoreOptions::file, "the copy; it must not be there yet")
                   .Argument("FILE")
                   .Required(),
           })
           .Runs(RunBackup),
       posix::CommandFor<StoreOptions>("raise-life-epsilon",
                                       "allow the turns of one device in all jobs of the store "
                                       "this epsilon; it is never lowered")
           .Takes({
               StoreRow<StoreOptions>(),
               StoreOptionRow("", &StoreOptions::epsilon, "the new epsilon, above the present one")
                   .Argument("EPSILON")
                   .Within({1e-6, 1e6})
                   .Required(),
               StoreOptionRow("delta", &StoreOptions::delta,
                              "delta of the epsilon, if the store has no life epsilon yet")
                   .Within({1e-300, 0.5})
                   .ByDefault("min(1e-5, 1/(10 devices))"),
           })
           .TakesFor(&StoreOptions::consent, ConsentRows())
           .Runs(RaiseLifeEpsilon),
       posix::CommandFor<StoreOptions>("recover",
                                       "go on with an older copy of a store whose last state is "
                                       "lost: receipts say what devices have spent, and a device "
                                       "without one counts at the life epsilon")
           .Takes({posix::Field<StoreOptions>("store", &StoreOptions::store,
                                              "the copy, in the place of the lost store")
                       .Argument("COPY")
                       .Required(),
                   StoreOptionRow(
                       "again", &StoreOptions::again,
                       "recover a copy a second time: the state since its first recovery is lost, "
                       "too. All devices must settle anew")})
           .TakesFor(&StoreOptions::consent, ConsentRows())
           .Runs(RecoverStore)});
}

}  // namespace sotto::server
