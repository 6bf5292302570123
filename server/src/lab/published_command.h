// `sotto-lab published`: what papers print beside the sound figures. Part of sotto::server/lab.
//
//   Gau-LRQ, DP-Fed-LS       for the rounds that the options of every question describe; Gau-LRQ
//                            also needs --cohort
//   Noisy-FedAvg and -FedProx  for the training that options of their own describe
#ifndef SOTTO_LAB_PUBLISHED_COMMAND_H_
#define SOTTO_LAB_PUBLISHED_COMMAND_H_

#include "sotto/options/command.h"

namespace sotto::server {

posix::Command PublishedCommand();

}  // namespace sotto::server

#endif  // SOTTO_LAB_PUBLISHED_COMMAND_H_
