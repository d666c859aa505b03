// Loops along rows and columns of the band reduction, compiled once for each processor level.
#include "reduction/band.hpp"
#include "tiles/panels.hpp"

namespace {

using namespace mercer;
using Vector = Simd<double>::vector;

constexpr Index lanes = Simd<double>::lanes;
// Vectors of right-hand sides: as many as leave registers for the sums of a group.
constexpr Index vectors = vector_bytes == 64 ? 4 : 2;
constexpr Index together = vectors * lanes;

template <bool keep>
void run_sweep(const double* packed, Index groups, const double* q, double* window, double* sums,
               double* out) {
    double* z = window + band_width * together;
    Vector total[vectors];
    for (Index v = 0; v < vectors; ++v) total[v] = at(sums + v * lanes);
    for (Index g = 0; g < groups; ++g) {
        Vector sum[sweep_group][vectors];
        for (Index i = 0; i < sweep_group; ++i)
            for (Index v = 0; v < vectors; ++v) sum[i][v] = at(q + i * together + v * lanes);
        for (Index t = 0; t < band_width; ++t) {
            const double* before = z + (t - band_width) * together;
            for (Index i = 0; i < sweep_group; ++i)
                for (Index v = 0; v < vectors; ++v)
                    sum[i][v] -= packed[t * sweep_group + i] * at(before + v * lanes);
        }
        const double* triangle = packed + sweep_group * band_width;
        const double* pivots = triangle + triangle_entries;
        for (Index i = 1; i < sweep_group; ++i)
            for (Index j = 0; j < i; ++j)
                for (Index v = 0; v < vectors; ++v)
                    sum[i][v] -= triangle[i * (i - 1) / 2 + j] * sum[j][v];
        for (Index i = 0; i < sweep_group; ++i) {
            const double root = keep ? __builtin_sqrt(pivots[i]) : 0.0;
            for (Index v = 0; v < vectors; ++v) {
                at(z + i * together + v * lanes) = sum[i][v];
                total[v] += pivots[i] * (sum[i][v] * sum[i][v]);
                if (keep) at(out + i * together + v * lanes) = root * sum[i][v];
            }
        }
        packed += packed_group;
        q += sweep_group * together;
        z += sweep_group * together;
        if (keep) out += sweep_group * together;
    }
    for (Index v = 0; v < vectors; ++v) at(sums + v * lanes) = total[v];
    // Fewer groups than the band is wide: old and new entries overlap, in this order harmlessly.
    const double* last = z - band_width * together;
    for (Index i = 0; i < band_width * together; i += lanes) at(window + i) = at(last + i);
}

void sweep(const double* packed, Index groups, const double* q, double* window, double* sums,
           double* z) {
    z ? run_sweep<true>(packed, groups, q, window, sums, z)
      : run_sweep<false>(packed, groups, q, window, sums, z);
}

// Columns of the panel that a reflector meets in one pass.
constexpr Index columns_at_once = 4;

typedef double Loose __attribute__((vector_size(vector_bytes), aligned(8)));
inline Loose& loose(double* p) { return *reinterpret_cast<Loose*>(p); }

// c -= tau (v'c) v for `count` columns, v and c of length n.
template <Index count>
void reflect(double* v, Index n, double tau, double* c, Index stride) {
    Vector sum[count] = {};
    double w[count];
    Index i = 0;
    for (; i + lanes <= n; i += lanes)
        for (Index k = 0; k < count; ++k) sum[k] += loose(v + i) * loose(c + k * stride + i);
    for (Index k = 0; k < count; ++k) {
        w[k] = 0.0;
        for (Index l = 0; l < lanes; ++l) w[k] += sum[k][l];
        for (Index j = i; j < n; ++j) w[k] += v[j] * c[k * stride + j];
        w[k] *= tau;
    }
    for (i = 0; i + lanes <= n; i += lanes)
        for (Index k = 0; k < count; ++k) loose(c + k * stride + i) -= w[k] * loose(v + i);
    for (; i < n; ++i)
        for (Index k = 0; k < count; ++k) c[k * stride + i] -= w[k] * v[i];
}

double squares(double* v, Index n) {
    Vector sum[4] = {};
    Index i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes)
        for (Index k = 0; k < 4; ++k) sum[k] += loose(v + i + k * lanes) * loose(v + i + k * lanes);
    sum[0] += sum[1] + (sum[2] + sum[3]);
    double total = 0.0;
    for (Index l = 0; l < lanes; ++l) total += sum[0][l];
    for (; i < n; ++i) total += v[i] * v[i];
    return total;
}

void panel_qr(double* a, Index stride, Index rows, Index columns, double* tau) {
    for (Index j = 0; j < columns; ++j) {
        tau[j] = 0.0;
        if (j + 1 >= rows) continue;
        double* v = a + j * stride + j;
        const Index n = rows - j;
        const double below = squares(v + 1, n - 1);
        if (below == 0.0) continue;
        const double norm = __builtin_sqrt(v[0] * v[0] + below);
        const double r = v[0] > 0.0 ? -norm : norm;
        tau[j] = (r - v[0]) / r;
        const double scale = 1.0 / (v[0] - r);
        for (Index i = 1; i < n; ++i) v[i] *= scale;
        v[0] = 1.0;
        Index k = j + 1;
        for (; k + columns_at_once <= columns; k += columns_at_once)
            reflect<columns_at_once>(v, n, tau[j], a + k * stride + j, stride);
        for (; k < columns; ++k) reflect<1>(v, n, tau[j], a + k * stride + j, stride);
        v[0] = r;
    }
}

}  // namespace

namespace mercer {
extern const BandLevel MERCER_AT_LEVEL(band);
const BandLevel MERCER_AT_LEVEL(band) = {together, sweep, panel_qr};
}  // namespace mercer
