// The processor level that a name stands for.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "tiles/schedule.hpp"

namespace mercer {

// The level of the tiles, the best that there is for an empty name.
inline const Level& level_named(const std::string& name) {
    const Level* level = choose_level(name.c_str());
    if (!level)
        throw nanobind::value_error(
            ("this processor or build has no level '" + name + "'").c_str());
    return *level;
}

// The same of routines that are compiled once for every level.
template <class T>
const T& level_named(const std::string& name, const T& v2, const T& v3, const T& v4) {
    const char number = level_named(name).name[1];
    return number == '4' ? v4 : number == '3' ? v3 : v2;
}

}  // namespace mercer
