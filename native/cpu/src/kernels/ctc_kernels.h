// The sums of CTC over the states of a row, in logarithms and double precision. Equations: packages/ops/src/executor/
// host/ctc_loss.ts. Included, after activations.h, by the kernel files only.
#pragma once

#include "kernels/activations.h"
#include "kernels/kernels.h"

namespace {

using namespace cudnn_rnn;

// ln x for x in [1, 3]: ln c + 2 artanh z with z = (x - c) / (x + c), c = 1.3 or 2.3, so that |z| < 0.15. The series to
// z^19 leaves a remainder below 2^-57.
template <typename V>
static inline V LogOf1To3(V x) {
  constexpr double kSplit = 1.75;
  constexpr double kLog13 = 0.26236426446749106;
  constexpr double kLog23Less13 = 0.5705448584676128;
  // Two intervals around 1.3 and 2.3 halve |z|, which saves half the terms of the series.
  const V upper = WhereLess(V::Set(kSplit), x, V::Set(1));
  const V c = V::Set(1.3) + upper;
  const V z = (x - c) / (x + c);
  const V square = z * z;
  V sum = V::Set(1.0 / 19);
  for (int power = 17; power >= 1; power -= 2) sum = MultiplyAdd(sum, square, V::Set(1.0 / power));
  return MultiplyAdd(z + z, sum, MultiplyAdd(upper, V::Set(kLog23Less13), V::Set(kLog13)));
}

// ln(e^a + e^b + e^c); kCtcLogZero stands for the logarithm of 0.
template <typename V>
static inline V LogSum(V a, V b, V c) {
  // Sorting three numbers takes three pairs of Min and Max without a branch. The largest is factored out, so both
  // exponentials are at most 1 and the logarithm's argument is in [1, 3], where LogOf1To3 holds.
  const V high = Max(a, b);
  const V low = Min(a, b);
  const V largest = Max(high, c);
  const V middle = Max(low, Min(high, c));
  const V smallest = Min(low, c);
  return largest + LogOf1To3(V::Set(1) + Exp(middle - largest) + Exp(smallest - largest));
}

template <typename V>
static void StepOfCtc(const CtcStep& p) {
  for (ptrdiff_t s = 0; s < p.states; s += V::kLanes) {
    // Three ways into state s: stay, advance by one, and skip a blank between different labels (Graves et al. 2006, eq.
    // 6 to 8: https://www.cs.toronto.edu/~graves/icml_2006.pdf). Forbidden ways have the logarithm of 0 instead of a
    // branch.
    const V same = V::Load(p.before + s) + V::Load(p.stays + s);
    const V next = V::Load(p.before + s + p.direction);
    const V skipped = V::Load(p.before + s + 2 * p.direction) + V::Load(p.skips + s);
    (LogSum(same, next, skipped) + V::Load(p.emissions + s)).Store(p.after + s);
  }
}

// The probability of being in each state at this step, given the labels: at most 1, so Exp does not overflow.
template <typename V>
static void PosteriorsOfCtc(const CtcPosteriors& p) {
  const V log_p = V::Set(p.log_p);
  for (ptrdiff_t s = 0; s < p.states; s += V::kLanes) {
    const V both = V::Load(p.alpha + s) + V::Load(p.beta + s) - V::Load(p.emissions + s) - log_p;
    Exp(both).Store(p.posteriors + s);
  }
}

template <typename V>
static constexpr CtcKernels CtcKernelsOf() {
  return {StepOfCtc<V>, PosteriorsOfCtc<V>};
}

}  // namespace
