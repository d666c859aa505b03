// Inner products and multiples of rows of features, compiled once for each processor level.
#include "margin/feature_rows.hpp"

#include "tiles/panels.hpp"

namespace {

using namespace mercer;
using Vector = Simd<double>::vector;

constexpr Index lanes = Simd<double>::lanes;
// Sums that run side by side, so that none waits for the last.
constexpr int chains = 4;

// Entries as doubles, from any address.
template <class T> inline Vector wide(const T* p) {
    typedef T Part __attribute__((vector_size(lanes * sizeof(T)), aligned(sizeof(T))));
    return __builtin_convertvector(*reinterpret_cast<const Part*>(p), Vector);
}

// Doubles at any address.
typedef double Loose __attribute__((vector_size(vector_bytes), aligned(sizeof(double))));

template <class T> double dot(const T* row, const double* w, Index count) {
    Vector sum[chains] = {};
    Index k = 0;
    for (; k + chains * lanes <= count; k += chains * lanes)
        for (int c = 0; c < chains; ++c)
            sum[c] += wide(row + k + c * lanes) * wide(w + k + c * lanes);
    double total = 0.0;
    for (; k < count; ++k) total += static_cast<double>(row[k]) * w[k];
    const Vector all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    for (Index l = 0; l < lanes; ++l) total += all[l];
    return total;
}

template <class T> void add(const T* row, double t, double* w, Index count) {
    Index k = 0;
    for (; k + lanes <= count; k += lanes) *reinterpret_cast<Loose*>(w + k) += t * wide(row + k);
    for (; k < count; ++k) w[k] += t * static_cast<double>(row[k]);
}

double run_dot(const void* row, const double* w, Index count, bool single) {
    return single ? dot(static_cast<const float*>(row), w, count)
                  : dot(static_cast<const double*>(row), w, count);
}
void run_add(const void* row, double t, double* w, Index count, bool single) {
    single ? add(static_cast<const float*>(row), t, w, count)
           : add(static_cast<const double*>(row), t, w, count);
}

}  // namespace

namespace mercer {
extern const FeatureLevel MERCER_AT_LEVEL(features);
const FeatureLevel MERCER_AT_LEVEL(features) = {run_dot, run_add};
}  // namespace mercer
