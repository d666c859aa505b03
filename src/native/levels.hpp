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

// The tables that `MERCER_AT_LEVEL(what)` is in the files of every level, and which a name means.
#if defined(MERCER_X86_LEVELS)
#define MERCER_LEVELS(Table, what)                                      \
    namespace mercer {                                                  \
    extern const Table what##_v2, what##_v3, what##_v4;                 \
    inline const Table& what##_level(const std::string& name) {         \
        return level_named(name, what##_v2, what##_v3, what##_v4);      \
    }                                                                   \
    }
#else
#define MERCER_LEVELS(Table, what)                                      \
    namespace mercer {                                                  \
    extern const Table what##_plain;                                    \
    inline const Table& what##_level(const std::string& name) {         \
        return level_named(name), what##_plain;                         \
    }                                                                   \
    }
#endif
