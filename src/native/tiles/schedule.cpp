#include "tiles/schedule.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

namespace mercer {

#if defined(MERCER_X86_LEVELS)
extern const Level level_v2, level_v3, level_v4;

const Level* choose_level(const char* name) {
    __builtin_cpu_init();
    const bool has_v2 = __builtin_cpu_supports("x86-64-v2");
    const bool has_v3 = __builtin_cpu_supports("x86-64-v3");
    const bool has_v4 = __builtin_cpu_supports("x86-64-v4");
    const auto wants = [name](const char* level) { return !*name || !std::strcmp(name, level); };
    if (has_v4 && wants("v4")) return &level_v4;
    if (has_v3 && wants("v3")) return &level_v3;
    if (has_v2 && wants("v2")) return &level_v2;
    return nullptr;
}
#else
extern const Level level_plain;

const Level* choose_level(const char* name) {
    return !*name || !std::strcmp(name, "plain") ? &level_plain : nullptr;
}
#endif

namespace {

Index blocks(Index n, Index step) { return (n + step - 1) / step; }

Tile tile_at(const Job& job, Index row, Index row_step, Index column, Index column_step) {
    return {row * row_step, std::min(job.rows, (row + 1) * row_step), column * column_step,
            std::min(job.columns, (column + 1) * column_step), false};
}

// A round robin: in each of n - 1 rounds (n even) every block meets one other, so the tiles of a
// round share no rows and their order is free; the last round holds the diagonal.
struct Tournament {
    Index blocks, even;

    explicit Tournament(Index n) : blocks(n), even(n + n % 2) {}
    Index rounds() const { return even; }
    Index per_round() const { return blocks; }

    // False where the schedule has no tile: a pairing with the block added to make n even, while
    // `first` sits out, or, with `first` past the blocks, nothing at all.
    bool pair(Index round, Index i, Index& first, Index& second) const {
        if (round == even - 1) {
            first = second = i;
            return true;
        }
        first = blocks;
        if (i >= even / 2) return false;
        const Index last = even - 1;
        first = i == 0 ? last : (round + i) % last;
        second = i == 0 ? round : (round - i + last) % last;
        if (first > second) std::swap(first, second);
        return second < blocks;
    }
};

// The blocks of a tournament take part in its rounds one after the other, each at its own pace: a
// tile waits for its two blocks only. So every block meets the others in one order, whatever the
// threads do, and no thread waits for the end of a round.
class Turns {
public:
    explicit Turns(Index blocks) : done_(static_cast<std::size_t>(blocks)) {}

    void wait(Index block, Index round, const GoOn& go_on) const {
        const auto& done = done_[static_cast<std::size_t>(block)];
        while (done.load(std::memory_order_acquire) != round) {
            if (!go_on()) return;
            std::this_thread::yield();
        }
    }
    void finish(Index block, Index round) {
        done_[static_cast<std::size_t>(block)].store(round + 1, std::memory_order_release);
    }

private:
    std::vector<std::atomic<Index>> done_;
};

// Small jobs are not worth a thread.
int useful_threads(const Job& job, int threads) {
    Index width = 20;
    for (int i = 0; i < job.n_leaves; ++i) width += job.leaves[i].width;
    return job.rows * job.columns * (width + job.width) < 4'000'000 ? 1 : threads;
}

// Rows that are walked along their entries take so little time that packing the columns tells: more
// of them share a panel, as long as there are tiles for all threads. The strips stay the same, and
// so do their bits.
Index rows_per_tile(const Job& job, int threads) {
    constexpr Index most = 4 * tile_rows;
    bool walks = false;
    for (int i = 0; i < job.n_leaves; ++i) walks = walks || job.leaves[i].walked.data;
    if (!walks) return tile_rows;
    return std::clamp(job.rows / (4 * threads) / tile_rows * tile_rows, tile_rows, most);
}

}  // namespace

bool fill(const Level& level, const Job& job, bool single, int threads, Interrupt interrupt) {
    const Index step = level.columns_per_tile(job, single);
    const Index scratch = level.scratch_bytes(job, single);
    threads = useful_threads(job, threads);
    if (job.symmetric) {
        const Tournament pairs(blocks(job.rows, step));
        const Index per_round = pairs.per_round(), all = pairs.rounds() * per_round;
        return run_tasks(
            all, threads, scratch, interrupt, [&](Index i, void* memory, const GoOn&) {
                Index first, second;
                if (!pairs.pair(i / per_round, i % per_round, first, second)) return;
                Tile tile = tile_at(job, first, step, second, step);
                tile.mirror = first != second;
                level.fill(job, tile, memory, single);
            });
    }
    const Index height = rows_per_tile(job, threads), down = blocks(job.rows, height);
    const Index across = blocks(job.columns, step);
    return run_tasks(
        down * across, threads, scratch, interrupt, [&](Index i, void* memory, const GoOn&) {
            const Tile tile = tile_at(job, i / across, height, i % across, step);
            level.fill(job, tile, memory, single);
        });
}

bool multiply(const Level& level, const Job& job, bool single, int threads, Interrupt interrupt) {
    const Index step = level.columns_per_tile(job, single);
    const Index scratch = level.scratch_bytes(job, single);
    threads = useful_threads(job, threads);
    if (job.symmetric) {
        const Tournament pairs(blocks(job.rows, step));
        const Index per_round = pairs.per_round(), all = pairs.rounds() * per_round;
        Turns turns(pairs.blocks);
        return run_tasks(
            all, threads, scratch, interrupt, [&](Index i, void* memory, const GoOn& go_on) {
                const Index round = i / per_round;
                Index first, second;
                const bool is_tile = pairs.pair(round, i % per_round, first, second);
                if (first == pairs.blocks) return;
                if (!is_tile) second = first;
                turns.wait(first, round, go_on);
                turns.wait(second, round, go_on);
                if (!go_on()) return;
                if (is_tile) {
                    Tile tile = tile_at(job, first, step, second, step);
                    tile.mirror = first != second;
                    level.multiply(job, tile, memory, single);
                }
                turns.finish(first, round);
                turns.finish(second, round);
            });
    }
    const Index height = rows_per_tile(job, threads), down = blocks(job.rows, height);
    const Index across = blocks(job.columns, step);
    return run_tasks(
        down, threads, scratch, interrupt, [&](Index i, void* memory, const GoOn&) {
            for (Index j = 0; j < across; ++j)
                level.multiply(job, tile_at(job, i, height, j, step), memory, single);
        });
}

bool residuals(const Level& level, const Job& job, double* back, bool single, int threads,
               Interrupt interrupt) {
    // The same parts for any number of threads, each with sums of its own.
    constexpr Index most_parts = 32;
    const Index height = tile_rows * blocks(blocks(job.rows, most_parts), tile_rows);
    const Index parts = blocks(job.rows, height), size = job.columns * job.width;
    std::vector<double> sums(static_cast<std::size_t>(parts * size));
    const bool is_done = run_tasks(
        parts, useful_threads(job, threads), level.residual_bytes(job, single), interrupt,
        [&](Index i, void* memory, const GoOn&) {
            level.residuals(job, i * height, std::min(job.rows, (i + 1) * height),
                            sums.data() + i * size, memory, single);
        });
    for (Index i = 0; i < parts; ++i)
        for (Index k = 0; k < size; ++k) back[k] += sums[static_cast<std::size_t>(i * size + k)];
    return is_done;
}

bool slopes(const Level& level, const SlopeJob& job, int threads, Interrupt interrupt) {
    constexpr Index height = 16;
    if (job.rows * job.columns * job.width < 1'000'000) threads = 1;
    return run_tasks(blocks(job.rows, height), threads, 64, interrupt,
                     [&](Index i, void*, const GoOn&) {
                         level.slopes(job, i * height, std::min(job.rows, (i + 1) * height));
                     });
}

}  // namespace mercer
