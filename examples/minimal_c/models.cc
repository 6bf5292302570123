// The one C++ file of the firmware: it defines the models that the files in C name.
#define SOTTO_DEFINE_MODELS
#include "model_softmax_64_10.h"
