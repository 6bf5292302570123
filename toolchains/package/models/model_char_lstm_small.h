/* The model char-lstm-small for C. One C++ file of the firmware defines SOTTO_DEFINE_MODELS and
 * includes this header, too; all others call sotto_model_char_lstm_small(). */
#ifndef SOTTO_MODEL_CHAR_LSTM_SMALL_H_
#define SOTTO_MODEL_CHAR_LSTM_SMALL_H_

#include "sotto_c.h"

#define MODEL_CHAR_LSTM_SMALL_INPUTS 40
#define MODEL_CHAR_LSTM_SMALL_OUTPUTS 82
#define MODEL_CHAR_LSTM_SMALL_CLASSES 82
#define MODEL_CHAR_LSTM_SMALL_PARAMETERS 8738
#define MODEL_CHAR_LSTM_SMALL_PREDICT_FLOATS 7034
#define MODEL_CHAR_LSTM_SMALL_MAX_BATCH 16
#define MODEL_CHAR_LSTM_SMALL_WORKSPACE 59627 /* bytes, for batches of MAX_BATCH */

#ifdef __cplusplus
extern "C"
#endif
const sotto_model* sotto_model_char_lstm_small(void);

#if defined(__cplusplus) && defined(SOTTO_DEFINE_MODELS)
#include "sotto/c_model.h"
#include "sotto/client.h"

namespace model_char_lstm_small {

using Net = sotto::nn::Sequential<
    sotto::nn::Tokens<40>,
    sotto::nn::Embedding<82, 8>,
    sotto::nn::Lstm<32, sotto::nn::LstmOutput::kLast>,
    sotto::nn::Dense<32, 82>>;
constexpr sotto::ModelInfo kModel = sotto::MakeModelInfo<Net>("char-lstm-small");

}  // namespace model_char_lstm_small

static_assert(model_char_lstm_small::Net::kParameters == MODEL_CHAR_LSTM_SMALL_PARAMETERS);
static_assert(sotto::ClientWorkspaceBytes<model_char_lstm_small::Net, MODEL_CHAR_LSTM_SMALL_MAX_BATCH>() <=
              MODEL_CHAR_LSTM_SMALL_WORKSPACE);
const sotto_model* sotto_model_char_lstm_small(void) {
  static constexpr sotto_model model = {model_char_lstm_small::kModel};
  return &model;
}
#endif

#endif /* SOTTO_MODEL_CHAR_LSTM_SMALL_H_ */
