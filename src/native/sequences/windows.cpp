// Sums over all pairs of windows of sequences, by the number of positions at which they are equal.
#include "sequences/windows.hpp"

#include <nanobind/stl/string.h>

#include <string>

#include "levels.hpp"
#include "module.hpp"
#include "gil.hpp"
#include "sequences/all_pairs.hpp"
#include "sequences/ordered.hpp"

namespace nb = nanobind;

MERCER_LEVELS(WindowLevel, windows)

namespace {

using namespace mercer;

// Cells of a task, which take some milliseconds: nobody asks for interrupts in between.
constexpr Index cells_per_task = Index{1} << 24;

// What is summed: a table of values, byte by byte, for windows over so many symbols.
struct Values {
    const List<const unsigned char>& table;
    Index width, letters;

    void check(const List<const long long>& symbols) const {
        const auto bytes = static_cast<Index>(table.size());
        require(bytes > 0 && bytes % table_entries == 0 && bytes <= 8 * table_entries &&
                    width > 0 && width < table_entries,
                "a table must have values of at most 8 bytes, and be longer than a window");
        require(are_within(symbols.data(), static_cast<Index>(symbols.size()), 0, letters),
                "symbols must be numbers below that of the letters");
    }
    int value_bytes() const { return static_cast<int>(table.shape(0) / table_entries); }
    // The symbol beyond the ends of sequences.
    long long end() const { return letters; }
    int symbol_bytes() const {
        int bytes = 1;
        while (end() >> (8 * bytes)) ++bytes;
        return bytes;
    }
    double value(const long long* totals, Index lanes, Index r) const {
        double sum = 0.0;
        for (int p = value_bytes(); p-- > 0;)
            sum = 256.0 * sum + static_cast<double>(totals[p * lanes + r]);
        return sum;
    }
    double whole() const {
        double sum = 0.0;
        for (int p = value_bytes(); p-- > 0;)
            sum = 256.0 * sum + table.data()[p * table_entries + width];
        return sum;
    }
};

// Scratch memory of a thread, cut into what the comparison of s with several t needs.
class Bench {
  public:
    Bench(const Values& values, Index lanes, Index s_longest, Index t_longest, bool own)
        : values(values), lanes(lanes), s_lanes(own ? lanes : 1),
          s_plane(rounded(s_longest * s_lanes)), t_plane((before + t_longest) * lanes) {}

    Index bytes() const {
        const Index planes = values.symbol_bytes() * (s_plane + t_plane) + t_plane;
        return 4 * planes + 8 * values.value_bytes() * lanes;
    }
    long long* totals(void* memory) const {
        return reinterpret_cast<long long*>(s_base(memory) + values.symbol_bytes() * s_plane);
    }
    // The rows order[first], order[first + 1], ... of T, one to a lane.
    Windows with_group(const Sequences& T, Index first, void* memory) const {
        int* ends = static_cast<int*>(memory);
        int* t = ends + t_plane;
        const Index rows = std::min(lanes, T.size() - first);
        const Index longest = T.length(T.order[first]);
        for (Index j = -before; j < longest; ++j)
            for (Index r = 0; r < lanes; ++r) {
                const Index row = r < rows ? T.order[first + r] : 0, n = r < rows ? T.length(row) : 0;
                const Index place = (before + j) * lanes + r;
                ends[place] = four([&](Index q) {
                    return j + q >= values.width - 1 && j + q < n ? 0xFF : 0;
                });
                for (int p = 0; p < values.symbol_bytes(); ++p)
                    t[p * t_plane + place] = four([&](Index q) {
                        const bool inside = j + q >= 0 && j + q < n;
                        return byte(inside ? T.begin(row)[j + q] : values.end(), p);
                    });
            }
        Windows job{};
        job.t = t + before * lanes;
        job.ends = ends + before * lanes;
        job.t_plane = t_plane;
        job.t_longest = longest;
        job.t_shortest = T.length(T.order[first + rows - 1]);
        job.s = s_base(memory);
        job.s_plane = s_plane;
        job.symbol_bytes = values.symbol_bytes();
        job.width = static_cast<int>(values.width);
        job.table = values.table.data();
        job.value_bytes = values.value_bytes();
        return job;
    }
    // Write a row as the sequence s, into one lane if there are several.
    void place(const Sequences& S, Index row, Index length, Index lane, void* memory) const {
        for (int p = 0; p < values.symbol_bytes(); ++p) {
            int* s = s_base(memory) + p * s_plane;
            for (Index i = 0; i < length; ++i) {
                const int symbol = byte(i < S.length(row) ? S.begin(row)[i] : values.end(), p);
                s[i * s_lanes + lane] = four([&](Index) { return symbol; });
            }
        }
    }

  private:
    // The first of the diagonals begin before t does.
    static constexpr Index before = diagonals - 1;
    Index rounded(Index ints) const { return (ints + lanes - 1) / lanes * lanes; }
    int* s_base(void* memory) const {
        return static_cast<int*>(memory) + (1 + values.symbol_bytes()) * t_plane;
    }
    static int byte(long long symbol, int p) { return static_cast<int>(symbol >> (8 * p) & 0xFF); }
    template <class Part> static int four(const Part& part) {
        unsigned all = 0;
        for (Index q = 0; q < diagonals; ++q) all |= static_cast<unsigned>(part(q)) << (8 * q);
        return static_cast<int>(all);
    }

    const Values& values;
    Index lanes, s_lanes, s_plane, t_plane;
};

// Compare all windows, on some diagonals at a time, as long as nobody wants to stop.
void compare(const WindowLevel& level, Windows job, long long* totals, const GoOn& go_on) {
    std::fill(totals, totals + job.value_bytes * level.lanes, 0);
    const Index first = job.own ? 1 : job.width - job.s_length, end = job.t_longest - job.width + 1;
    const Index groups = cells_per_task / std::max<Index>(1, job.s_length) / diagonals;
    const Index step = std::max<Index>(1, groups) * diagonals;
    for (job.first = first; job.first < end; job.first += step) {
        job.last = std::min(end, job.first + step) - 1;
        level.compare(job, totals);
        if (job.last + 1 < end && !go_on()) return;
    }
}

void matched_windows(List<const long long> left, List<const long long> left_starts,
                     List<const long long> right, List<const long long> right_starts,
                     List<const unsigned char> table, Index width, Index letters, Writable out,
                     bool symmetric, int threads, const std::string& cpu) {
    const WindowLevel& level = windows_level(cpu);
    const Index lanes = level.lanes;
    const Sequences S(left, left_starts), T(right, right_starts);
    const Values values{table, width, letters};
    values.check(left);
    values.check(right);
    const Bench bench(values, lanes, S.longest(), T.longest(), false);
    const auto group = [&](Index first, void* memory, const GoOn& go_on) {
        long long* totals = bench.totals(memory);
        return [&, totals, memory, job = bench.with_group(T, first, memory)](Index row) mutable
               -> const long long* {
            if (std::min(S.length(row), job.t_longest) < width) return nullptr;
            bench.place(S, row, S.length(row), 0, memory);
            job.s_length = S.length(row);
            compare(level, job, totals, go_on);
            return totals;
        };
    };
    all_pairs({S, T, lanes, cells_per_task, bench.bytes(), out, symmetric, threads}, group, values);
}

void matched_windows_diagonal(List<const long long> symbols, List<const long long> starts,
                              List<const unsigned char> table, Index width, Index letters,
                              List<double> out, int threads, const std::string& cpu) {
    const WindowLevel& level = windows_level(cpu);
    const Index lanes = level.lanes;
    const Sequences S(symbols, starts);
    const Values values{table, width, letters};
    values.check(symbols);
    require(have_size(S.size(), out), "there must be a result for every sequence");
    const Bench bench(values, lanes, S.longest(), S.longest(), true);
    const auto task = [&](Index i, void* memory, const GoOn& go_on) {
        const Index first = i * lanes, count = std::min(lanes, S.size() - first);
        Windows job = bench.with_group(S, first, memory);
        for (Index r = 0; r < lanes; ++r)
            bench.place(S, S.order[first + std::min(r, count - 1)], job.t_longest, r, memory);
        job.own = true;
        job.s_length = job.t_longest;
        long long* totals = bench.totals(memory);
        compare(level, job, totals, go_on);
        for (Index r = 0; r < count; ++r) {
            const Index row = S.order[first + r];
            // Every window with itself, and every pair of two in both orders.
            const auto own = static_cast<double>(std::max<Index>(0, S.length(row) - width + 1));
            out.data()[row] = own * values.whole() + 2.0 * values.value(totals, lanes, r);
        }
    };
    const Index groups = (S.size() + lanes - 1) / lanes;
    without_gil([&] { return run_tasks(groups, threads, bench.bytes(), signals(), task); });
}

}  // namespace

void bind_windows(nb::module_& m) {
    m.def("matched_windows", &matched_windows);
    m.def("matched_windows_diagonal", &matched_windows_diagonal);
}
