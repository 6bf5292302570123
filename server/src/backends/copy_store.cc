#include "backends/copy_store.h"

#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <stdexcept>

#include "backends/open_store.h"
#include "backends/sql_jobs.h"
#include "backends/sql_store.h"
#include "backends/sqlite_draft.h"
#include "sotto/posix/hex.h"

namespace sotto::server {
namespace {

namespace fs = std::filesystem;

// The request with which a store moves, if it does; answered once the new store is there.
std::optional<JobRequestEntry> MoveOf(Store& store) {
  for (const JobRequestEntry& request : store.ReadHistory().requests) {
    if (request.ask.act != JobAct::kMove) continue;
    if (!request.answer || request.answer->outcome == JobOutcome::kBegun) return request;
  }
  return std::nullopt;
}

// The request, made now if there is none.
JobRequestEntry BeginMove(SqlStore& store, const std::string& to) {
  if (!MoveOf(store)) store.Ask({JobAct::kMove, 0, to});
  const JobRequestEntry move = *MoveOf(store);
  if (move.ask.settings == to) return move;
  throw std::runtime_error(fmt::format(
      "{}: it has moved to {}, or was about to; name that one, or take an interrupted move back: "
      "`sotto store copy {} --withdraw`",
      store.name(), move.ask.settings, store.name()));
}

// Whether an earlier call came so far that the new store is there.
bool IsMoved(const Store& from, const JobRequestEntry& move) {
  const std::string& to = move.ask.settings;
  if (!StoreExists(to)) return false;
  const std::unique_ptr<Store> store = OpenStore(to, StoreMode::kRead);
  for (const JobRequestEntry& each : store->ReadHistory().requests) {
    const bool is_it = each.number == move.number && each.asked == move.asked &&
                       each.ask.act == JobAct::kMove && each.ask.settings == to;
    if (is_it && each.answer) return true;
  }
  throw std::runtime_error(
      fmt::format("{}: it is there already; a copy of {} never replaces a store: name a new one",
                  to, from.name()));
}

}  // namespace

std::vector<std::string> BackupLeftovers(const std::string& where) {
  return LeftoversBeside(FilesBeside(where));
}

LogEnd BackUpStore(const std::string& where, const std::string& file) {
  if (fs::exists(file)) {
    throw std::runtime_error(file +
                             ": it is there already; a backup never replaces a file: name "
                             "another one");
  }
  SqlStore store(where, StoreMode::kRead);  // verified
  ChainHead head;
  int64_t attempts = 0;
  MakeStoreFile(file, [&](Database& copy) {
    head = Chain(store.database()).CopyTo(copy);
    attempts = copy.Integer("SELECT count(*) FROM attempts");
  });
  return {head.records, DescribeRecord(head.last), posix::Hex(head.hash), attempts,
          LeftoversBeside(file)};
}

LogEnd MoveStore(const std::string& where, const std::string& to) {
  SqlStore store(where);
  store.ClaimPlace();  // no server, and no other call, is at it
  const std::string target = WholeName(to);
  if (!MoveOf(store) && StoreExists(target)) {
    throw std::runtime_error(
        fmt::format("{}: it is there already; a copy of {} never replaces a store: name a new one",
                    target, store.name()));
  }
  const JobRequestEntry move = BeginMove(store, target);
  if (!move.answer && !IsMoved(store, move)) {
    FillNewStore(target, [&](Database& copy) {
      Chain(store.database()).CopyTo(copy);
      SqlJobs(copy).AddAnswer(move.number,
                              {JobOutcome::kDone, 0, "it is here, from " + store.name()});
    });
  }
  if (!move.answer) store.AnswerMove(move.number, {JobOutcome::kBegun, 0, "it goes on there"});
  const StoreReport report = InspectStore(target);
  return {report.records, report.last_record, report.head, report.attempts};
}

void WithdrawMove(const std::string& where) {
  SqlStore store(where);
  store.ClaimPlace();
  const std::optional<JobRequestEntry> move = MoveOf(store);
  if (!move) throw std::invalid_argument(where + ": it has not moved");
  if (move->answer || StoreExists(move->ask.settings)) {
    throw std::invalid_argument(
        fmt::format("{}: the store is in {}, and goes on there; to bring it back, copy that one",
                    where, move->ask.settings));
  }
  store.AnswerMove(move->number, {JobOutcome::kWithdrawn, 0, "withdrawn by the operator"});
}

}  // namespace sotto::server
