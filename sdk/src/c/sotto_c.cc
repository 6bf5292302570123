// The functions of sotto_c.h. Part of sotto/c: the last folder, which calls the others.
#include "sotto_c.h"

#include <new>

#include "c/c_port.h"
#include "sotto/c_model.h"
#include "sotto/client.h"
#include "sotto/predict.h"
#include "sotto/self_test.h"
#include "sotto/wire.h"

namespace sotto {
namespace {

static_assert(SOTTO_TOO_LATE == static_cast<int>(Status::kTooLate) && kStatusCount == 16);
static_assert(SOTTO_AGAIN == static_cast<int>(Client::Progress::kAgain));
static_assert(SOTTO_SEND == static_cast<int>(Client::Progress::kSend));
static_assert(SOTTO_WAIT == static_cast<int>(Client::Progress::kWait));
static_assert(SOTTO_DONE == static_cast<int>(Client::Progress::kDone));
static_assert(SOTTO_SECRET_SIZE == kKeySize);

constexpr uint32_t kDefaultBatch = 16;
constexpr size_t kChunkSize = 1000;  // as ClientWorkspaceBytes()

// What a sotto_client holds.
struct CClient {
  CClient(const sotto_client_config& c, const ClientConfig& config, const ClientBuffers& buffers)
      : samples(c.samples),
        port(c.port),
        base(c.vectors),
        max_frame(config.max_frame),
        client(config, buffers) {}

  sotto_samples samples;
  sotto_port port;
  const float* base;
  uint32_t max_frame;
  uint8_t claims[kMaxClaimsSize] = {};
  Client client;
};

static_assert(sizeof(CClient) <= sizeof(sotto_client), "enlarge SOTTO_CLIENT_SIZE");
static_assert(alignof(CClient) <= alignof(sotto_client));

CClient& In(sotto_client* client) {
  return *std::launder(reinterpret_cast<CClient*>(client->bytes));
}

const CClient& In(const sotto_client* client) {
  return *std::launder(reinterpret_cast<const CClient*>(client->bytes));
}

Status Read(void* context, uint32_t index, Span<float> features, uint32_t* label) {
  const auto& samples = *static_cast<const sotto_samples*>(context);
  return FromC(samples.read(samples.context, index, features.data(), label));
}

Status ReadVector(void* context, uint32_t index, Span<float> features, Span<float> target) {
  const auto& samples = *static_cast<const sotto_samples*>(context);
  return FromC(samples.read_vector(samples.context, index, features.data(), target.data()));
}

bool IsComplete(const sotto_client_config& c) {
  return c.model != nullptr && c.device_id != nullptr && c.secret != nullptr &&
         c.vectors != nullptr && c.workspace != nullptr && c.port.now_ms != nullptr &&
         c.port.entropy != nullptr && c.vectors_size % c.model->parameters == 0;
}

ClientConfig ConfigOf(const sotto_client_config& c, CClient* place) {
  ClientConfig config;
  config.model = c.model;
  config.device_id = TextOf(c.device_id);
  __builtin_memcpy(config.secret.bytes, c.secret, kKeySize);
  config.samples.count = c.samples.count;
  config.samples.read = c.samples.read != nullptr ? Read : nullptr;
  config.samples.read_vector = c.samples.read_vector != nullptr ? ReadVector : nullptr;
  config.samples.context = &place->samples;
  config.port = PortOf(&place->port);
  if (c.max_frame != 0) config.max_frame = c.max_frame;
  config.hold_ms = c.hold_ms;
  config.stays = c.stays != 0;
  config.allow_training_without_privacy = c.allow_training_without_privacy != 0;
  config.min_private_noise_q20 = c.min_private_noise_q20;
  return config;
}

// As MakeClientBuffers(), by sizes that are known when the program runs.
ClientBuffers BuffersOf(const sotto_client_config& c) {
  const uint32_t n = c.model->parameters;
  const size_t batch = c.max_batch != 0 ? c.max_batch : kDefaultBatch;
  const auto address = reinterpret_cast<uintptr_t>(c.workspace);
  const size_t skipped = (0 - address) % alignof(uint32_t);
  const size_t taken = skipped + sizeof(uint32_t) * batch;
  ClientBuffers buffers;
  if (c.workspace_size < taken + sizeof(float)) return buffers;
  const size_t shared = (c.workspace_size - taken) / sizeof(float);
  auto* const words = reinterpret_cast<uint32_t*>(static_cast<uint8_t*>(c.workspace) + skipped);
  const Span<float> base = {c.vectors, n};
  const auto vector = [&](size_t i) {
    return c.vectors_size > i * n ? Span<float>(c.vectors + i * n, n) : Span<float>();
  };
  buffers.base = base;
  buffers.writer = WriterTo(base);
  buffers.update = vector(1);
  buffers.velocity = vector(2);
  buffers.gradient = vector(3);
  buffers.indices = {words, batch};
  buffers.scratch = {reinterpret_cast<float*>(words + batch), shared};
  const size_t bytes = shared * sizeof(float);
  buffers.chunk = {reinterpret_cast<uint8_t*>(words + batch),
                   bytes < kChunkSize ? bytes : kChunkSize};
  return buffers;
}

}  // namespace
}  // namespace sotto

using sotto::In;
using sotto::Status;
using sotto::ToC;

const char* sotto_status_name(sotto_status status) {
  return sotto::StatusName(static_cast<Status>(status));
}

sotto_status sotto_self_test(void) { return ToC(sotto::SelfTest()); }

sotto_status sotto_client_init(sotto_client* client, const sotto_client_config* config) {
  if (client == nullptr || config == nullptr || !sotto::IsComplete(*config)) {
    return SOTTO_INVALID_ARGUMENT;
  }
  auto* const place = reinterpret_cast<sotto::CClient*>(client->bytes);
  const sotto::ClientConfig own = sotto::ConfigOf(*config, place);
  const sotto::ClientBuffers buffers = sotto::BuffersOf(*config);
  if (buffers.scratch.empty()) return SOTTO_BUFFER_TOO_SMALL;
  size_t needed = 0;
  const Status status = sotto::Client::Check(own, buffers, &needed);
  const bool holds_batch = sotto::Client::AbilitiesOf(*own.model, buffers).largest_batch > 0;
  if (status != Status::kOk && !(status == Status::kBufferTooSmall && holds_batch))
    return ToC(status);
  ::new (static_cast<void*>(client->bytes)) sotto::CClient(*config, own, buffers);
  return SOTTO_OK;
}

void sotto_client_destroy(sotto_client* client) { In(client).~CClient(); }

sotto_status sotto_client_step(sotto_client* client, sotto_progress* progress) {
  sotto::Client::Progress own = sotto::Client::Progress::kAgain;
  const Status status = In(client).client.Step(&own);
  *progress = static_cast<sotto_progress>(own);
  return ToC(status);
}

sotto_status sotto_client_request(const sotto_client* client, uint8_t* frame, size_t capacity,
                                  size_t* size) {
  const sotto::CClient& own = In(client);
  return ToC(sotto::EncodeRequest(own.client.request(), own.max_frame, {frame, capacity}, size));
}

sotto_status sotto_client_reply(sotto_client* client, const uint8_t* body, size_t size) {
  sotto::Reply reply;
  const Status status = sotto::DecodeReply({body, size}, &reply);
  return ToC(status == Status::kOk ? In(client).client.OnReply(reply) : status);
}

void sotto_client_link_lost(sotto_client* client) { In(client).client.OnLinkLost(); }

uint32_t sotto_client_wait_ms(const sotto_client* client) { return In(client).client.wait_ms(); }

int sotto_client_is_refused(const sotto_client* client) {
  return In(client).client.is_refused() ? 1 : 0;
}

uint8_t sotto_client_error(const sotto_client* client) {
  return static_cast<uint8_t>(In(client).client.error_code());
}

float sotto_client_mean_loss(const sotto_client* client) { return In(client).client.mean_loss(); }

const float* sotto_client_model(const sotto_client* client) { return In(client).base; }

void sotto_client_fetch_release(sotto_client* client) {
  In(client).client.FetchRelease(In(client).claims);
}

int sotto_client_is_fetching(const sotto_client* client) {
  return In(client).client.is_fetching() ? 1 : 0;
}

int sotto_client_holds_release(const sotto_client* client) {
  return In(client).client.release() != nullptr ? 1 : 0;
}

float sotto_client_threshold(const sotto_client* client) {
  const sotto::Release* const release = In(client).client.release();
  return release != nullptr ? release->threshold : 0.0f;
}

size_t sotto_predict_floats(const sotto_model* model) {
  return model->predict_floats != nullptr ? model->predict_floats(*model)
                                          : sotto::PredictFloats(*model);
}

sotto_status sotto_predict(const sotto_model* model, const float* parameters, const float* features,
                           float* scratch, size_t scratch_floats, float* outputs) {
  return ToC(sotto::Predict(*model, sotto::Span<const float>(parameters, model->parameters),
                            {features, model->inputs}, {scratch, scratch_floats},
                            {outputs, model->outputs}));
}

sotto_status sotto_prediction_error(const sotto_model* model, const float* parameters,
                                    const float* features, const float* target, float* scratch,
                                    size_t scratch_floats, float* outputs, float* error) {
  const size_t targets = target != nullptr ? model->outputs : 0;
  return ToC(sotto::PredictionError(*model, sotto::Span<const float>(parameters, model->parameters),
                                    {features, model->inputs}, {target, targets},
                                    {scratch, scratch_floats}, {outputs, model->outputs}, error));
}

uint32_t sotto_predicted_class(const sotto_model* model, const float* outputs) {
  return sotto::PredictedClass(*model, {outputs, model->outputs});
}
