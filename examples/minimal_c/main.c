/* A device's complete loop in C. board.h declares what the board has to bring; on a desk that is
 * desk.c. models.cc is the one file in C++. */
#include "board.h"
#include "model_softmax_64_10.h"
#include "sotto_c.h"

enum { SAMPLES = 50 };

static sotto_client client;
static float vectors[2 * MODEL_SOFTMAX_64_10_PARAMETERS];
static uint8_t workspace[MODEL_SOFTMAX_64_10_WORKSPACE];
static uint8_t frame[2 + MAX_FRAME];
static uint8_t body[MAX_FRAME];

/* Sample `index` of this device: made up here, from flash or a sensor's log on a board. */
static sotto_status read_sample(void* context, uint32_t index, float* features, uint32_t* label) {
  uint32_t i;
  (void)context;
  *label = index % MODEL_SOFTMAX_64_10_CLASSES;
  for (i = 0; i < MODEL_SOFTMAX_64_10_INPUTS; ++i) {
    features[i] = i % MODEL_SOFTMAX_64_10_CLASSES == *label ? 1.0f : 0.0f;
  }
  return SOTTO_OK;
}

/* A lost link or a wrong answer ends what is under way; the next step starts anew. */
static void exchange(void) {
  size_t size = 0;
  size_t answer = 0;
  if (sotto_client_request(&client, frame, sizeof frame, &size) == SOTTO_OK) {
    answer = board_exchange(frame, size, body);
  }
  if (answer == 0) {
    sotto_client_link_lost(&client);
  } else if (sotto_client_reply(&client, body, answer) != SOTTO_OK) {
    board_sleep_ms(1000);
  }
}

int main(void) {
  sotto_client_config config = {0};
  sotto_progress progress = SOTTO_AGAIN;
  if (sotto_self_test() != SOTTO_OK) return 1; /* this build computes other bits */
  config.model = sotto_model_softmax_64_10();
  config.device_id = board_device_id();
  config.secret = board_secret();
  config.samples.count = SAMPLES;
  config.samples.read = read_sample;
  config.port.now_ms = board_now_ms;
  config.port.entropy = board_entropy;
  config.vectors = vectors;
  config.vectors_size = sizeof vectors / sizeof vectors[0];
  config.workspace = workspace;
  config.workspace_size = sizeof workspace;
  config.max_batch = MODEL_SOFTMAX_64_10_MAX_BATCH;
  config.max_frame = MAX_FRAME;
  if (sotto_client_init(&client, &config) != SOTTO_OK) return 1;
  while (progress != SOTTO_DONE) {
    /* A round that fails, or that ends without this device, is over; the next one starts anew. */
    if (sotto_client_step(&client, &progress) != SOTTO_OK) board_sleep_ms(1000);
    if (progress == SOTTO_WAIT) board_sleep_ms(sotto_client_wait_ms(&client));
    if (progress == SOTTO_SEND) exchange();
  }
  sotto_client_destroy(&client);
  return 0;
}
