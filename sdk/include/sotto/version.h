// The version of Sotto. Part of sotto/base. A constant.
#pragma once

namespace sotto {

// By semver.org; "-dev" before the release. The only place: CMake reads this line, programs and
// results print the constant. toolchains/release/release.sh writes it, and the pages that show it.
constexpr char kVersion[] = "0.2.1-dev";

}  // namespace sotto
