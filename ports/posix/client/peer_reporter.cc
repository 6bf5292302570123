#include "peer_reporter.h"

#include <utility>

#include "sotto/model/model_text.h"
#include "sotto/posix/port.h"

namespace sotto::posix {

PeerReporter::PeerReporter(EventLog& log, std::string directory)
    : log_(log), directory_(std::move(directory)) {
  totals_.began_ms = NowMs();
}

void PeerReporter::Started(const ModelInfo& model, uint32_t samples, const std::string& statement) {
  log_.Write(event::kStarted,
             {{"server", directory_}, {"model", DescribeModel(model)}, {"samples", samples}});
  log_.Write(peer_event::kPrivacy, {{"statement", statement}});
}

void PeerReporter::Listening(uint16_t port) {
  log_.Write(peer_event::kListening, {{"port", uint64_t{port}}});
}

void PeerReporter::Connected() {
  log_.End(event::kRetrying);
  log_.Write(event::kConnected, {{"server", directory_}});
}

// Steps count from 1 for people.
void PeerReporter::Joined(const PeerNode& node, const PeerTrainer& trainer) {
  log_.Write(peer_event::kJoined, {{"node", uint64_t{node.number()}},
                                   {"nodes", uint64_t{node.nodes()}},
                                   {"step", uint64_t{trainer.step()} + 1},
                                   {"steps", uint64_t{trainer.steps()}},
                                   {"version", uint64_t{node.head().version}}});
}

void PeerReporter::Retrying(const Failure& failure, uint32_t pause_ms) {
  log_.Write(event::kRetrying, {{"server", directory_},
                                {"reason", failure.reason},
                                {"code", failure.code},
                                {"retry_in_ms", Milliseconds{pause_ms}}});
}

void PeerReporter::NeighbourLost(const PeerPlace& place, const Failure& failure) {
  log_.Write(peer_event::kNeighbour,
             {{"node", uint64_t{place.node}},
              {"address", std::string(place.address.begin(), place.address.end())},
              {"reason", failure.reason},
              {"code", failure.code}});
}

void PeerReporter::Published(const PeerTrainer& trainer, uint32_t head, uint32_t base) {
  ++totals_.published;
  totals_.bytes_published += trainer.publication().size();
  if (head != base) {
    ++totals_.fallbacks;
    log_.Write(peer_event::kFellBack, {{"version", uint64_t{head}}, {"base", uint64_t{base}}});
  }
  log_.Write(peer_event::kPublished, {{"step", uint64_t{trainer.step()}},
                                      {"version", uint64_t{trainer.publication_version()}},
                                      {"bytes", uint64_t{trainer.publication().size()}}});
}

void PeerReporter::Adopted(uint32_t step, bool is_accepted) {
  if (is_accepted) {
    ++totals_.accepted;
  } else {
    log_.Write(peer_event::kNotAccepted, {{"step", uint64_t{step}}});
  }
}

void PeerReporter::Serving(uint32_t version, double seconds) {
  log_.Write(peer_event::kServing, {{"version", uint64_t{version}}, {"seconds", Seconds{seconds}}});
}

void PeerReporter::Ended(const Ending& ending, const PeerTrainer& trainer) {
  if (ending.outcome == Outcome::kDone) {
    log_.Write(peer_event::kStepsDone, {{"steps", uint64_t{trainer.steps()}},
                                        {"releases", uint64_t{trainer.ledger().releases}},
                                        {"accepted", totals_.accepted}});
    return;
  }
  EventFields fields;
  if (!ending.reason.empty()) fields.emplace_back("reason", ending.reason);
  if (!ending.code.empty()) fields.emplace_back("code", ending.code);
  log_.Write(RowOf(ending.outcome).event, fields);
}

}  // namespace sotto::posix
