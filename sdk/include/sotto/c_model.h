// What a sotto_model of sotto_c.h is. Part of sotto/c. For the headers that `sotto model show --c`
// writes; a program in C++ needs none of it.
#pragma once

#include "sotto/model_info.h"
#include "sotto_c.h"

struct sotto_model : sotto::ModelInfo {};
