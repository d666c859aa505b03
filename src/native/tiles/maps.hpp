// Elementwise functions written so that the compiler vectorises a loop over them: no branches, no
// calls, no tables. Internal linkage: each processor level gets its own copy.
#pragma once

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace {

template <class T> struct Bits;
template <> struct Bits<double> {
    using Integer = long long;
    static constexpr int mantissa = 52, bias = 1023;
    static constexpr double rounder = 0x1.8p52;
    static constexpr double lowest = -708.5, highest = 710.0;
    static constexpr double largest = __DBL_MAX__, largest_root = 0x1.fffffffffffffp511;
    static constexpr double ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;
};
template <> struct Bits<float> {
    using Integer = int;
    static constexpr int mantissa = 23, bias = 127;
    static constexpr float rounder = 0x1.8p23f;
    static constexpr float lowest = -87.5f, highest = 89.0f;
    static constexpr float largest = __FLT_MAX__, largest_root = 0x1.fffffep63f;
    static constexpr float ln2_high = 0x1.62e400p-1f, ln2_low = 0x1.7f7d1cp-20f;
};

template <class T> constexpr T infinity = static_cast<T>(__builtin_inf());

// A constant of a program in the precision of the job: finite, so that times zero it is zero.
template <class T> inline T constant(double c) {
    constexpr double most = Bits<T>::largest;
    return static_cast<T>(c > most ? most : c < -most ? -most : c);
}

// (exp(r) - 1 - r) / r^2 for |r| <= ln(2)/2: Chebyshev fits with relative error below rounding.
inline double exp_tail(double r) {
    double p = 0x1.af390ba7e6f47p-26;
    p = p * r + 0x1.2891d4ffbb0f9p-22;
    p = p * r + 0x1.71de0d85293b8p-19;
    p = p * r + 0x1.a019b8ca26fcfp-16;
    p = p * r + 0x1.a01a01a7cebcdp-13;
    p = p * r + 0x1.6c16c1789d1d7p-10;
    p = p * r + 0x1.11111111109a6p-7;
    p = p * r + 0x1.5555555553d37p-5;
    p = p * r + 0x1.5555555555556p-3;
    return p * r + 0.5;
}

template <class V> inline V single_tail(V r) {
    V p = 0x1.6d117cp-10f * r + 0x1.120be2p-7f;
    p = p * r + 0x1.555518p-5f;
    p = p * r + 0x1.5554dcp-3f;
    return p * r + 0.5f;
}
inline float exp_tail(float r) { return single_tail(r); }

// x = k ln 2 + r: the number 2^(k + shift) and exp(r) - 1, shared by exp and tanh.
template <class T> struct Reduced {
    T power;
    T tail;
};

template <int shift, class T> inline Reduced<T> reduce(T x) {
    using B = Bits<T>;
    using I = typename B::Integer;
    constexpr T log2e = static_cast<T>(1.4426950408889634074);
    // Adding `rounder` leaves k, plus the bias of the exponent, in the low bits.
    constexpr T rounder = B::rounder + static_cast<T>(B::bias + shift);
    const T shifted = x * log2e + rounder;
    const T k = shifted - rounder;
    const T r = (x - k * B::ln2_high) - k * B::ln2_low;
    const I bits = __builtin_bit_cast(I, shifted) << B::mantissa;
    return {__builtin_bit_cast(T, bits), r + r * r * exp_tail(r)};
}

// The power is halved and the rest doubled, so that at the lower end it becomes an exact zero and
// at the upper end the product overflows to infinity by itself. NaN passes both comparisons.
template <class T> inline T exponential(T x) {
    using B = Bits<T>;
    x = B::lowest > x ? B::lowest : x;
    x = B::highest < x ? B::highest : x;
    const Reduced<T> part = reduce<-1>(x);
    return (T(2) * part.tail + T(2)) * part.power;
}

// tanh(x) = m / (m + 2) with m = exp(2x) - 1, accurate relative to itself also near zero.
template <class T> inline T hyperbolic_tangent(T x) {
    constexpr T edge = static_cast<T>(20);
    x = -edge > x ? -edge : x;
    x = edge < x ? edge : x;
    const Reduced<T> part = reduce<0>(T(2) * x);
    const T m = part.power * part.tail + (part.power - T(1));
    return m / (m + T(2));
}

// log(1 + u) for u > -1: the rounding error of 1 + u is put back at the end.
template <class T> inline T log_one_plus(T u) {
    using B = Bits<T>;
    using I = typename B::Integer;
    constexpr I half_root = __builtin_bit_cast(I, static_cast<T>(0.70710678118654752));
    const T y = T(1) + u;
    const I bits = __builtin_bit_cast(I, y);
    const I exponent = (bits - half_root) >> B::mantissa;
    const T m = __builtin_bit_cast(T, static_cast<I>(bits - (exponent << B::mantissa)));
    const T f = m - T(1);
    const T s = f / (T(2) + f);
    const T z = s * s;
    T p = static_cast<T>(2.0 / 23);
    p = p * z + static_cast<T>(2.0 / 21);
    p = p * z + static_cast<T>(2.0 / 19);
    p = p * z + static_cast<T>(2.0 / 17);
    p = p * z + static_cast<T>(2.0 / 15);
    p = p * z + static_cast<T>(2.0 / 13);
    p = p * z + static_cast<T>(2.0 / 11);
    p = p * z + static_cast<T>(2.0 / 9);
    p = p * z + static_cast<T>(2.0 / 7);
    p = p * z + static_cast<T>(2.0 / 5);
    p = p * z + static_cast<T>(2.0 / 3);
    const T k = static_cast<T>(exponent);
    const T lost = (u - (y - T(1))) / y;
    const T result = k * B::ln2_high + ((T(2) * s + s * z * p) + (k * B::ln2_low + lost));
    return u >= infinity<T> ? u : result;
}

// The root of an overflow is that of the largest number: what decays with it then vanishes, where
// infinity times zero would be none. NaN passes.
template <class T> inline T square_root(T x) {
    T root;
    if constexpr (sizeof(T) == 8)
        root = __builtin_sqrt(x);
    else
        root = __builtin_sqrtf(x);
    return Bits<T>::largest_root < root ? Bits<T>::largest_root : root;
}

// 1 / sqrt(x), and zero at zero. NaN passes.
template <class T> inline T reciprocal_root(T x) {
    T root;
    if constexpr (sizeof(T) == 8)
        root = __builtin_sqrt(x);
    else
        root = __builtin_sqrtf(x);
    return x == T(0) ? T(0) : T(1) / root;
}

// What becomes of the values of a function, one or a vector of them from place k on: they are kept
// as they are, or added to others, which like all slots begin where a vector may.
struct Itself {
    template <class V> V operator()(long long, V value) const { return value; }
};
template <class T> struct Added {
    const T* others;
    T c, d;

    template <class V> V operator()(long long k, V value) const {
        return c * value + d * *reinterpret_cast<const V*>(others + k);
    }
};

// out = finish(exp(a x + b)) for n entries.
template <class T, class Finish>
inline void exponentials(const T* x, T a, T b, T* out, long long n, const Finish& finish) {
    for (long long k = 0; k < n; ++k) out[k] = finish(k, exponential(a * x[k] + b));
}

// out = finish(sqrt(a x + b)) for n entries.
template <class T, class Finish>
inline void square_roots(const T* x, T a, T b, T* out, long long n, const Finish& finish) {
    for (long long k = 0; k < n; ++k) out[k] = finish(k, square_root(a * x[k] + b));
}

#if defined(__AVX512F__)
// NaN, zeros, infinities, subnormal and negative numbers: all classes that the processor tells.
constexpr int any_class = 0xff;

// The processor's estimate of 1/sqrt(v), the series of (1 - e)^(-1/2) in its error and a step of
// Newton's method take less time than its square root. To that is left what is not positive, finite
// and normal.
template <class Finish>
inline void square_roots(const double* x, double a, double b, double* out, long long n,
                         const Finish& finish) {
    long long k = 0;
    for (; k + 8 <= n; k += 8) {
        const __m512d v = _mm512_set1_pd(a) * _mm512_loadu_pd(x + k) + _mm512_set1_pd(b);
        __m512d root;
        if (_mm512_fpclass_pd_mask(v, any_class) == 0) {
            const __m512d r = _mm512_maskz_rsqrt14_pd(0xff, v);
            const __m512d rough = v * r;
            const __m512d e = 1.0 - rough * r;
            root = rough + rough * (e * (0.5 + 0.375 * e));
            root += 0.5 * r * (v - root * root);
        } else {
            const __m512d most = _mm512_set1_pd(Bits<double>::largest_root);
            root = _mm512_maskz_min_pd(0xff, most, _mm512_maskz_sqrt_pd(0xff, v));
        }
        _mm512_storeu_pd(out + k, finish(k, root));
    }
    for (; k < n; ++k) out[k] = finish(k, square_root(a * x[k] + b));
}

// 2^(j/16), j < 16: in two registers, from which an index picks eight at once.
alignas(64) constexpr double sixteenths[16] = {
    0x1.0000000000000p+0, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0, 0x1.2387a6e756238p+0,
    0x1.306fe0a31b715p+0, 0x1.3dea64c123422p+0, 0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0,
    0x1.6a09e667f3bcdp+0, 0x1.7a11473eb0187p+0, 0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f090p+0,
    0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0, 0x1.ea4afa2a490dap+0};

// x = k ln(2)/16 + r: with |r| <= ln(2)/32 a short series serves, and the processor multiplies by
// 2^(k/16) rounded down, which over- and underflows as it should. NaN passes both limits.
template <class Finish>
inline void exponentials(const double* x, double a, double b, double* out, long long n,
                         const Finish& finish) {
    const __m512d low = _mm512_load_pd(sixteenths), high = _mm512_load_pd(sixteenths + 8);
    const __m512d rounder = _mm512_set1_pd(0x1.8p48);
    long long k = 0;
    for (; k + 8 <= n; k += 8) {
        __m512d v = _mm512_set1_pd(a) * _mm512_loadu_pd(x + k) + _mm512_set1_pd(b);
        v = _mm512_maskz_max_pd(0xff, _mm512_set1_pd(-746.0), v);
        v = _mm512_maskz_min_pd(0xff, _mm512_set1_pd(710.0), v);
        const __m512d shifted = v * 0x1.71547652b82fep+0 + rounder;
        const __m512d steps = shifted - rounder;
        const __m512d r = (v - steps * 0x1.62e42fefa0000p-1) - steps * 0x1.cf79abc9e3b3ap-40;
        __m512d q = _mm512_set1_pd(0x1.6c17bb51f236dp-10);
        q = q * r + 0x1.11120af701debp-7;
        q = q * r + 0x1.55555555194d2p-5;
        q = q * r + 0x1.55555554dd44dp-3;
        q = q * r + 0x1.0000000000000p-1;
        const __m512d part = _mm512_permutex2var_pd(low, _mm512_castpd_si512(shifted), high);
        const __m512d power = part + part * (r + r * r * q);
        _mm512_storeu_pd(out + k, finish(k, _mm512_maskz_scalef_pd(0xff, power, steps)));
    }
    for (; k < n; ++k) out[k] = finish(k, exponential(a * x[k] + b));
}

// The same with k ln(2) in one step: a float needs no table.
template <class Finish>
inline void exponentials(const float* x, float a, float b, float* out, long long n,
                         const Finish& finish) {
    const __m512 rounder = _mm512_set1_ps(Bits<float>::rounder);
    long long k = 0;
    for (; k + 16 <= n; k += 16) {
        __m512 v = _mm512_set1_ps(a) * _mm512_loadu_ps(x + k) + _mm512_set1_ps(b);
        v = _mm512_maskz_max_ps(0xffff, _mm512_set1_ps(-104.0f), v);
        v = _mm512_maskz_min_ps(0xffff, _mm512_set1_ps(89.0f), v);
        const __m512 steps = (v * 0x1.715476p+0f + rounder) - rounder;
        const __m512 r = (v - steps * Bits<float>::ln2_high) - steps * Bits<float>::ln2_low;
        const __m512 power = 1.0f + (r + r * r * single_tail(r));
        _mm512_storeu_ps(out + k, finish(k, _mm512_maskz_scalef_ps(0xffff, power, steps)));
    }
    for (; k < n; ++k) out[k] = finish(k, exponential(a * x[k] + b));
}
#endif

}  // namespace
