// The figures of a round: one table, one row each. Part of sotto::server/round.
//
// Everything that shows rounds iterates the table: the report, rounds.csv, the results of `sotto
// serve`, the ledger, the overview and the page that draws it, the metrics, `sotto status` and the
// log. To add a figure:
//   - a member of RoundOutcome (round_outcome.h) or of LedgerEntry (ledger_entry.h) that holds it;
//   - a row in round_figures.cc;
//   - a test of its value.
// The row says where the figure is shown, and is an Operators() or a Public() one. Nothing else
// needs a change, and no published output has the figure unless its row is Public().
//
// Pure functions and constants, safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "plans/device_accuracy.h"
#include "plans/plan.h"
#include "sotto/span.h"

namespace sotto::server {

struct LedgerEntry;
struct RoundOutcome;

// Who reads an output. What belongs to the operator tells who took part, and no claim against the
// public covers it (PRIVACY.md, section 1).
enum class Audience { kPublic, kOperator };

const char* Name(Audience audience);  // "public", "operator"

// Where a figure is shown.
enum Place : uint32_t {
  kReport = 1U << 0,       // JSON of `sotto simulate`, a round
  kRoundsCsv = 1U << 1,    // --rounds-csv, a column
  kLedger = 1U << 2,       // JSON of `sotto account ledger`, a release
  kLedgerTable = 1U << 3,  // its table for people, a column
  kResults = 1U << 4,      // JSON of `sotto serve`, a release
  kAttempts = 1U << 5,     // the same, an attempt in the object `operator`
  kOverview = 1U << 6,     // what page and `sotto report` draw, a round
  kPageTable = 1U << 7,    // their table of rounds, a column
  kMetrics = 1U << 8,      // a gauge
  kStatus = 1U << 9,       // `sotto status`, the last round
  kServeLog = 1U << 10,    // a line of the log of `sotto serve`
};
using Places = uint32_t;
constexpr Places kEverywhere = ~Places{0};

// Nothing is known, or the value.
using FigureValue =
    std::variant<std::monostate, int64_t, double, std::string, privacy::AccuracyEstimate>;

// The value as a number, of an estimate its accuracy; absent: there is none.
std::optional<double> NumberOf(const FigureValue& value);

// What is known of a round. A pointer is null if that is not known.
struct RoundFacts {
  const RoundOutcome* outcome = nullptr;  // as this process saw it
  const LedgerEntry* release = nullptr;   // as the ledger has it
  const privacy::Plan* plan = nullptr;    // of the job; an outcome's noise multiplier needs it
  // The job adds no noise. Figures of noise are then nothing; else they are what was recorded, 0.
  bool is_without_noise = false;
};

class RoundFigure {
 public:
  using Reader = FigureValue (*)(const RoundFacts& facts);
  using AudienceFunction = Audience (*)(const privacy::Plan& plan);

  // A sum over attempts among the metrics.
  struct Counter {
    const char* name = nullptr;  // nullptr: there is none
    const char* help = nullptr;
    bool of_releases = false;  // attempts that released nothing do not count
  };

  //   name  of the field in JSON, of the column in CSV
  //   unit  "" for pure numbers and for words
  //   help  what it is; no full stop
  RoundFigure(const char* name, const char* unit, const char* help)
      : name_(name), unit_(unit), help_(help) {}

  // What a row may say. Seen() and Kept(): how the figure is read of facts with an outcome, of
  // facts with a release. If both are there, the release's is taken. If neither is, a release has
  // what was recorded of its outcome.
  RoundFigure& Seen(Reader reader) { return Set(&RoundFigure::seen_, reader); }
  RoundFigure& Kept(Reader reader) { return Set(&RoundFigure::kept_, reader); }
  // Else the operator's.
  RoundFigure& For(AudienceFunction audience) { return Set(&RoundFigure::audience_, audience); }
  // Else everywhere.
  RoundFigure& In(Places places) { return Set(&RoundFigure::places_, places); }
  // Nothing in a job that adds no noise.
  RoundFigure& OfNoise() { return Set(&RoundFigure::is_of_noise_, true); }
  // Else the name without underscores.
  RoundFigure& Words(const char* words) { return Set(&RoundFigure::words_, words); }
  // Lines of text leave it out if it is 0.
  RoundFigure& UnlessZero() { return Set(&RoundFigure::is_said_if_zero_, false); }
  // Else sotto_last_NAME, and `help`.
  RoundFigure& Gauge(const char* name, const char* help) {
    gauge_help_ = help;
    return Set(&RoundFigure::gauge_, name);
  }
  // Else there is no such counter.
  RoundFigure& Sum(const Counter& counter) { return Set(&RoundFigure::counter_, counter); }

  const char* name() const { return name_; }
  const char* unit() const { return unit_; }
  const char* help() const { return help_; }
  // Who may see it in a job of this plan.
  Audience AudienceOf(const privacy::Plan& plan) const { return audience_(plan); }
  bool IsIn(Places places) const { return (places_ & places) != 0; }
  std::string words() const;  // heading of a column; in a line of text it follows the value
  bool is_said_if_zero() const { return is_said_if_zero_; }
  std::string gauge() const;
  std::string gauge_help() const;
  const Counter& counter() const { return counter_; }

  bool IsSeen() const { return seen_ != nullptr; }
  bool IsKept() const { return kept_ != nullptr; }
  bool CanRead(const RoundFacts& facts) const;
  // Nothing if the facts do not hold it.
  FigureValue Read(const RoundFacts& facts) const;

 private:
  const FigureValue* RecordedIn(const RoundFacts& facts) const;  // null: it is not
  template <class T>
  RoundFigure& Set(T RoundFigure::*member, T value) {
    this->*member = value;
    return *this;
  }

  const char* name_;
  const char* unit_;
  const char* help_;
  const char* words_ = nullptr;
  const char* gauge_ = nullptr;
  const char* gauge_help_ = nullptr;
  Reader seen_ = nullptr;
  Reader kept_ = nullptr;
  AudienceFunction audience_ = [](const privacy::Plan&) { return Audience::kOperator; };
  Places places_ = kEverywhere;
  Counter counter_;
  bool is_of_noise_ = false;
  bool is_said_if_zero_ = true;
};

using FigureList = std::vector<const RoundFigure*>;

// The table.
Span<const RoundFigure> RoundFigures();

// What the rows gave so far, each at its place in the table. For the metrics.
struct RoundMetrics {
  RoundMetrics();  // before any attempt

  // An attempt was closed. A release that does not know a figure says so; an attempt that released
  // nothing leaves the figures of releases as they were.
  void Add(const RoundOutcome& outcome);

  std::vector<std::optional<double>> gauges;
  std::vector<double> sums;
};

// The row of this name. Throws std::invalid_argument if there is none.
const RoundFigure& FigureByName(std::string_view name);

// The rows of a place that this reader may see in a job of this plan, in the order of the table.
//   table  for tests
FigureList FiguresFor(Audience reader, const privacy::Plan& plan, Place place,
                      Span<const RoundFigure> table = RoundFigures());

// All rows of a place that the operator alone reads.
FigureList FiguresForOperator(Place place);

}  // namespace sotto::server
