/* The model softmax-784-10-q for C. One C++ file of the firmware defines SOTTO_DEFINE_MODELS and
 * includes this header, too; all others call sotto_model_softmax_784_10_q(). */
#ifndef SOTTO_MODEL_SOFTMAX_784_10_Q_H_
#define SOTTO_MODEL_SOFTMAX_784_10_Q_H_

#include "sotto_c.h"

#define MODEL_SOFTMAX_784_10_Q_INPUTS 784
#define MODEL_SOFTMAX_784_10_Q_OUTPUTS 10
#define MODEL_SOFTMAX_784_10_Q_CLASSES 10
#define MODEL_SOFTMAX_784_10_Q_PARAMETERS 7850
#define MODEL_SOFTMAX_784_10_Q_PREDICT_FLOATS 1
#define MODEL_SOFTMAX_784_10_Q_MAX_BATCH 16
#define MODEL_SOFTMAX_784_10_Q_WORKSPACE 3843 /* bytes, for batches of MAX_BATCH */

#ifdef __cplusplus
extern "C"
#endif
const sotto_model* sotto_model_softmax_784_10_q(void);

#if defined(__cplusplus) && defined(SOTTO_DEFINE_MODELS)
#include "sotto/c_model.h"
#include "sotto/client.h"

namespace model_softmax_784_10_q {

using Net = sotto::nn::FixedPoint<sotto::nn::Sequential<
    sotto::nn::Dense<784, 10>>>;
constexpr sotto::ModelInfo kModel = sotto::MakeModelInfo<Net>("softmax-784-10-q");

}  // namespace model_softmax_784_10_q

static_assert(model_softmax_784_10_q::Net::kParameters == MODEL_SOFTMAX_784_10_Q_PARAMETERS);
static_assert(sotto::ClientWorkspaceBytes<model_softmax_784_10_q::Net, MODEL_SOFTMAX_784_10_Q_MAX_BATCH>() <=
              MODEL_SOFTMAX_784_10_Q_WORKSPACE);
const sotto_model* sotto_model_softmax_784_10_q(void) {
  static constexpr sotto_model model = {model_softmax_784_10_q::kModel};
  return &model;
}
#endif

#endif /* SOTTO_MODEL_SOFTMAX_784_10_Q_H_ */
