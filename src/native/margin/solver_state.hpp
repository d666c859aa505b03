// Where sequential minimal optimisation stands between two rounds, in memory of the caller, who may
// keep it with the coefficients and their gradient and have a later run go on from there.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "margin/request.hpp"
#include "memory.hpp"
#include "require.hpp"

namespace mercer {

class SolverState {
  public:
    // `numbers` are the rounds, the steps, the rows of a working set, how many the last one had, and
    // three of the policy of Newton steps; `last` has room for the rows of the largest working set.
    SolverState(const Flat<double>& numbers, const Flat<Index>& last, Index n, Index largest)
        : numbers(numbers.data()), last(last.data()) {
        require(have_size(7, numbers) && have_size(largest, last),
                "the solver state must have its numbers and room for a working set");
        require(!has_begun() || is_one(n, largest), "the solver state is that of no run of as many rows");
    }

    bool has_begun() const { return numbers[0] != 0.0; }
    Index rounds() const { return static_cast<Index>(numbers[0]); }
    Index steps() const { return static_cast<Index>(numbers[1]); }
    Index together() const { return static_cast<Index>(numbers[2]); }
    std::vector<Index> last_set() const { return {last, last + static_cast<Index>(numbers[3])}; }
    double* of_newton() const { return numbers + 4; }

    void leave(Index rounds, Index steps, Index together, const std::vector<Index>& set) const {
        numbers[0] = static_cast<double>(rounds), numbers[1] = static_cast<double>(steps);
        numbers[2] = static_cast<double>(together), numbers[3] = static_cast<double>(set.size());
        std::copy(set.begin(), set.end(), last);
    }

  private:
    bool is_one(Index n, Index largest) const {
        const auto is_count = [this](int k, double least, double most) {
            return numbers[k] >= least && numbers[k] <= most && std::floor(numbers[k]) == numbers[k];
        };
        const auto most = static_cast<double>(largest);
        return is_count(0, 1.0, 1e15) && is_count(1, 0.0, 1e15) && is_count(2, 1.0, most) &&
               is_count(3, 0.0, most) && are_within(last, static_cast<Index>(numbers[3]), 0, n);
    }

    double* numbers;
    Index* last;
};

}  // namespace mercer
