// What an experiment costs, computed before it runs. Part of sotto::server/experiment.
//
// Pure functions: safe from any thread.
#pragma once

#include <string>

#include "experiment/definition.h"

namespace sotto::server {

// The multiply-accumulates of the training in all runs, in the paper's size, from the settings of
// the cells with the first data that the definition names. Evaluations, noise and policies are not
// in it. 0: no run trains a net. Negative: it depends on samples that are not here.
double MultiplyAccumulatesOf(const Definition& definition);

// The hours that one core takes for them at a rate that was measured once: 6e9 a second, of rounds
// of LeNet on one thread of an x86-64 processor. An order of magnitude: other nets and machines
// differ by a factor of a few; svhn-cnn had 1.5e10.
double CoreHoursOf(double multiply_accumulates);

// "0.03", "1.4", "9400": with the digits that mean something. "seconds" for less.
std::string CoreHoursText(double hours);

}  // namespace sotto::server
