/* What a firmware calls of an installed SDK: the client, its link over TLS, the model's header. */
#include "model_softmax_64_10.h"
#include "sotto_c_link.h"

static sotto_client client;
static sotto_link link;
static float vectors[2 * MODEL_SOFTMAX_64_10_PARAMETERS];
static uint8_t workspace[MODEL_SOFTMAX_64_10_WORKSPACE];
static uint8_t frame[514];
static uint8_t answer[512];

int main(void) {
  static const uint8_t secret[SOTTO_SECRET_SIZE] = {1};
  sotto_client_config config = {0};
  sotto_link_config link_config = {0};
  sotto_progress progress = SOTTO_AGAIN;
  const uint8_t* body = 0;
  size_t size = 0;
  config.model = sotto_model_softmax_64_10();
  config.secret = link_config.secret = secret;
  config.device_id = link_config.device_id = "board-1";
  config.vectors = vectors;
  config.vectors_size = 2 * MODEL_SOFTMAX_64_10_PARAMETERS;
  config.workspace = workspace;
  config.workspace_size = sizeof workspace;
  config.max_frame = sizeof answer;
  if (sotto_client_init(&client, &config) != SOTTO_OK) return 1;
  if (sotto_link_init(&link, &link_config, answer, sizeof answer) != SOTTO_OK) return 1;
  if (sotto_link_begin(&link) != SOTTO_OK) return 1;
  if (sotto_client_step(&client, &progress) != SOTTO_OK) return 1;
  if (sotto_client_request(&client, frame, sizeof frame, &size) != SOTTO_OK) return 1;
  if (sotto_link_exchange(&link, frame, size, &body, &size) != SOTTO_OK) return 1;
  return sotto_client_reply(&client, body, size);
}
