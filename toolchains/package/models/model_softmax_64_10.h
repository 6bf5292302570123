/* The model softmax-64-10 for C. One C++ file of the firmware defines SOTTO_DEFINE_MODELS and
 * includes this header, too; all others call sotto_model_softmax_64_10(). */
#ifndef SOTTO_MODEL_SOFTMAX_64_10_H_
#define SOTTO_MODEL_SOFTMAX_64_10_H_

#include "sotto_c.h"

#define MODEL_SOFTMAX_64_10_INPUTS 64
#define MODEL_SOFTMAX_64_10_OUTPUTS 10
#define MODEL_SOFTMAX_64_10_CLASSES 10
#define MODEL_SOFTMAX_64_10_PARAMETERS 650
#define MODEL_SOFTMAX_64_10_PREDICT_FLOATS 1
#define MODEL_SOFTMAX_64_10_MAX_BATCH 16
#define MODEL_SOFTMAX_64_10_WORKSPACE 1067 /* bytes, for batches of MAX_BATCH */

#ifdef __cplusplus
extern "C"
#endif
const sotto_model* sotto_model_softmax_64_10(void);

#if defined(__cplusplus) && defined(SOTTO_DEFINE_MODELS)
#include "sotto/c_model.h"
#include "sotto/client.h"

namespace model_softmax_64_10 {

using Net = sotto::nn::Sequential<
    sotto::nn::Dense<64, 10>>;
constexpr sotto::ModelInfo kModel = sotto::MakeModelInfo<Net>("softmax-64-10");

}  // namespace model_softmax_64_10

static_assert(model_softmax_64_10::Net::kParameters == MODEL_SOFTMAX_64_10_PARAMETERS);
static_assert(sotto::ClientWorkspaceBytes<model_softmax_64_10::Net, MODEL_SOFTMAX_64_10_MAX_BATCH>() <=
              MODEL_SOFTMAX_64_10_WORKSPACE);
const sotto_model* sotto_model_softmax_64_10(void) {
  static constexpr sotto_model model = {model_softmax_64_10::kModel};
  return &model;
}
#endif

#endif /* SOTTO_MODEL_SOFTMAX_64_10_H_ */
