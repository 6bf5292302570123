// A firmware that predicts and does nothing else, to be measured; table.sh builds it. SOTTO_NET is
// the net's type, SOTTO_NUMBER the type of its parameters.
#include "sotto/predict.h"

#include "sotto/models.h"

namespace {

using Net = SOTTO_NET;
constexpr sotto::ModelInfo kModel = sotto::MakePredictionModel<Net>("net");

// Made up: what a parameter is does not change what is measured.
const SOTTO_NUMBER kParameters[Net::kParameters] = {1};
float features[Net::kInputs];
float scratch[sotto::PredictFloats<Net>()];
float outputs[Net::kOutputs];

}  // namespace

int main(int, char**) {
  const sotto::Status status = sotto::Predict(kModel, kParameters, features, scratch, outputs);
  return status == sotto::Status::kOk ? static_cast<int>(sotto::PredictedClass(kModel, outputs))
                                      : -1;
}
