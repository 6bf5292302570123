/* The model softmax-784-10 for C. One C++ file of the firmware defines SOTTO_DEFINE_MODELS and
 * includes this header, too; all others call sotto_model_softmax_784_10(). */
#ifndef SOTTO_MODEL_SOFTMAX_784_10_H_
#define SOTTO_MODEL_SOFTMAX_784_10_H_

#include "sotto_c.h"

#define MODEL_SOFTMAX_784_10_INPUTS 784
#define MODEL_SOFTMAX_784_10_OUTPUTS 10
#define MODEL_SOFTMAX_784_10_CLASSES 10
#define MODEL_SOFTMAX_784_10_PARAMETERS 7850
#define MODEL_SOFTMAX_784_10_PREDICT_FLOATS 1
#define MODEL_SOFTMAX_784_10_MAX_BATCH 16
#define MODEL_SOFTMAX_784_10_WORKSPACE 3843 /* bytes, for batches of MAX_BATCH */

#ifdef __cplusplus
extern "C"
#endif
const sotto_model* sotto_model_softmax_784_10(void);

#if defined(__cplusplus) && defined(SOTTO_DEFINE_MODELS)
#include "sotto/c_model.h"
#include "sotto/client.h"

namespace model_softmax_784_10 {

using Net = sotto::nn::Sequential<
    sotto::nn::Dense<784, 10>>;
constexpr sotto::ModelInfo kModel = sotto::MakeModelInfo<Net>("softmax-784-10");

}  // namespace model_softmax_784_10

static_assert(model_softmax_784_10::Net::kParameters == MODEL_SOFTMAX_784_10_PARAMETERS);
static_assert(sotto::ClientWorkspaceBytes<model_softmax_784_10::Net, MODEL_SOFTMAX_784_10_MAX_BATCH>() <=
              MODEL_SOFTMAX_784_10_WORKSPACE);
const sotto_model* sotto_model_softmax_784_10(void) {
  static constexpr sotto_model model = {model_softmax_784_10::kModel};
  return &model;
}
#endif

#endif /* SOTTO_MODEL_SOFTMAX_784_10_H_ */
