// A threshold for prediction errors: samples with a larger error are anomalies. Part of
// sotto::server/evaluation.
//
// Errors are what PredictionError() gives (sotto/predict.h), and a threshold is always one of the
// errors that it was found from, or just below the smallest one: so a board that compares the same
// two float32 numbers decides as the functions here do.
//
// Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <vector>

namespace sotto::server {

// The errors of samples whose kind is known.
struct KnownErrors {
  std::vector<float> normal;
  std::vector<float> anomalous;
};

// What a threshold does to such samples.
struct Detection {
  uint64_t alarms = 0;       // samples whose error is above the threshold
  uint64_t true_alarms = 0;  // of them, anomalies
  uint64_t anomalies = 0;    // all of them, detected or not

  double precision() const;  // anomalies among the alarms, in [0, 1]; 0 without an alarm
  double recall() const;     // alarms among the anomalies, in [0, 1]; 0 without an anomaly
  double f1() const;         // 2 true_alarms / (alarms + anomalies); 0 if both are 0
};

Detection Detect(const KnownErrors& errors, float threshold);

// The smallest error that at least the share q of all errors do not exceed.
//   errors  finite, at least one
//   q       in (0, 1]
float ErrorQuantile(std::vector<float> errors, double q);

// The threshold whose Detection has the largest f1(); of equal ones the highest.
//   errors  finite; at least one of each kind
float BestThreshold(const KnownErrors& errors);

// The probability that an anomaly has a larger error than a normal sample, where equal errors count
// half: the area under the ROC curve.
//   errors  finite; at least one of each kind
double AreaUnderCurve(const KnownErrors& errors);

}  // namespace sotto::server
