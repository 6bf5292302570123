/* The model small-cnn for C. One C++ file of the firmware defines SOTTO_DEFINE_MODELS and
 * includes this header, too; all others call sotto_model_small_cnn(). */
#ifndef SOTTO_MODEL_SMALL_CNN_H_
#define SOTTO_MODEL_SMALL_CNN_H_

#include "sotto_c.h"

#define MODEL_SMALL_CNN_INPUTS 784
#define MODEL_SMALL_CNN_OUTPUTS 10
#define MODEL_SMALL_CNN_CLASSES 10
#define MODEL_SMALL_CNN_PARAMETERS 9098
#define MODEL_SMALL_CNN_PREDICT_FLOATS 3508
#define MODEL_SMALL_CNN_MAX_BATCH 16
#define MODEL_SMALL_CNN_WORKSPACE 50491 /* bytes, for batches of MAX_BATCH */

#ifdef __cplusplus
extern "C"
#endif
const sotto_model* sotto_model_small_cnn(void);

#if defined(__cplusplus) && defined(SOTTO_DEFINE_MODELS)
#include "sotto/c_model.h"
#include "sotto/client.h"

namespace model_small_cnn {

using Net = sotto::nn::Sequential<
    sotto::nn::Input<28, 28, 1>,
    sotto::nn::Conv2d<8, 3, 2, 1>,
    sotto::nn::Relu,
    sotto::nn::Conv2d<16, 3, 2, 1>,
    sotto::nn::Relu,
    sotto::nn::Flatten,
    sotto::nn::Dense<784, 10>>;
constexpr sotto::ModelInfo kModel = sotto::MakeModelInfo<Net>("small-cnn");

}  // namespace model_small_cnn

static_assert(model_small_cnn::Net::kParameters == MODEL_SMALL_CNN_PARAMETERS);
static_assert(sotto::ClientWorkspaceBytes<model_small_cnn::Net, MODEL_SMALL_CNN_MAX_BATCH>() <=
              MODEL_SMALL_CNN_WORKSPACE);
const sotto_model* sotto_model_small_cnn(void) {
  static constexpr sotto_model model = {model_small_cnn::kModel};
  return &model;
}
#endif

#endif /* SOTTO_MODEL_SMALL_CNN_H_ */
