// When sequential minimal optimisation takes a Newton step on the active set: all free coefficients
// at once, by a factorisation of the caller.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>

#include "tiles/job.hpp"

namespace mercer {

class NewtonPolicy {
  public:
    // `move` returns the share of its way that it went.
    explicit NewtonPolicy(nanobind::handle move) : move(move) {}

    bool is_wanted() const { return !move.is_none(); }

    // So many multiplications were spent on pairs.
    void spend(Index work) { spent += static_cast<double>(work); }

    // Whether pairs have cost as much as a Newton step of `count` of n coefficients, or the last one
    // got on so well that the next follows at once.
    bool is_due(Index count, Index n, double gap) const {
        const auto m = static_cast<double>(count);
        const double work = m * m * m / factor_speed + 2.0 * m * static_cast<double>(n);
        return spent > patience * std::max(work, least_work) || gap < again;
    }

    // Returns false where Ctrl-C came in between.
    bool step(double gap) {
        nanobind::gil_scoped_acquire gil;
        double share = 0.0;
        try {
            share = nanobind::cast<double>(move());
        } catch (nanobind::python_error& error) {
            if (!error.matches(PyExc_KeyboardInterrupt)) throw;
            return false;
        }
        // Full steps follow each other while they halve the gap; where they are short they become
        // rare.
        again = share == 1.0 ? 0.5 * gap : 0.0;
        patience = share > short_step ? 1.0 : 2.0 * patience;
        spent = 0.0;
        return true;
    }

    // What the next decision depends on, to go on from later: three numbers.
    void leave(double* to) const { to[0] = spent, to[1] = patience, to[2] = again; }
    void restore(const double* from) { spent = from[0], patience = from[1], again = from[2]; }

  private:
    // Multiplications of a factorisation that take as long as one for a pair.
    static constexpr double factor_speed = 60.0;
    // Pairs that are solved before a Newton step has begun, in multiplications.
    static constexpr double least_work = 2e7;
    // The step length below which a step was not worth its cost.
    static constexpr double short_step = 0.1;

    nanobind::handle move;
    // Work since the last step, what it has to be as a share of what a step costs, and the gap below
    // which the next one follows at once.
    double spent = 0.0, patience = 4.0, again = 0.0;
};

}  // namespace mercer
