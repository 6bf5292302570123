// The version of Sotto. Part of sotto/base. A constant.
#ifndef SOTTO_VERSION_H_
#define SOTTO_VERSION_H_

namespace sotto {

constexpr char kVersion[] = "0.1.0";

}  // namespace sotto

#endif  // SOTTO_VERSION_H_
