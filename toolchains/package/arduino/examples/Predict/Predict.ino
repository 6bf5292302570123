// Classifies a sample with a model in flash. `sotto model export --format header` writes the header
// of a trained model; this one has made-up parameters, for a net of two features and two classes.
#include <Sotto.h>

#include <sotto/predict.h>

namespace model {
using Net = sotto::nn::Sequential<sotto::nn::Dense<2, 2>>;
constexpr sotto::ModelInfo kModel = sotto::MakePredictionModel<Net>("example");
constexpr float kParameters[] = {1.0f, -1.0f, -1.0f, 1.0f, 0.0f, 0.0f};
}  // namespace model

void setup() {
  Serial.begin(115200);
  while (!Serial) {
  }
}

void loop() {
  static float scratch[sotto::PredictFloats<model::Net>()];
  float outputs[model::Net::kOutputs];
  const float features[] = {analogRead(A0) / 1024.0f, analogRead(A1) / 1024.0f};
  const sotto::Status status =
      sotto::Predict(model::kModel, model::kParameters, features, scratch, outputs);
  if (status == sotto::Status::kOk) {
    Serial.println(static_cast<unsigned>(sotto::PredictedClass(model::kModel, outputs)));
  } else {
    Serial.println(sotto::StatusName(status));
  }
  delay(1000);
}
