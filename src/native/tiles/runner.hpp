// The program of a job run on one tile, a strip of rows at a time: packed columns, packed rows, and
// slots for every intermediate result. Internal linkage: each processor level gets its own copy.
#pragma once

#include "tiles/given.hpp"
#include "tiles/job.hpp"
#include "tiles/maps.hpp"
#include "tiles/panels.hpp"

namespace {

using namespace mercer;

// From this many columns on, squared distances come from inner products where digits allow.
constexpr Index product_form_width = 24;
// A squared distance this small beside the norms is recomputed by differences.
template <class T> constexpr T near = static_cast<T>(0x1p-10);
// Largest sum of squared norms, in units of the length scale, that leaves the digits promised.
template <class T> constexpr double reach = sizeof(T) == 8 ? 500.0 : 8.0;
// Rows that are walked along their entries one after the other while a few blocks of columns stay
// in the first cache.
constexpr Index group_rows = 64;
// No row, of any group.
constexpr Index none = -1;

template <class T> Index widest(const Job& job) {
    Index width = 1;
    for (int i = 0; i < job.n_leaves; ++i)
        if (job.leaves[i].kind != Kind::given && job.leaves[i].width > width)
            width = job.leaves[i].width;
    return width;
}

// Working memory of one thread, cut from one aligned piece.
template <class T> struct Scratch {
    char* next;

    template <class U> U* cut(Index count) {
        U* piece = reinterpret_cast<U*>(next);
        next += (count * static_cast<Index>(sizeof(U)) + 63) / 64 * 64;
        return piece;
    }
};

// The state of one tile: packed columns, and for each strip the packed rows and the slots.
template <class T> struct Runner {
    const Job& job;
    const Tile& tile;
    Index stride;  // columns of the panel, padded
    T** columns;   // [panel], in blocks
    T** column_norms;    // [panel], for leaves in product form
    T* column_reach;     // the largest of them, negative before they are known
    bool* product_form;  // per leaf, in this tile
    T** weights;         // per leaf
    T* rows;             // [k * strip_rows + row], of the panel at hand
    T* row_norms;
    T* products;  // inner products of the strip, shared by the leaves of a panel
    T** walks;    // [panel], inner products of the rows of a group, found along their entries
    Index* walk_begin;  // [panel], the first row of that group
    T* slots;
    T* factor;
    // Of the strip at hand: the panel whose rows are packed, and the one whose products are known.
    Index packed, multiplied;

    T* slot(int i) const { return slots + static_cast<Index>(i) * strip_rows * stride; }

    Runner(const Job& j, const Tile& t, Index padded, Scratch<T>& scratch)
        : job(j), tile(t), stride(padded) {
        columns = scratch.template cut<T*>(job.n_panels);
        column_norms = scratch.template cut<T*>(job.n_panels);
        column_reach = scratch.template cut<T>(job.n_panels);
        product_form = scratch.template cut<bool>(job.n_leaves);
        weights = scratch.template cut<T*>(job.n_leaves);
        const Index width = widest<T>(job);
        rows = scratch.template cut<T>(width * strip_rows);
        row_norms = scratch.template cut<T>(strip_rows);
        products = scratch.template cut<T>(strip_rows * stride);
        slots = scratch.template cut<T>(job.n_slots * strip_rows * stride);
        factor = scratch.template cut<T>(stride);
        walks = scratch.template cut<T*>(job.n_panels);
        walk_begin = scratch.template cut<Index>(job.n_panels);
        for (int p = 0; p < job.n_panels; ++p) {
            columns[p] = walks[p] = nullptr;
            column_reach[p] = T(-1);
            column_norms[p] = scratch.template cut<T>(stride);
        }
        for (int i = 0; i < job.n_leaves; ++i) {
            const Leaf& leaf = job.leaves[i];
            product_form[i] = false;
            if (leaf.kind == Kind::given) continue;
            prepare(leaf, i, scratch);
        }
    }

    void prepare(const Leaf& leaf, int i, Scratch<T>& scratch) {
        const Index count = tile.column_end - tile.column_begin;
        const int p = leaf.panel;
        if (!columns[p]) {
            columns[p] = scratch.template cut<T>(leaf.width * stride);
            pack_blocks(leaf.right, tile.column_begin, count, leaf.width, columns[p]);
        }
        if (leaf.walked.data && !walks[p]) {
            walks[p] = scratch.template cut<T>(group_rows * stride);
            walk_begin[p] = none;
        }
        weights[i] = nullptr;
        if (leaf.weights) {
            weights[i] = scratch.template cut<T>(leaf.width);
            for (Index k = 0; k < leaf.width; ++k) weights[i][k] = constant<T>(leaf.weights[k]);
        }
        if (leaf.kind != Kind::squared_distance || leaf.weights ||
            leaf.width < product_form_width)
            return;
        if (column_reach[p] < T(0)) {
            if (leaf.right.starts)
                entry_norms(leaf.right, tile.column_begin, count, column_norms[p], stride);
            else
                block_norms(columns[p], leaf.width, stride, column_norms[p]);
            column_reach[p] = largest(column_norms[p], count);
        }
        // Rows are checked strip by strip; columns alone may already be too far out.
        product_form[i] = leaf.sensitivity * column_reach[p] <= reach<T>;
    }

    static T largest(const T* values, Index count) {
        T result = 0;
        for (Index i = 0; i < count; ++i) result = values[i] > result ? values[i] : result;
        return result;
    }

    // Run the program on the rows [begin, begin + count) of the tile's columns.
    const T* strip(Index begin, Index count) {
        packed = multiplied = none;
        for (int s = 0; s < job.n_steps; ++s) {
            const Step& step = job.steps[s];
            T* target = slot(step.target);
            switch (step.operation) {
                case Operation::leaf:
                    fill_leaf(step.first, begin, count, target);
                    break;
                case Operation::constant: {
                    const T b = constant<T>(step.b);
                    for (Index k = 0; k < strip_rows * stride; ++k) target[k] = b;
                    break;
                }
                case Operation::map:
                    map(step, slot(step.first), target, Itself{});
                    break;
                case Operation::map_add:
                    map(step, slot(step.first), target,
                        Added<T>{slot(step.second), constant<T>(step.c), constant<T>(step.d)});
                    break;
                case Operation::add:
                    add(step, slot(step.first), slot(step.second), target);
                    break;
                case Operation::multiply:
                    multiply(step, slot(step.first), slot(step.second), target);
                    break;
                case Operation::scale_rows:
                    scale(step, begin, count, slot(step.first), target);
                    break;
            }
        }
        return slot(job.steps[job.n_steps - 1].target);
    }

    void pack_rows(const Leaf& leaf, Index begin, Index count) {
        if (packed == leaf.panel) return;
        pack(leaf.left, begin, count, leaf.width, rows, strip_rows);
        packed = leaf.panel;
    }

    // The inner products of the strip, found along the entries of its rows.
    const T* walked(const Leaf& leaf, Index begin) {
        const int p = leaf.panel;
        T* group = walks[p];
        if (walk_begin[p] == none || begin < walk_begin[p] || begin >= walk_begin[p] + group_rows) {
            const Index left = tile.row_end - begin;
            const Index n = left < group_rows ? left : group_rows;
            walk(leaf.walked, begin, n, columns[p], leaf.width, group, stride);
            // What a strip has beyond the last row must be numbers.
            for (Index k = n * stride; k < (n + strip_rows - 1) / strip_rows * strip_rows * stride;
                 ++k)
                group[k] = T(0);
            walk_begin[p] = begin;
        }
        return group + (begin - walk_begin[p]) * stride;
    }

    void fill_leaf(int index, Index begin, Index count, T* target) {
        const Leaf& leaf = job.leaves[index];
        if (leaf.kind == Kind::given) {
            copy_given(leaf.left, job.symmetric, tile, begin, count, target, stride);
            return;
        }
        const int p = leaf.panel;
        if (leaf.kind == Kind::dot && leaf.walked.data) {
            const T* dots = walked(leaf, begin);
            for (Index k = 0; k < strip_rows * stride; ++k) target[k] = dots[k];
            return;
        }
        if (product_form[index] && rows_in_reach(leaf, begin, count)) {
            expand(leaf, begin, count, target);
            return;
        }
        pack_rows(leaf, begin, count);
        const T* x = rows;
        const T* z = columns[p];
        switch (leaf.kind) {
            case Kind::dot:
                if (multiplied == p) {
                    for (Index k = 0; k < strip_rows * stride; ++k) target[k] = products[k];
                } else {
                    compare<Dot>(x, z, leaf.width, target, stride);
                    // For squared distances of the same panel.
                    if (column_reach[p] >= T(0)) {
                        for (Index k = 0; k < strip_rows * stride; ++k) products[k] = target[k];
                        multiplied = p;
                    }
                }
                break;
            case Kind::squared_distance:
                if (leaf.weights)
                    compare<WeightedSquaredDistance>(x, z, leaf.width, target, stride,
                                                     weights[index]);
                else
                    compare<SquaredDistance>(x, z, leaf.width, target, stride);
                break;
            case Kind::manhattan:
                compare<Manhattan>(x, z, leaf.width, target, stride, weights[index]);
                break;
            case Kind::minimum:
                compare<Minimum>(x, z, leaf.width, target, stride);
                // An overflow times zero: a product with a factor of zero is zero.
                for (Index k = 0; k < strip_rows * stride; ++k)
                    target[k] = target[k] == target[k] ? target[k] : T(0);
                break;
            case Kind::chi2:
                compare<Chi2>(x, z, leaf.width, target, stride);
                break;
            case Kind::sine:
                compare<Sine>(x, z, leaf.width, target, stride, weights[index]);
                break;
            case Kind::match: {
                compare<Match>(x, z, leaf.width, target, stride);
                const T width = static_cast<T>(leaf.width);
                if (leaf.width > 1)
                    for (Index k = 0; k < strip_rows * stride; ++k) target[k] /= width;
                break;
            }
            case Kind::given:
                break;
        }
    }

    bool rows_in_reach(const Leaf& leaf, Index begin, Index count) {
        if (leaf.walked.data) {
            entry_norms(leaf.walked, begin, count, row_norms, strip_rows);
        } else {
            pack_rows(leaf, begin, count);
            norms(rows, leaf.width, strip_rows, row_norms);
        }
        const double far = static_cast<double>(largest(row_norms, count)) + column_reach[leaf.panel];
        return leaf.sensitivity * far <= reach<T>;
    }

    const T* inner_products(const Leaf& leaf, Index begin) {
        const int p = leaf.panel;
        if (leaf.walked.data) return walked(leaf, begin);
        if (multiplied != p) {
            compare<Dot>(rows, columns[p], leaf.width, products, stride);
            multiplied = p;
        }
        return products;
    }

    // ||x||^2 + ||z||^2 - 2 x'z, with the small ones recomputed by differences.
    void expand(const Leaf& leaf, Index begin, Index count, T* target) {
        const int p = leaf.panel;
        const T* dots = inner_products(leaf, begin);
        Index small = 0;
        for (Index r = 0; r < strip_rows; ++r) {
            const T norm = row_norms[r];
            int near_ones = 0;
            for (Index j = 0; j < stride; ++j) {
                const T total = norm + column_norms[p][j];
                const T d = total - T(2) * dots[r * stride + j];
                target[r * stride + j] = d;
                near_ones += d <= near<T> * total;
            }
            small += r < count ? near_ones : 0;
        }
        if (small == 0) return;
        pack_rows(leaf, begin, count);
        if (small * 8 > strip_rows * stride) {
            compare<SquaredDistance>(rows, columns[p], leaf.width, target, stride);
            return;
        }
        for (Index r = 0; r < count; ++r)
            for (Index j = 0; j < stride; j += Simd<T>::block)
                difference_block(leaf, r, j, target + r * stride + j);
    }

    // Recompute the small squared distances of a row within a block of columns by differences.
    void difference_block(const Leaf& leaf, Index r, Index first, T* target) {
        const T norm = row_norms[r];
        const T* norms = column_norms[leaf.panel] + first;
        int near_ones = 0;
        for (Index j = 0; j < Simd<T>::block; ++j)
            near_ones += target[j] <= near<T> * (norm + norms[j]);
        if (near_ones == 0) return;
        const T* z = columns[leaf.panel] + first * leaf.width;
        for (Index j = 0; j < Simd<T>::block; ++j) {
            if (target[j] > near<T> * (norm + norms[j])) continue;
            T sum = 0;
            for (Index k = 0; k < leaf.width; ++k) {
                const T t = rows[k * strip_rows + r] - z[k * Simd<T>::block + j];
                sum += t * t;
            }
            target[j] = sum;
        }
    }

    template <class Finish>
    void map(const Step& step, const T* source, T* target, const Finish& finish) {
        const T a = constant<T>(step.a), b = constant<T>(step.b);
        const Index n = strip_rows * stride;
        const auto each = [&](const auto& f) {
            for (Index k = 0; k < n; ++k) target[k] = finish(k, f(a * source[k] + b));
        };
        switch (step.function) {
            case Function::identity:
                return each([](T v) { return v; });
            case Function::exp:
                return exponentials(source, a, b, target, n, finish);
            case Function::tanh:
                return each([](T v) { return hyperbolic_tangent(v); });
            case Function::sqrt:
                return square_roots(source, a, b, target, n, finish);
            case Function::log1p:
                return each([](T v) { return log_one_plus(v); });
            case Function::reciprocal:
                return each([](T v) { return T(1) / v; });
            case Function::reciprocal_root:
                return each([](T v) { return reciprocal_root(v); });
        }
    }

    void add(const Step& step, const T* first, const T* second, T* target) {
        const T a = constant<T>(step.a), b = constant<T>(step.b), c = constant<T>(step.c);
        for (Index k = 0; k < strip_rows * stride; ++k)
            target[k] = a * first[k] + (c * second[k] + b);
    }

    void multiply(const Step& step, const T* first, const T* second, T* target) {
        const T a = constant<T>(step.a), b = constant<T>(step.b);
        const T c = constant<T>(step.c), d = constant<T>(step.d);
        for (Index k = 0; k < strip_rows * stride; ++k)
            target[k] = (a * first[k] + b) * (c * second[k] + d);
    }

    void scale(const Step& step, Index begin, Index count, const T* source, T* target) {
        const Factor& f = job.factors[step.second];
        const T a = constant<T>(step.a), b = constant<T>(step.b);
        const Index n = tile.column_end - tile.column_begin;
        for (Index j = 0; j < stride; ++j)
            factor[j] = j < n ? static_cast<T>(f.right[tile.column_begin + j]) : T(0);
        for (Index r = 0; r < strip_rows; ++r) {
            const T left = r < count ? static_cast<T>(f.left[begin + r]) : T(0);
            for (Index j = 0; j < stride; ++j)
                target[r * stride + j] = (a * source[r * stride + j] + b) * (left * factor[j]);
        }
    }
};

}  // namespace
