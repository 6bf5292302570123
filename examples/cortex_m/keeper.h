// The released model of a board that predicts: when it is fetched, kept in flash, and used. Part of
// examples/cortex_m.
//
//   start    says which release is in flash and classifies with it, without a server
//   then     asks for the newest release: it gets a difference from the model in flash, or nothing
//   a fetch  writes the flash, then the record beside it (sotto/kept_model.h)
//   a wait   classifies with a new release
//   a round  writes its model to the same flash. Until the next fetch there is no release then, and
//            the board predicts nothing; kept_model.h says how a product with two places does
//
// While it waits it asks again once an hour.
//
// The time of a classification reveals the number of samples. So the board classifies within a
// wait, whose end does not move, and never between two messages. One thread.
#pragma once

#include "sotto/kept_model.h"
#include "sotto/sample_source.h"

namespace sotto {

class Keeper {
 public:
  // The caller owns all of it, which outlives the keeper.
  //   model    tells classes apart
  //   samples  that it classifies
  //   memory   [ClassifyFloats(model)] that nobody else uses
  Keeper(const ModelInfo& model, KeptModel* kept, Client* client, const SampleSource& samples,
         Span<float> memory)
      : model_(model), kept_(kept), client_(client), samples_(samples), memory_(memory) {}

  // Before the client's first step.
  void Start();

  // After each reply that the client has taken.
  //   status  of Client::OnReply()
  void OnReply(Status status, const Reply& reply);

  // At the beginning of each wait. Asks for a release that the server has named: at once between
  // jobs, in a job once an hour. Takes as long as a classification.
  //   now_ms  of the port's clock
  void OnWait(uint64_t now_ms);

 private:
  static constexpr uint64_t kAskEveryMs = 3600000;

  void Ask();
  void Keep(const Release& release);
  void UseRelease();

  const ModelInfo& model_;
  KeptModel* kept_;
  Client* client_;
  SampleSource samples_;
  Span<float> memory_;
  uint8_t claims_[kMaxClaimsSize] = {};
  bool has_rounds_ = false;  // a job runs
  bool asks_ = false;        // and has not been told yet that the fetch is over
  bool is_new_ = false;      // a release with which nothing is classified yet
  uint64_t asked_ms_ = 0;
};

}  // namespace sotto
