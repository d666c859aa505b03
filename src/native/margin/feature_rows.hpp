// Rows of dense features, in float or double, met with weights in double.
#pragma once

#include "memory.hpp"

namespace mercer {

// The routines of one processor level; `single` tells whether the row is float or double.
struct FeatureLevel {
    // sum_k row[k] w[k].
    double (*dot)(const void* row, const double* w, Index count, bool single);
    // w[k] += t row[k].
    void (*add)(const void* row, double t, double* w, Index count, bool single);
};

}  // namespace mercer
