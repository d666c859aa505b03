// When a solver by pairs lets its caller move all free coefficients at once, by a factorisation.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <limits>

#include "tiles/job.hpp"

namespace mercer {

class Leaps {
  public:
    // `move` returns the share of its way that it went; `eager` begins with it.
    Leaps(nanobind::handle move, bool eager)
        : move(move), walked(eager ? std::numeric_limits<double>::infinity() : 0.0) {}

    bool are_wanted() const { return !move.is_none(); }

    // So many multiplications were spent on steps.
    void walk(Index work) { walked += static_cast<double>(work); }

    // Whether the steps have cost as much as a leap of `count` of n coefficients, or the last one
    // got on so well that the next follows at once.
    bool is_due(Index count, Index n, double gap) const {
        const auto m = static_cast<double>(count);
        const double work = m * m * m / factor_speed + 2.0 * m * static_cast<double>(n);
        return walked > patience * std::max(work, least_work) || gap < again;
    }

    // Returns false where Ctrl-C came in between.
    bool leap(double gap) {
        nanobind::gil_scoped_acquire gil;
        double share = 0.0;
        try {
            share = nanobind::cast<double>(move());
        } catch (nanobind::python_error& error) {
            if (!error.matches(PyExc_KeyboardInterrupt)) throw;
            return false;
        }
        // Leaps that go all the way follow each other while they halve the gap; where they do not
        // get far they become rare.
        again = share == 1.0 ? 0.5 * gap : 0.0;
        patience = share > short_leap ? 1.0 : 2.0 * patience;
        walked = 0.0;
        return true;
    }

  private:
    // Multiplications of a factorisation that take as long as one in a step.
    static constexpr double factor_speed = 60.0;
    // Steps that are over before a leap has begun, in multiplications.
    static constexpr double least_work = 2e7;
    // The share of its way below which a leap was not worth its cost.
    static constexpr double short_leap = 0.1;

    nanobind::handle move;
    // Work since the last leap, what it has to be as a share of what a leap costs, and the gap below
    // which the next leap follows at once.
    double walked, patience = 4.0, again = 0.0;
};

}  // namespace mercer
