/* The model small-cnn-q for C. One C++ file of the firmware defines SOTTO_DEFINE_MODELS and
 * includes this header, too; all others call sotto_model_small_cnn_q(). */
#ifndef SOTTO_MODEL_SMALL_CNN_Q_H_
#define SOTTO_MODEL_SMALL_CNN_Q_H_

#include "sotto_c.h"

#define MODEL_SMALL_CNN_Q_INPUTS 784
#define MODEL_SMALL_CNN_Q_OUTPUTS 10
#define MODEL_SMALL_CNN_Q_CLASSES 10
#define MODEL_SMALL_CNN_Q_PARAMETERS 9098
#define MODEL_SMALL_CNN_Q_PREDICT_FLOATS 13102
#define MODEL_SMALL_CNN_Q_MAX_BATCH 16
#define MODEL_SMALL_CNN_Q_WORKSPACE 52475 /* bytes, for batches of MAX_BATCH */

#ifdef __cplusplus
extern "C"
#endif
const sotto_model* sotto_model_small_cnn_q(void);

#if defined(__cplusplus) && defined(SOTTO_DEFINE_MODELS)
#include "sotto/c_model.h"
#include "sotto/client.h"

namespace model_small_cnn_q {

using Net = sotto::nn::FixedPoint<sotto::nn::Sequential<
    sotto::nn::Input<28, 28, 1>,
    sotto::nn::Conv2d<8, 3, 2, 1>,
    sotto::nn::Relu,
    sotto::nn::Conv2d<16, 3, 2, 1>,
    sotto::nn::Relu,
    sotto::nn::Flatten,
    sotto::nn::Dense<784, 10>>>;
constexpr sotto::ModelInfo kModel = sotto::MakeModelInfo<Net>("small-cnn-q");

}  // namespace model_small_cnn_q

static_assert(model_small_cnn_q::Net::kParameters == MODEL_SMALL_CNN_Q_PARAMETERS);
static_assert(sotto::ClientWorkspaceBytes<model_small_cnn_q::Net, MODEL_SMALL_CNN_Q_MAX_BATCH>() <=
              MODEL_SMALL_CNN_Q_WORKSPACE);
const sotto_model* sotto_model_small_cnn_q(void) {
  static constexpr sotto_model model = {model_small_cnn_q::kModel};
  return &model;
}
#endif

#endif /* SOTTO_MODEL_SMALL_CNN_Q_H_ */
