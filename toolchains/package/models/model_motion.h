/* The model motion for C. One C++ file of the firmware defines SOTTO_DEFINE_MODELS and
 * includes this header, too; all others call sotto_model_motion(). */
#ifndef SOTTO_MODEL_MOTION_H_
#define SOTTO_MODEL_MOTION_H_

#include "sotto_c.h"

#define MODEL_MOTION_INPUTS 384
#define MODEL_MOTION_OUTPUTS 6
#define MODEL_MOTION_CLASSES 6
#define MODEL_MOTION_PARAMETERS 3046
#define MODEL_MOTION_PREDICT_FLOATS 2722
#define MODEL_MOTION_MAX_BATCH 16
#define MODEL_MOTION_WORKSPACE 23139 /* bytes, for batches of MAX_BATCH */

#ifdef __cplusplus
extern "C"
#endif
const sotto_model* sotto_model_motion(void);

#if defined(__cplusplus) && defined(SOTTO_DEFINE_MODELS)
#include "sotto/c_model.h"
#include "sotto/client.h"

namespace model_motion {

using Net = sotto::nn::Sequential<
    sotto::nn::Input<128, 3>,
    sotto::nn::Conv1d<16, 5, 2>,
    sotto::nn::Relu,
    sotto::nn::Conv1d<32, 5, 2>,
    sotto::nn::Relu,
    sotto::nn::GlobalAverage2d,
    sotto::nn::Dense<32, 6>>;
constexpr sotto::ModelInfo kModel = sotto::MakeModelInfo<Net>("motion");

}  // namespace model_motion

static_assert(model_motion::Net::kParameters == MODEL_MOTION_PARAMETERS);
static_assert(sotto::ClientWorkspaceBytes<model_motion::Net, MODEL_MOTION_MAX_BATCH>() <=
              MODEL_MOTION_WORKSPACE);
const sotto_model* sotto_model_motion(void) {
  static constexpr sotto_model model = {model_motion::kModel};
  return &model;
}
#endif

#endif /* SOTTO_MODEL_MOTION_H_ */
