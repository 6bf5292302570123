// The version of Sotto. Part of sotto/base. A constant.
#pragma once

namespace sotto {

// By semver.org; "-dev" before the release. The only place: CMake reads this line, programs and
// results print the constant. To release, take "-dev" away here and "(unreleased)" in CHANGELOG.md.
constexpr char kVersion[] = "0.2.0-dev";

}  // namespace sotto
