/* The SDK for programs in C (C99 or later): client, prediction, self-test. Part of sotto/c.
 *
 *   static sotto_client client;                               the caller's memory
 *   static float vectors[2 * MODEL_SOFTMAX_64_10_PARAMETERS];
 *   static uint8_t workspace[MODEL_SOFTMAX_64_10_WORKSPACE];
 *
 *   sotto_client_config config = {0};
 *   config.model = sotto_model_softmax_64_10();               see "Models"
 *   ...
 *   sotto_status status = sotto_client_init(&client, &config);
 *   sotto_progress progress = SOTTO_AGAIN;
 *   while (status == SOTTO_OK && progress != SOTTO_DONE) {
 *     if (sotto_client_step(&client, &progress) != SOTTO_OK) sleep a while;   this round is given up
 *     if (progress == SOTTO_WAIT) sleep for sotto_client_wait_ms(&client);
 *     if (progress != SOTTO_SEND) continue;
 *     sotto_client_request(&client, frame, sizeof frame, &size);   send these bytes
 *     receive a frame: two bytes n, little endian, then n bytes, its body
 *     if (the link was lost) sotto_client_link_lost(&client);
 *     else if (sotto_client_reply(&client, body, n) != SOTTO_OK) sleep a while;
 *   }
 *
 * Models. `sotto model show MODEL --c` writes a header with the model's sizes as constants and the
 * function that names the model. One C++ file of the firmware defines that function: it defines
 * SOTTO_DEFINE_MODELS and includes the header.
 *
 * The link is the caller's; sotto_c_link.h has one over TLS. Only C++ has: models in flash that
 * survive a reset, the ledger of private noise, the frame link, peers without a server.
 *
 * Ownership: every pointer of a configuration must outlive the client; the SDK allocates nothing. A
 * sotto_client is opaque and may not be copied. One thread at a time. The C++ headers describe the
 * functions and their costs in full: sotto/client.h, sotto/predict.h, sotto/port.h,
 * sotto/sample_source.h, sotto/self_test.h.
 */
#ifndef SOTTO_C_H_
#define SOTTO_C_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The result of a call: sotto/status.h. Errors are negative and never renumbered. */
typedef int8_t sotto_status;
enum {
  SOTTO_OK = 0,
  SOTTO_INVALID_ARGUMENT = -1,
  SOTTO_OUT_OF_RANGE = -2,
  SOTTO_NOT_FINITE = -3,
  SOTTO_BUFFER_TOO_SMALL = -4,
  SOTTO_MALFORMED = -5,
  SOTTO_WRONG_STATE = -6,
  SOTTO_ENTROPY_FAILED = -7,
  SOTTO_CRYPTO_FAILED = -8,
  SOTTO_SAMPLE_FAILED = -9,
  SOTTO_MISMATCH = -10,
  SOTTO_PEER_REFUSED = -11,
  SOTTO_WOULD_BLOCK = -12,
  SOTTO_LINK_LOST = -13,
  SOTTO_STORE_FAILED = -14,
  SOTTO_TOO_LATE = -15
};

/* The status as text, "kOk" for example. */
const char* sotto_status_name(sotto_status status);

/* Returns SOTTO_OK if this build computes the same bits as every device and the server; else
 * SOTTO_MISMATCH, and this build must not take part. Call it once, at the start of a program. */
sotto_status sotto_self_test(void);

/* A net: a sotto::ModelInfo. */
typedef struct sotto_model sotto_model;

/* Samples of the device: sotto::SampleSource.
 *   read  writes sample `index`, which is below count: all of the model's features (raw, finite, or
 *         NaN for a number that the model fills) and its class, unless the model has none. Any
 *         status but SOTTO_OK ends the training. It gives the same sample for the same index
 *         throughout a round.
 *   read_vector  instead of read, for a model whose target is a vector [outputs] */
typedef struct {
  uint32_t count;
  sotto_status (*read)(void* context, uint32_t index, float* features, uint32_t* label);
  sotto_status (*read_vector)(void* context, uint32_t index, float* features, float* target);
  void* context;
} sotto_samples;

/* The board's clock and entropy: sotto::Port.
 *   now_ms   returns the milliseconds since an arbitrary start; never decreases
 *   entropy  writes `size` unpredictable bytes; returns SOTTO_OK or SOTTO_ENTROPY_FAILED */
typedef struct {
  uint64_t (*now_ms)(void* context);
  sotto_status (*entropy)(void* context, uint8_t* out, size_t size);
  void* context;
} sotto_port;

enum { SOTTO_SECRET_SIZE = 32 };

/* Zeros are the defaults of what is not said to be required. */
typedef struct {
  const sotto_model* model; /* required */
  const char* device_id;    /* required: 1 to 64 characters of [A-Za-z0-9._-] */
  const uint8_t*
      secret; /* required: [SOTTO_SECRET_SIZE]; copied, wiped by sotto_client_destroy() */
  sotto_samples samples; /* required */
  sotto_port port;       /* required */
  /* [2 * parameters]; [3 *] trains also with momentum, [4 *] also with both gradient clips */
  float* vectors; /* required */
  size_t vectors_size;
  /* Bytes, of the constant that the model's header has; more serve larger batches. */
  void* workspace; /* required */
  size_t workspace_size;
  uint32_t max_batch; /* samples in the largest mini-batch, as the model's header has it; 0: 16 */
  uint32_t max_frame; /* bytes of the largest frame's body, 256 to 65535; 0: 1024 */
  uint32_t hold_ms;   /* longest time for which the server may hold its answer; 0: poll */
  int stays;          /* not 0: when a job is over the device waits for the next one */
  int allow_training_without_privacy; /* not 0: takes part in jobs without noise, too */
  /* A task with less private noise is refused; in units of 2^-20 of the multiplier. 0: the server
   * is trusted. */
  uint32_t min_private_noise_q20;
} sotto_client_config;

/* Bytes of a client on a machine of 32-bit pointers and on one of 64-bit pointers. */
#define SOTTO_CLIENT_SIZE (sizeof(void*) > 4 ? 3584 : 3072)

/* The caller's memory for a client; only the SDK uses its contents. */
typedef union {
  uint64_t align;
  uint8_t bytes[SOTTO_CLIENT_SIZE];
} sotto_client;

typedef enum {
  SOTTO_AGAIN = 0, /* call sotto_client_step() again */
  SOTTO_SEND = 1,  /* send the request, and give the answer to sotto_client_reply() */
  SOTTO_WAIT = 2,  /* call sotto_client_step() again after sotto_client_wait_ms() */
  SOTTO_DONE = 3   /* the job is over */
} sotto_progress;

/* Makes a client in the memory. Returns SOTTO_OK, SOTTO_INVALID_ARGUMENT for a configuration that
 * is bad or lacks a required field, or SOTTO_BUFFER_TOO_SMALL for a workspace that holds no batch.
 * Unless it returns SOTTO_OK there is no client, and nothing to destroy. */
sotto_status sotto_client_init(sotto_client* client, const sotto_client_config* config);

/* Wipes the secret and all keys. The memory may be used anew. */
void sotto_client_destroy(sotto_client* client);

/* Does at most one mini-batch, or prepares one request. On any status but SOTTO_OK the round is
 * given up, and the next step starts again. */
sotto_status sotto_client_step(sotto_client* client, sotto_progress* progress);

/* Writes the request as a frame: its length in two bytes, little endian, and its body.
 *   frame     [capacity]; 2 + max_frame bytes always suffice
 *   size      bytes of the frame */
sotto_status sotto_client_request(const sotto_client* client, uint8_t* frame, size_t capacity,
                                  size_t* size);

/* Takes the body of the frame that answers the request; it must not change during the call.
 * SOTTO_MALFORMED for bytes that are no reply; else the statuses of sotto::Client::OnReply(). */
sotto_status sotto_client_reply(sotto_client* client, const uint8_t* body, size_t size);

/* Call it for every link that was cut or closed. */
void sotto_client_link_lost(sotto_client* client);

uint32_t sotto_client_wait_ms(const sotto_client* client);
/* Not 0: the server has refused the device's model, version or key, or the device a task. */
int sotto_client_is_refused(const sotto_client* client);
/* The code of the last error that the server answered: sotto::ErrorCode. */
uint8_t sotto_client_error(const sotto_client* client);
/* The mean loss of the last training. */
float sotto_client_mean_loss(const sotto_client* client);
/* The round's model, or a released one: [parameters], at the beginning of `vectors`. */
const float* sotto_client_model(const sotto_client* client);

/* Asks for the newest released model, between two rounds or after the job: go on with the loop
 * until sotto_client_is_fetching() is 0. */
void sotto_client_fetch_release(sotto_client* client);
int sotto_client_is_fetching(const sotto_client* client);
/* Not 0: sotto_client_model() is a released model. */
int sotto_client_holds_release(const sotto_client* client);
/* The release's prediction error above which a sample is an anomaly; 0: it has none. */
float sotto_client_threshold(const sotto_client* client);

/* Floats of scratch memory for a prediction. The model's header has it as a constant. */
size_t sotto_predict_floats(const sotto_model* model);

/* Computes the outputs of a net for a sample: the scores of the classes, or the predicted numbers.
 *   parameters  [parameters of the model] float32, of sotto_client_model() or an exported header
 *   features    [inputs] raw; the model prepares them
 *   scratch     [scratch_floats], at least sotto_predict_floats()
 *   outputs     [outputs]
 * The statuses of sotto::Predict(). */
sotto_status sotto_predict(const sotto_model* model, const float* parameters, const float* features,
                           float* scratch, size_t scratch_floats, float* outputs);

/* Computes the prediction error of a sample: its loss in a training with the mean squared error.
 * The arguments of sotto_predict(), and
 *   target  [outputs] for a regression; NULL for an autoencoder, whose target is the sample
 *   error   as sotto::PredictionError() computes it
 * The statuses of sotto::PredictionError(). */
sotto_status sotto_prediction_error(const sotto_model* model, const float* parameters,
                                    const float* features, const float* target, float* scratch,
                                    size_t scratch_floats, float* outputs, float* error);

/* The class with the highest score. */
uint32_t sotto_predicted_class(const sotto_model* model, const float* outputs);

#ifdef __cplusplus
}
#endif

#endif /* SOTTO_C_H_ */
