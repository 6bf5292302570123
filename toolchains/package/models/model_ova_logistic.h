/* The model ova-logistic for C. One C++ file of the firmware defines SOTTO_DEFINE_MODELS and
 * includes this header, too; all others call sotto_model_ova_logistic(). */
#ifndef SOTTO_MODEL_OVA_LOGISTIC_H_
#define SOTTO_MODEL_OVA_LOGISTIC_H_

#include "sotto_c.h"

#define MODEL_OVA_LOGISTIC_INPUTS 50
#define MODEL_OVA_LOGISTIC_OUTPUTS 10
#define MODEL_OVA_LOGISTIC_CLASSES 10
#define MODEL_OVA_LOGISTIC_PARAMETERS 510
#define MODEL_OVA_LOGISTIC_PREDICT_FLOATS 60
#define MODEL_OVA_LOGISTIC_MAX_BATCH 16
#define MODEL_OVA_LOGISTIC_WORKSPACE 2347 /* bytes, for batches of MAX_BATCH */

#ifdef __cplusplus
extern "C"
#endif
const sotto_model* sotto_model_ova_logistic(void);

#if defined(__cplusplus) && defined(SOTTO_DEFINE_MODELS)
#include "sotto/c_model.h"
#include "sotto/client.h"

namespace model_ova_logistic {

using Net = sotto::nn::Sequential<
    sotto::nn::Dense<50, 10>,
    sotto::nn::OneVsAll>;
constexpr sotto::ModelInfo kModel = sotto::MakeModelInfo<Net>("ova-logistic");

}  // namespace model_ova_logistic

static_assert(model_ova_logistic::Net::kParameters == MODEL_OVA_LOGISTIC_PARAMETERS);
static_assert(sotto::ClientWorkspaceBytes<model_ova_logistic::Net, MODEL_OVA_LOGISTIC_MAX_BATCH>() <=
              MODEL_OVA_LOGISTIC_WORKSPACE);
const sotto_model* sotto_model_ova_logistic(void) {
  static constexpr sotto_model model = {model_ova_logistic::kModel};
  return &model;
}
#endif

#endif /* SOTTO_MODEL_OVA_LOGISTIC_H_ */
