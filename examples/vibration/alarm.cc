// The watch on a motor: a trained autoencoder and its threshold in flash; windows of the sensor
// come in, and when most of a day's windows are unlike a sound motor's, the board raises the
// alarm. It cannot train, and has neither a heap nor a network.
//
// motor.h has the motor. Its bearing wears from day 20 on: twice as much each six days, until the
// motor must stop. Messages go to QEMU's standard error. Exit status: 0 the alarm came before the
// motor stopped, 1 it came too late, 2 it came while the bearing was sound. Part of
// examples/vibration.
#include SOTTO_TRAINED_MODEL

#include "motor.h"
#include "sotto/emulated/semihosting.h"
#include "sotto/predict.h"

namespace {

using sotto::emulated::Print;
using SOTTO_MODEL::kModel;
using SOTTO_MODEL::kParameters;
using SOTTO_MODEL::kThreshold;
using SOTTO_MODEL::Net;
using vibration::kAxes;

constexpr uint32_t kFirstWear = 20;         // day
constexpr float kWearAtFirst = 1.0f / 64;   // then
constexpr float kWearInADay = 1.12246205f;  // 2^(1/6)
constexpr uint32_t kWindows = 16;           // that the board looks at each day
static_assert(Net::kInputs % kAxes == 0, "a window of the motor's three axes");

float window[Net::kInputs];
float scratch[sotto::PredictFloats<Net>()];
float outputs[Net::kOutputs];

bool IsUnlikeSoundMotors(vibration::Motor* motor) {
  for (uint32_t i = 0; i < Net::kInputs; i += kAxes) {
    const vibration::Reading reading = motor->Read();
    for (uint32_t axis = 0; axis < kAxes; ++axis) window[i + axis] = reading.g[axis];
  }
  float error = 0.0f;
  const sotto::Status status =
      sotto::PredictionError(kModel, kParameters, window, {}, scratch, outputs, &error);
  return status != sotto::Status::kOk || error > kThreshold;
}

// Whether most of a day's windows are unlike a sound motor's.
bool IsAlarm(vibration::Motor* motor) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < kWindows; ++i) count += IsUnlikeSoundMotors(motor) ? 1 : 0;
  return 2 * count > kWindows;
}

}  // namespace

int main(int, char**) {
  vibration::Motor motor(SOTTO_MACHINE);
  float wear = 0.0f;
  for (uint32_t day = 0; wear < 1.0f; ++day) {
    wear = day == kFirstWear ? kWearAtFirst : wear * kWearInADay;
    motor.Wear(wear);
    if (!IsAlarm(&motor)) continue;
    Print("day ");
    Print(day);
    Print(": alarm; the bearing is worn to ");
    Print(static_cast<uint32_t>(wear * 100.0f));
    Print(" of 100\n");
    return wear > 0.0f ? 0 : 2;
  }
  Print("no alarm\n");
  return 1;
}
