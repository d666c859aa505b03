#include "reduction/reduction.hpp"

#include <algorithm>

namespace {

using namespace mercer;

// Reflectors that are gathered before they are applied to the rest of the matrix.
constexpr int gathered = 4 * band_width;

enum Side : char { plain = 'N', transposed = 'T' };

// C = factor A B + beta C, with C of shape (m, n) and k in between.
void multiply(const Blas& blas, Side a, Side b, int m, int n, int k, double factor, View A, View B,
              double beta, View C) {
    const char ta = a, tb = b;
    if (m > 0 && n > 0 && k > 0)
        blas.dgemm(&ta, &tb, &m, &n, &k, &factor, A.data, &A.stride, B.data, &B.stride, &beta,
                   C.data, &C.stride);
}

// Y = A V for the symmetric A of which the lower triangle is stored, by halves: most of it becomes
// two products with the same rectangle.
void symmetric_product(const Blas& blas, View A, int n, int columns, View V, View Y) {
    constexpr int smallest = 256;
    if (n <= smallest) {
        const char side = 'L', lower = 'L';
        const double one = 1.0, zero = 0.0;
        blas.dsymm(&side, &lower, &n, &columns, &one, A.data, &A.stride, V.data, &V.stride, &zero,
                   Y.data, &Y.stride);
        return;
    }
    const int h = (n / 2 + 15) / 16 * 16;
    symmetric_product(blas, A, h, columns, V, Y);
    symmetric_product(blas, A.at(h, h), n - h, columns, V.at(h, 0), Y.at(h, 0));
    multiply(blas, plain, plain, n - h, columns, h, 1.0, A.at(h, 0), V, 1.0, Y.at(h, 0));
    multiply(blas, transposed, plain, h, columns, n - h, 1.0, A.at(h, 0), V.at(h, 0), 1.0, Y);
}

// The upper triangular factor S of the product of reflectors I - V S V', from G = V'V.
void triangular_factor(View G, const double* tau, int count, View S) {
    for (int i = 0; i < count; ++i) {
        double* s = S.column(i);
        std::fill(s, s + count, 0.0);
        for (int p = 0; p < i; ++p) {
            const double g = -tau[i] * G.column(i)[p];
            const double* before = S.column(p);
            for (int r = 0; r <= p; ++r) s[r] += before[r] * g;
        }
        s[i] = tau[i];
    }
}

// Copy reflectors out from under the band: ones on the diagonal, zeros above it.
void copy_reflectors(View A, int rows, int count, View V) {
    for (int q = 0; q < count; ++q) {
        double* v = V.column(q);
        std::fill(v, v + std::min(q, rows), 0.0);
        if (q >= rows) continue;
        v[q] = 1.0;
        std::copy(A.column(q) + q + 1, A.column(q) + rows, v + q + 1);
    }
}

struct Columns {
    Memory<double> data;
    int stride;

    Columns(Index rows, Index columns)
        : data(aligned<double>(rows * columns)), stride(static_cast<int>(rows)) {}
    View view() const { return {data.get(), stride}; }
};

// The reflectors of some columns, gathered: I - V S V'.
struct Reflectors {
    Columns vectors, factor, gram;

    explicit Reflectors(int n) : vectors(n, gathered), factor(gathered, gathered),
                                 gram(gathered, gathered) {}

    void load(const Blas& blas, View A, int rows, int count, const double* tau) {
        const View V = vectors.view(), G = gram.view();
        copy_reflectors(A, rows, count, V);
        multiply(blas, transposed, plain, count, count, rows, 1.0, V, V, 0.0, G);
        triangular_factor(G, tau, count, factor.view());
    }
};

}  // namespace

namespace mercer {

// The two-sided reflection of A by I - V S V' is A - V W' - W V' with W = X - V S'V'X / 2, X = A V S.
// The V and W of several panels are gathered, so that A is read once for each panel, and written
// once for each gathering, in products that run at the speed of the processor.
bool reduce(const Blas& blas, const BandLevel& level, View A, int n, double* tau,
            Interrupt interrupt) {
    constexpr int b = band_width;
    const Columns gathered_V(n, gathered), gathered_W(n, gathered), product(n, b);
    const Columns small(b, b), factor(b, b), inner(gathered, b);
    const View V = gathered_V.view(), W = gathered_W.view(), X = product.view();
    const View G = small.view(), S = factor.view(), M = inner.view();
    for (int start = 0; start < n; start += gathered) {
        if (interrupt.wanted(interrupt.context)) return false;
        int k = 0;  // reflectors gathered so far
        for (int c = start; c < std::min(start + gathered, n); c += b, k += b) {
            const int here = std::min(b, n - c), rows = n - c - b;
            // Rows of V and W are numbered like those of A.
            multiply(blas, plain, transposed, n - c, here, k, -1.0, V.at(c, 0), W.at(c, 0), 1.0,
                     A.at(c, c));
            multiply(blas, plain, transposed, n - c, here, k, -1.0, W.at(c, 0), V.at(c, 0), 1.0,
                     A.at(c, c));
            if (rows <= 0) return true;
            const int r = c + b;
            level.panel_qr(A.at(r, c).data, A.stride, rows, b, tau + c);
            const View v = V.at(r, k), w = W.at(r, k);
            copy_reflectors(A.at(r, c), rows, b, v);
            for (int q = 0; q < b; ++q) {
                std::fill(V.at(start, k + q).data, V.at(r, k + q).data, 0.0);
                std::fill(W.at(start, k + q).data, W.at(r, k + q).data, 0.0);
            }
            symmetric_product(blas, A.at(r, r), rows, b, v, X);
            // A as it stands lacks the reflections gathered so far.
            multiply(blas, transposed, plain, k, b, rows, 1.0, W.at(r, 0), v, 0.0, M);
            multiply(blas, plain, plain, rows, b, k, -1.0, V.at(r, 0), M, 1.0, X);
            multiply(blas, transposed, plain, k, b, rows, 1.0, V.at(r, 0), v, 0.0, M);
            multiply(blas, plain, plain, rows, b, k, -1.0, W.at(r, 0), M, 1.0, X);

            multiply(blas, transposed, plain, b, b, rows, 1.0, v, v, 0.0, G);
            triangular_factor(G, tau + c, b, S);
            multiply(blas, plain, plain, rows, b, b, 1.0, X, S, 0.0, w);
            multiply(blas, transposed, plain, b, b, rows, 1.0, v, w, 0.0, G);
            multiply(blas, transposed, plain, b, b, b, -0.5, S, G, 0.0, M);
            multiply(blas, plain, plain, rows, b, b, 1.0, v, M, 1.0, w);
        }
        const int r = start + gathered, rows = n - r;
        if (rows <= 0) return true;
        const char lower = 'L', none = 'N';
        const double minus = -1.0, one = 1.0;
        blas.dsyr2k(&lower, &none, &rows, &k, &minus, V.at(r, 0).data, &V.stride, W.at(r, 0).data,
                    &W.stride, &one, A.at(r, r).data, &A.stride);
    }
    return true;
}

bool apply(const Blas& blas, View A, int n, const double* tau, View C, int columns, bool forward,
           bool growing, Interrupt interrupt) {
    Reflectors block(n);
    const Columns first(columns, gathered), second(columns, gathered);
    const View V = block.vectors.view(), S = block.factor.view();
    const int steps = std::max(0, (n - static_cast<int>(band_width) + gathered - 1) / gathered);
    for (int i = 0; i < steps; ++i) {
        if (interrupt.wanted(interrupt.context)) return false;
        const int start = (forward ? i : steps - 1 - i) * gathered;
        const int r = start + static_cast<int>(band_width), rows = n - r;
        const int count = std::min(gathered, rows);
        block.load(blas, A.at(r, start), rows, count, tau + start);
        const View part = C.at(r, growing ? r : 0);
        const int width = growing ? columns - r : columns;
        // C'V rather than V'C: the BLAS is faster where the long side comes first.
        multiply(blas, transposed, plain, width, count, rows, 1.0, part, V, 0.0, first.view());
        multiply(blas, plain, forward ? plain : transposed, width, count, count, 1.0, first.view(),
                 S, 0.0, second.view());
        multiply(blas, plain, transposed, rows, width, count, -1.0, V, second.view(), 1.0, part);
    }
    return true;
}

}  // namespace mercer
