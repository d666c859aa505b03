// Gram matrices of sequences on all threads: common subsequences, products of counts, and counting.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "levels.hpp"
#include "module.hpp"
#include "gil.hpp"
#include "sequences/all_pairs.hpp"
#include "sequences/ordered.hpp"
#include "sequences/sequences.hpp"
#include "sequences/numbering.hpp"

namespace nb = nanobind;

MERCER_LEVELS(SequenceLevel, sequences)

namespace {

using namespace mercer;

template <class T> using Table = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Cells of a task, which take some milliseconds: nobody asks for interrupts in between.
constexpr Index cells_per_task = Index{1} << 20;

// The value of the kernel from the sums of every length: sum_p weights[p - 1] decay^(2 (p - 1)).
struct Weights {
    std::vector<double> factors;
    bool shorter = false;

    Weights(const List<const double>& weights, double decay) : factors(weights.shape(0)) {
        for (std::size_t p = 0; p < factors.size(); ++p) {
            factors[p] = weights.data()[p] * std::pow(decay, 2.0 * static_cast<double>(p));
            shorter = shorter || (p + 1 < factors.size() && weights.data()[p] != 0.0);
        }
    }
    int longest() const { return static_cast<int>(factors.size()); }
    double value(const double* sums, Index lanes, Index r) const {
        double total = 0.0;
        for (std::size_t p = 0; p < factors.size(); ++p)
            if (factors[p] != 0.0) total += factors[p] * sums[static_cast<Index>(p) * lanes + r];
        return total;
    }
};

// Scratch memory of a thread, cut into what one alignment needs.
struct Workspace {
    Index t, s, sums, bytes;

    Workspace(const SequenceLevel& level, Index t_length, Index s_length, int longest)
        : t(rounded(level.align_scratch(t_length, longest))),
          s(t + rounded(t_length * level.lanes)),
          sums(s + rounded(s_length * level.lanes)),
          bytes(8 * (sums + rounded(longest * level.lanes))) {}
    static Index rounded(Index doubles) { return (doubles + 7) / 8 * 8; }
};

// Align s with several t, some rows of the table at a time, as long as nobody wants to stop.
void align(const SequenceLevel& level, Alignment job, double* scratch, double* sums,
           const GoOn& go_on) {
    const Index rows = std::max<Index>(1, cells_per_task / std::max<Index>(1, job.t_length));
    const Index length = job.s_length, step = job.own ? level.lanes : 1;
    Index begin = 0;
    do {
        job.s_length = std::min(rows, length - begin);
        level.align(job, scratch, sums);
        job.s += job.s_length * step;
        job.resumed = true;
        begin += rows;
    } while (begin < length && go_on());
}

void subsequences(List<const long long> left, List<const long long> left_starts,
                  List<const long long> right, List<const long long> right_starts,
                  List<const double> lengths, double decay, Writable out, bool symmetric,
                  int threads, const std::string& cpu) {
    const SequenceLevel& level = sequences_level(cpu);
    const Index lanes = level.lanes;
    const Sequences S(left, left_starts), T(right, right_starts);
    const Weights weights(lengths, decay);
    const Workspace space(level, T.longest(), 0, weights.longest());
    const auto group = [&](Index first, void* memory, const GoOn& go_on) {
        double* scratch = static_cast<double*>(memory);
        auto* t = reinterpret_cast<long long*>(scratch + space.t);
        double* sums = scratch + space.sums;
        const Index t_length = T.pack(first, lanes, right_end, t);
        return [=, &S, &level, &weights, &go_on](Index row) -> const double* {
            if (std::min(S.length(row), t_length) < 1) return nullptr;
            align(level,
                  {S.begin(row), S.length(row), false, t, t_length, weights.longest(),
                   weights.shorter, decay, false},
                  scratch, sums, go_on);
            return sums;
        };
    };
    all_pairs({S, T, lanes, cells_per_task, space.bytes, out, symmetric, threads}, group, weights);
}

void subsequence_diagonal(List<const long long> symbols, List<const long long> starts,
                          List<const double> lengths, double decay, List<double> out, int threads,
                          const std::string& cpu) {
    const SequenceLevel& level = sequences_level(cpu);
    const Index lanes = level.lanes;
    const Sequences S(symbols, starts);
    require(have_size(S.size(), out), "there must be a result for every sequence");
    const Weights weights(lengths, decay);
    const Workspace space(level, S.longest(), S.longest(), weights.longest());
    const auto task = [&](Index i, void* memory, const GoOn& go_on) {
        const Index first = i * lanes;
        double* scratch = static_cast<double*>(memory);
        auto* t = reinterpret_cast<long long*>(scratch + space.t);
        auto* s = reinterpret_cast<long long*>(scratch + space.s);
        double* sums = scratch + space.sums;
        const Index n = S.pack(first, lanes, right_end, t);
        S.pack(first, lanes, left_end, s);
        align(level, {s, n, true, t, n, weights.longest(), weights.shorter, decay, false}, scratch,
              sums, go_on);
        for (Index r = 0; r < std::min(lanes, S.size() - first); ++r)
            out.data()[S.order[first + r]] = weights.value(sums, lanes, r);
    };
    const Index groups = (S.size() + lanes - 1) / lanes;
    without_gil([&] { return run_tasks(groups, threads, space.bytes, signals(), task); });
}

// Put the counts of `wide` rows side by side in pairs, those of absent rows zero.
void pack_counts(const short* rows, Index wide, Index width, short* packed) {
    std::fill(packed, packed + width * count_columns, short{0});
    for (Index j = 0; j < wide; ++j, rows += width)
        for (Index q = 0; q < width; q += 2)
            std::copy(rows + q, rows + q + 2, packed + q * count_columns + 2 * j);
}

// Swap rows and columns of a square tile, a few at a time, so that both stay in the first cache.
void turn(const int* sums, int* turned) {
    static_assert(count_rows == count_columns);
    constexpr Index few = 8;
    for (Index i = 0; i < count_rows; i += few)
        for (Index j = 0; j < count_columns; j += few)
            for (Index r = i; r < i + few; ++r)
                for (Index c = j; c < j + few; ++c)
                    turned[c * count_rows + r] = sums[r * count_columns + c];
}

void count_products(Table<const short> a, Table<const short> b, Writable out, bool symmetric,
                    int threads, const std::string& cpu) {
    const SequenceLevel& level = sequences_level(cpu);
    const Index n = static_cast<Index>(a.shape(0)), m = static_cast<Index>(b.shape(0));
    const Index width = static_cast<Index>(a.shape(1));
    if (width % count_padding != 0 || b.shape(1) != a.shape(1))
        throw nb::value_error("rows of counts must be padded to whole vectors");
    require(has_shape(out, n, m) && (!symmetric || n == m),
            "there must be a result for every pair of rows");
    require(out.stride(1) == 1, "the rows of the result must be contiguous");
    const Index tiles = (m + count_columns - 1) / count_columns;
    double* const entries = out.data();
    const Index down = static_cast<Index>(out.stride(0));
    const Index packed_bytes = width * count_columns * static_cast<Index>(sizeof(short));
    constexpr Index tile_bytes = count_rows * count_columns * static_cast<Index>(sizeof(int));
    const auto task = [&](Index i, void* memory, const GoOn&) {
        // Of a symmetric matrix the last columns have the most rows: they come first.
        const Index left = (tiles - 1 - i) * count_columns;
        const Index wide = std::min(count_columns, m - left);
        auto* packed = static_cast<short*>(memory);
        auto* sums = reinterpret_cast<int*>(static_cast<char*>(memory) + packed_bytes);
        int* turned = sums + count_rows * count_columns;
        pack_counts(b.data() + left * width, wide, width, packed);
        // Half of a symmetric matrix: the rows up to the last of these columns.
        const Index end = symmetric ? left + wide : n;
        for (Index top = 0; top < end; top += count_rows) {
            const Index high = std::min(count_rows, end - top);
            level.products(a.data() + top * width, high, width, packed, sums);
            level.store(sums, high, wide, entries + top * down + left, down);
            if (!symmetric || top == left) continue;
            turn(sums, turned);
            level.store(turned, wide, high, entries + left * down + top, down);
        }
    };
    const Index bytes = packed_bytes + 2 * tile_bytes;
    without_gil([&] { return run_tasks(tiles, threads, bytes, signals(), task); });
}

// Sparse rows against sparse columns: every entry of a row meets the rows that share its column.
struct Sparse {
    const long long* starts;
    const long long* places;
    const double* values;
};

void sparse_products(List<const long long> row_starts, List<const long long> columns,
                     List<const double> row_values, List<const long long> column_starts,
                     List<const long long> rows, List<const double> column_values, Writable out,
                     bool symmetric, int threads) {
    // Rows whose sums are written together, since the mirror image has them side by side.
    constexpr Index group = 8;
    const Sparse A{row_starts.data(), columns.data(), row_values.data()};
    const Sparse B{column_starts.data(), rows.data(), column_values.data()};
    const Index n = static_cast<Index>(out.shape(0)), m = static_cast<Index>(out.shape(1));
    const auto width = static_cast<Index>(column_starts.size()) - 1;
    const auto count = static_cast<Index>(columns.size()), other = static_cast<Index>(rows.size());
    require(have_size(n + 1, row_starts) && are_runs(row_starts, count) &&
                are_runs(column_starts, other) && are_within(columns.data(), count, 0, width) &&
                are_within(rows.data(), other, 0, m) && (!symmetric || n == m) &&
                have_size(count, row_values) && have_size(other, column_values),
            "the starts or the places of entries lead out of their matrix");
    double* const entries = out.data();
    const Index down = static_cast<Index>(out.stride(0)), across = static_cast<Index>(out.stride(1));
    const auto task = [&](Index i, void* memory, const GoOn&) {
        const Index top = i * group, high = std::min(group, n - top);
        // Half of a symmetric matrix: the columns up to the last of these rows.
        const Index end = symmetric ? top + high : m;
        auto* sums = static_cast<double*>(memory);
        std::fill(sums, sums + group * m, 0.0);
        for (Index r = 0; r < high; ++r)
            for (Index q = A.starts[top + r]; q < A.starts[top + r + 1]; ++q) {
                const double value = A.values[q];
                const Index last = B.starts[A.places[q] + 1];
                for (Index x = B.starts[A.places[q]]; x < last && B.places[x] < end; ++x)
                    sums[r * m + B.places[x]] += value * B.values[x];
            }
        for (Index r = 0; r < high; ++r)
            for (Index j = 0; j < end; ++j) entries[(top + r) * down + j * across] = sums[r * m + j];
        if (!symmetric) return;
        for (Index j = 0; j < top; ++j)
            for (Index r = 0; r < high; ++r)
                entries[j * down + (top + r) * across] = sums[r * m + j];
    };
    const Index bytes = group * m * static_cast<Index>(sizeof(double));
    without_gil([&] {
        return run_tasks((n + group - 1) / group, threads, bytes, signals(), task);
    });
}

// The distinct codes of every row in ascending order, at the beginning of its place, and how often
// each occurs.
void run_lengths(List<const long long> codes, List<const long long> starts, List<long long> columns,
                 List<double> counts, List<long long> distinct, int threads) {
    const Index n = static_cast<Index>(starts.shape(0)) - 1;
    const auto count = static_cast<Index>(codes.size());
    require(are_runs(starts, count) && have_size(count, columns, counts) && have_size(n, distinct),
            "the starts of rows lead out of their codes, or the results have another size");
    const Index parts = (n + rows_per_task - 1) / rows_per_task;
    const auto sorted = [&](Index begin, Index end) {
        long long* out = columns.data() + begin;
        std::copy(codes.data() + begin, codes.data() + end, out);
        std::sort(out, out + (end - begin));
        Index last = -1;
        for (Index q = 0; q < end - begin; ++q) {
            if (last < 0 || out[q] != out[last]) {
                out[++last] = out[q];
                counts.data()[begin + last] = 0.0;
            }
            counts.data()[begin + last] += 1.0;
        }
        return last + 1;
    };
    // Every code is written where the next one that occurs belongs, so that nothing is to be
    // foreseen; the last of these is one beyond the row, hence the memory aside.
    const auto counted = [&](const Ranks& ranks, void* memory, Index begin, Index end) {
        const Index many = static_cast<Index>(ranks.codes.size());
        auto* found = static_cast<long long*>(memory);
        auto* often = reinterpret_cast<double*>(found + many + 1);
        int* tally = reinterpret_cast<int*>(often + many + 1);
        std::fill(tally, tally + many, 0);
        for (Index q = begin; q < end; ++q) ++tally[ranks.places[q]];
        Index last = 0;
        for (Index r = 0; r < many; ++r) {
            found[last] = ranks.codes[r];
            often[last] = tally[r];
            last += tally[r] != 0;
        }
        std::copy(found, found + last, columns.data() + begin);
        std::copy(often, often + last, counts.data() + begin);
        return last;
    };
    without_gil([&] {
        const Ranks ranks(codes.data(), static_cast<Index>(codes.shape(0)), n);
        const bool few = !ranks.places.empty();
        const auto task = [&](Index i, void* memory, const GoOn&) {
            for (Index row = i * rows_per_task; row < std::min(n, (i + 1) * rows_per_task); ++row) {
                const Index begin = starts.data()[row], end = starts.data()[row + 1];
                distinct.data()[row] =
                    few ? counted(ranks, memory, begin, end) : sorted(begin, end);
            }
        };
        const auto bytes = 20 * (static_cast<Index>(ranks.codes.size()) + 1);
        return run_tasks(parts, threads, bytes, signals(), task);
    });
}

// Number the distinct values in the order in which they first occur: values[i] is the number
// places[i] of them. Returns how many there are.
Index number_distinct(List<const long long> values, List<long long> places) {
    const Index n = static_cast<Index>(values.shape(0));
    require(have_size(n, places), "there must be a number for every value");
    nb::gil_scoped_release release;
    Numbering number;
    for (Index i = 0; i < n; ++i) places.data()[i] = number(values.data()[i]);
    return number.size();
}

}  // namespace

void bind_sequences(nb::module_& m) {
    m.def("subsequences", &subsequences);
    m.def("subsequence_diagonal", &subsequence_diagonal);
    m.def("count_products", &count_products);
    m.def("sparse_products", &sparse_products);
    m.def("run_lengths", &run_lengths);
    m.def("number_distinct", &number_distinct);
}
