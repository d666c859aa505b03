// What a tile run is told: the program, its data, and where the results go. Plain data only, so
// that the code compiled for several processor levels shares nothing else.
#pragma once

#include "memory.hpp"

// The name of a table of routines in the files that are compiled for the level MERCER_LEVEL.
#define MERCER_JOINED(what, level) what##_##level
#define MERCER_JOIN(what, level) MERCER_JOINED(what, level)
#define MERCER_AT_LEVEL(what) MERCER_JOIN(what, MERCER_LEVEL)

namespace mercer {

// Rows and columns of a tile: a panel of this many rows against one of this many columns.
constexpr Index tile_rows = 256;
constexpr Index tile_columns = 256;

enum class Kind : int { dot, squared_distance, manhattan, minimum, chi2, sine, match, given };
enum class Operation : int { leaf, constant, map, map_add, add, multiply, scale_rows };
enum class Function : int { identity, exp, tanh, sqrt, log1p, reciprocal, reciprocal_root };

// A matrix by its strides, counted in entries. Or, where there are starts, by those of its entries
// that are not zero: data[e] in columns[e] for e from starts[i] to starts[i + 1] are those of row i.
struct Matrix {
    const void* data;
    Index row;
    Index column;
    const Index* starts;
    const int* columns;
};

// One input: both sides of a comparison over `width` columns, or in `left` the given values, of which
// the symmetric part counts where the job is symmetric.
struct Leaf {
    Kind kind;
    Matrix left;
    Matrix right;
    Matrix walked;  // the left side by its entries where these are few, or no data
    Index width;
    const double* weights;  // one per column, or null; of a sine the periods
    double sensitivity;     // of the result to an absolute error of this input
    int panel;              // leaves with the same sides share a packed panel
};

struct Step {
    Operation operation;
    int target;
    int first;
    int second;
    Function function;
    double a, b, c, d;
};

struct Factor {
    const double* left;
    const double* right;
};

struct Job {
    const Leaf* leaves;
    int n_leaves;
    int n_panels;
    const Step* steps;
    int n_steps;
    int n_slots;
    const Factor* factors;
    Index rows;
    Index columns;
    bool symmetric;  // both sides are the same rows: a tile also serves its mirror image

    // Filling: the matrix to write.
    void* out;
    Index out_row;
    Index out_column;
    bool streamed;  // too large for the caches: write past them

    // Multiplying: products (rows, width) += K @ vectors (columns, width), both contiguous.
    const double* vectors;
    double* products;
    Index width;
    // Of a symmetric job: how many of the vectors are multiplied by both triangles of K. The others
    // are by H, the tiles on the diagonal and twice those below, at half the work: v'Hv = v'Kv.
    Index mirrored;

    // Residuals: products (rows, width) = targets - K @ vectors, and K' of these, each row by its
    // weight.
    const double* targets;      // (rows, width)
    const double* row_weights;  // (rows,)
};

// One tile of a job.
struct Tile {
    Index row_begin, row_end;
    Index column_begin, column_end;
    bool mirror;  // serve the transposed tile as well
};

// The derivative of comparisons by the entries of the left rows, summed over the right ones:
// out[i][k] += sum_j values[i][j] d(x_ik, z_jk), where d is the derivative of a column's share. All
// matrices are contiguous; those of the right rows have a row for every column that is compared.
struct SlopeJob {
    Kind kind;
    const double* left;     // (rows, width)
    const double* right;    // (width, columns)
    const double* values;   // (rows, columns)
    const double* weights;  // one per column; of a sine the periods
    double* out;            // (rows, width)
    Index rows, columns, width;
};

// The routines of one processor level, for double and for float.
struct Level {
    const char* name;
    Index (*scratch_bytes)(const Job&, bool single);
    Index (*columns_per_tile)(const Job&, bool single);
    void (*fill)(const Job&, const Tile&, void* scratch, bool single);
    void (*multiply)(const Job&, const Tile&, void* scratch, bool single);
    void (*slopes)(const SlopeJob&, Index row_begin, Index row_end);
    // The residuals of some rows, and what they add to `back` (columns, width).
    Index (*residual_bytes)(const Job&, bool single);
    void (*residuals)(const Job&, Index row_begin, Index row_end, double* back, void* scratch,
                      bool single);
};

}  // namespace mercer
