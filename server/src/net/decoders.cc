// Answers that are made in the pool: see loop.h. Part of sotto::server/net.
//
// The last bytes of an update are answered when it is decoded. A decoder makes the answers of
// several clients with one piece of work in the pool: those whose bytes came in one turn of the
// loop, or while all decoders were busy.
#include <algorithm>
#include <new>

#include "net/loop.h"

namespace sotto::server {
namespace {

constexpr size_t kMostAnswers = 16;  // of one piece of work; the first one waits for the last one

}  // namespace

void Server::Loop::AnswerInPool(Client& client) {
  client.session->working = true;
  undecoded_.push_back(&client);
}

// Deals the waiting answers out to the idle decoders.
void Server::Loop::StartDecoders() {
  auto idle = static_cast<size_t>(std::count_if(
      decoders_.begin(), decoders_.end(), [](const Decoder& d) { return d.clients.empty(); }));
  for (Decoder& decoder : decoders_) {
    if (undecoded_.empty()) return;
    if (!decoder.clients.empty()) continue;
    StartDecoder(decoder, (undecoded_.size() + idle - 1) / idle);
    --idle;
  }
}

void Server::Loop::StartDecoder(Decoder& decoder, size_t most) {
  const auto end = undecoded_.begin() + static_cast<ptrdiff_t>(std::min(most, kMostAnswers));
  decoder.clients.assign(undecoded_.begin(), end);
  undecoded_.erase(undecoded_.begin(), end);
  decoder.work.data = &decoder;
  uv_queue_work(
      &loop_, &decoder.work,
      [](uv_work_t* work) {
        for (Client* client : static_cast<Decoder*>(work->data)->clients) AskJob(*client);
      },
      [](uv_work_t* work, int) {
        auto* done = static_cast<Decoder*>(work->data);
        done->loop->OnDecoded(*done);
      });
}

void Server::Loop::OnDecoded(Decoder& decoder) {
  const LoopMonitor::Piece piece(monitor_, LoopWork::kRequest);
  for (Client* client : decoder.clients) {
    client->session->working = false;
    try {
      Respond(*client);
      Pump(*client);
    } catch (const std::bad_alloc&) {
      Close(*client, "no memory");
    }
    Reap(*client);
  }
  decoder.clients.clear();
  StartDecoders();
}

// The loop stops: nobody waits for these answers any more.
void Server::Loop::ForgetUndecoded() {
  for (Client* client : undecoded_) client->session->working = false;
  undecoded_.clear();
}

}  // namespace sotto::server
