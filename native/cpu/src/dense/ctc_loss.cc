#include "dense/ctc_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "dense/softmax_line.h"
#include "memory/arena.h"
#include "weights/divide_up.h"

namespace cudnn_rnn {
namespace {

// States are computed in whole vectors of any instruction set (8 float64 of AVX-512), and read two beyond either end: a
// path may skip one blank. An edge of a whole vector keeps the first state aligned.
constexpr ptrdiff_t kStates = 8;
constexpr ptrdiff_t kEdge = 8;
// Sums that no path reached are near kCtcLogZero. CTC_LOG_UNREACHED in packages/ops/src/executor/host/ctc_loss.ts.
constexpr double kUnreached = kCtcLogZero / 2;
// The sum of a step's posteriors differs from 1 by less if its logarithms are of a size at which they have digits.
constexpr double kRounded = 1e-3;

// 2S+1 states for S labels, with a blank before, between and after them, rounded up to whole vectors.
ptrdiff_t PaddedStates(ptrdiff_t labels) { return DivideUp(2 * labels + 1, kStates) * kStates; }

// The memory of one thread for one row. Rows of alpha, emissions and beta have an edge on both sides. float64 for both
// element types: logarithms of T factors are sums of T terms, whose error in float32 would exceed the gradient's.
struct Scratch {
  ptrdiff_t stride;
  double* alpha;      // [T][stride]
  double* emissions;  // [T][stride]
  double* beta[2];    // [stride]
  double* posteriors;
  double* stays;
  double* skips_forward;
  double* skips_backward;
  double* class_posteriors;  // [K]
  int32_t* state_classes;

  Scratch(Arena* arena, ptrdiff_t time, ptrdiff_t max_labels, ptrdiff_t classes)
      : stride(PaddedStates(max_labels) + 2 * kEdge),
        alpha(arena->Take<double>(time * stride)),
        emissions(arena->Take<double>(time * stride)),
        beta{arena->Take<double>(stride), arena->Take<double>(stride)},
        posteriors(arena->Take<double>(stride)),
        stays(arena->Take<double>(stride)),
        skips_forward(arena->Take<double>(stride)),
        skips_backward(arena->Take<double>(stride)),
        class_posteriors(arena->Take<double>(classes)),
        state_classes(arena->Take<int32_t>(stride)) {}

  // The first state of a step. The kernel reads two states before and after, which are in the edge and hold
  // kCtcLogZero.
  double* alpha_at(ptrdiff_t t) const { return alpha + t * stride + kEdge; }
  double* emissions_at(ptrdiff_t t) const { return emissions + t * stride + kEdge; }
};

// ln(e^a + e^b)
// For finite a and b; kCtcLogZero takes the place of -∞, for which a - b would be NaN.
double LogAdd(double a, double b) { return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b))); }

// Connectionist temporal classification (Graves et al. 2006,
// https://doi.org/10.1145/1143844.1143891). With the labels l', blanks around each label, and y_t = softmax(z_t):
//   α_t(s) = (α_(t-1)(s) + α_(t-1)(s-1) + [skip allowed] α_(t-1)(s-2)) · y_t(l'_s)      β_t(s) the same from the end
//   p = α_T(last) + α_T(last - 1)      loss = -ln p      ∂loss/∂z_t(k) = y_t(k) - Σ_(s: l'_s = k) α_t(s)·β_t(s) /
//   (y_t·p)
// All sums are of logarithms: a product of T probabilities underflows float64 at T of some hundreds.
//
// Loss and gradient of one row of the batch. Rows are independent, so each is one item of a loop over the threads,
// which needs one Scratch for each thread.
template <typename T>
class CtcRow {
 public:
  CtcRow(const Engine<T>& engine, const CtcKernels& kernels, const CtcProblem<T>& problem, const Scratch& scratch,
         ptrdiff_t row)
      : engine_(engine),
        kernels_(kernels),
        problem_(problem),
        scratch_(scratch),
        row_(row),
        time_(problem.logit_lengths[row]),
        states_(2 * ptrdiff_t{problem.label_lengths[row]} + 1),
        padded_(PaddedStates(problem.label_lengths[row])),
        weight_(problem.row_weights[row]) {}

  // The loss; writes the gradient.
  double Run() {
    if (weight_ == 0) {
      FillGradient(0, problem_.time, T{0});
      return 0;
    }
    // The steps past the row's length; the steps before are written by Emit.
    FillGradient(time_, problem_.time, T{0});
    MakeChain();
    if (!Emit()) {
      FillGradient(0, time_, std::numeric_limits<T>::quiet_NaN());
      return std::numeric_limits<double>::quiet_NaN();
    }
    // Without steps only the empty labeling has a probability, 1.
    const double log_p = time_ == 0 ? (states_ == 1 ? 0 : kCtcLogZero) : Forward();
    if (log_p < kUnreached) return Infeasible();
    Backward(log_p);
    // Not -log_p, which is -0 if the labels are certain.
    return 0 - log_p;
  }

 private:
  T* GradientAt(ptrdiff_t t) const { return problem_.gradient + (t * problem_.batch + row_) * problem_.classes; }

  // Every element of the gradient is written once: by this, or by Emit and then SubtractPosteriors.
  void FillGradient(ptrdiff_t begin, ptrdiff_t end, T value) const {
    for (ptrdiff_t t = begin; t < end; t++) std::fill_n(GradientAt(t), problem_.classes, value);
  }

  // The states: blank, label, blank, …, blank; later ones are never reached.
  void MakeChain() const {
    const int32_t* labels = problem_.labels + row_ * problem_.max_labels;
    // Transitions as terms of a sum of logarithms: 0 allows one, kCtcLogZero forbids it. A skip leads over the blank
    // between two labels, which is needed if they are equal (Graves et al. 2006, section 4.1).
    std::fill_n(scratch_.stays, padded_, 0.0);
    std::fill_n(scratch_.skips_forward, padded_, kCtcLogZero);
    std::fill_n(scratch_.skips_backward, padded_, kCtcLogZero);
    std::fill_n(scratch_.state_classes, padded_, problem_.blank);
    for (ptrdiff_t s = 1; s < states_; s += 2) {
      scratch_.state_classes[s] = labels[s / 2];
      if (!problem_.merge_repeated) scratch_.stays[s] = kCtcLogZero;
      if (s > 1 && (labels[s / 2] != labels[s / 2 - 1] || !problem_.merge_repeated)) {
        scratch_.skips_forward[s] = 0;
        scratch_.skips_backward[s - 2] = 0;
      }
    }
  }

  // ln softmax of every state's class, and weight times softmax into the gradient. False for NaN.
  // The softmax stays in the gradient, from which SubtractPosteriors subtracts.
  bool Emit() const {
    const ptrdiff_t classes = problem_.classes;
    for (ptrdiff_t t = 0; t < time_; t++) {
      const T* z = problem_.logits + (t * problem_.batch + row_) * classes;
      T* y = GradientAt(t);
      const T maximum = LargestOf(z, 1, classes);
      const double sum = ExpOfRow(engine_, z, maximum, y, classes);
      if (std::isnan(sum)) return false;
      const T scale = static_cast<T>(weight_ / sum);
      for (ptrdiff_t k = 0; k < classes; k++) y[k] *= scale;
      // ln softmax(z)_k = z_k - max - ln Σ e^(z - max): never the logarithm of a rounded probability, which may be 0.
      const double log_sum = std::log(sum);
      double* emissions = scratch_.emissions_at(t);
      const auto emission = [&](int32_t k) {
        return std::max(static_cast<double>(z[k]) - maximum - log_sum, kCtcLogZero);
      };
      // Every second state is the blank: its emission is computed once.
      const double blank = emission(problem_.blank);
      for (ptrdiff_t s = 0; s + 1 < states_; s += 2) {
        emissions[s] = blank;
        emissions[s + 1] = emission(scratch_.state_classes[s + 1]);
      }
      emissions[states_ - 1] = blank;
      std::fill(emissions + states_, emissions + padded_, kCtcLogZero);
    }
    return true;
  }

  // ln alpha of all steps; returns ln p.
  // α_t(s): the logarithm of the probability of all paths that reach state s at step t (Graves et al. 2006, section
  // 4.1).
  double Forward() const {
    double* first = scratch_.alpha_at(0);
    std::fill(first - kEdge, first + padded_ + kEdge, kCtcLogZero);
    // A path begins in the first blank or the first label.
    std::copy_n(scratch_.emissions_at(0), std::min<ptrdiff_t>(2, states_), first);
    for (ptrdiff_t t = 1; t < time_; t++) {
      double* after = scratch_.alpha_at(t);
      std::fill(after - kEdge, after, kCtcLogZero);
      kernels_.step({scratch_.alpha_at(t - 1), -1, scratch_.stays, scratch_.skips_forward, scratch_.emissions_at(t),
                     after, padded_});
    }
    // A path ends in the last blank or the last label: p = alpha_T(2S+1) + alpha_T(2S).
    const double* last = scratch_.alpha_at(time_ - 1) + states_ - 1;
    return states_ == 1 ? last[0] : LogAdd(last[0], last[-1]);
  }

  // Subtracts the posterior of every class at every step from the gradient. Beta includes y_t here, as alpha does.
  // Needs two steps of β only, if α is kept for all steps.
  void Backward(double log_p) const {
    double* beta = scratch_.beta[0] + kEdge;
    double* next = scratch_.beta[1] + kEdge;
    for (double* each : {beta, next}) std::fill(each - kEdge, each + padded_ + kEdge, kCtcLogZero);
    const double* last = scratch_.emissions_at(time_ - 1);
    for (ptrdiff_t s = std::max<ptrdiff_t>(0, states_ - 2); s < states_; s++) beta[s] = last[s];
    for (ptrdiff_t t = time_ - 1; t >= 0; t--) {
      const double* emissions = scratch_.emissions_at(t);
      // alpha·beta counts y_t twice, so one emission is subtracted: γ_t(s) = alpha_t(s)·beta_t(s) / (y_t·p).
      const auto posteriors = [&](double log_sum) {
        kernels_.posteriors({scratch_.alpha_at(t), beta, emissions, log_sum, scratch_.posteriors, padded_});
        return std::accumulate(scratch_.posteriors, scratch_.posteriors + states_, 0.0);
      };
      // They add up to 1. Logarithms of great magnitude are rounded by more than that, each step by another amount:
      // then the step's own likeliest state is the measure.
      double total = posteriors(log_p);
      if (std::abs(total - 1) > kRounded) total = posteriors(MostLikely(t, beta));
      SubtractPosteriors(GradientAt(t), weight_ / total);
      if (t == 0) return;
      kernels_.step({beta, 1, scratch_.stays, scratch_.skips_backward, scratch_.emissions_at(t - 1), next, padded_});
      std::swap(beta, next);
    }
  }

  // The logarithm of the product of the likeliest state at step t.
  double MostLikely(ptrdiff_t t, const double* beta) const {
    double most = -std::numeric_limits<double>::infinity();
    for (ptrdiff_t s = 0; s < states_; s++) {
      most = std::max(most, scratch_.alpha_at(t)[s] + beta[s] - scratch_.emissions_at(t)[s]);
    }
    return most;
  }

  void SubtractPosteriors(T* gradient, double scale) const {
    double* of_classes = scratch_.class_posteriors;
    std::fill_n(of_classes, problem_.classes, 0.0);
    // Several states share a class (all blanks, repeated labels): their posteriors are added. d loss / d z_k = y_k - Σ
    // γ.
    for (ptrdiff_t s = 0; s < states_; s++) of_classes[scratch_.state_classes[s]] += scratch_.posteriors[s];
    for (ptrdiff_t k = 0; k < problem_.classes; k++) gradient[k] -= static_cast<T>(scale * of_classes[k]);
  }

  // No path has a probability, as the labels need more steps than there are.
  // The gradient holds the softmax.
  double Infeasible() const {
    if (problem_.infeasible == InfeasibleRows::kNan) FillGradient(0, time_, std::numeric_limits<T>::quiet_NaN());
    if (problem_.infeasible == InfeasibleRows::kZero) {
      FillGradient(0, time_, T{0});
      return 0;
    }
    return std::numeric_limits<double>::infinity();
  }

  const Engine<T>& engine_;
  const CtcKernels& kernels_;
  const CtcProblem<T>& problem_;
  const Scratch& scratch_;
  const ptrdiff_t row_;
  const ptrdiff_t time_;
  const ptrdiff_t states_;
  const ptrdiff_t padded_;
  const double weight_;
};

}  // namespace

template <typename T>
T CtcLoss(const Engine<T>& engine, const CtcKernels& kernels, const CtcProblem<T>& problem) {
  // A row is sequential in T, so at most B threads have work.
  const int members = static_cast<int>(std::min<ptrdiff_t>(engine.pool->size(), problem.batch));
  std::vector<Scratch> scratch;
  MemoryBlock memory = engine.blocks->TakeFor([&](Arena* arena) {
    scratch.clear();
    for (int k = 0; k < members; k++) scratch.emplace_back(arena, problem.time, problem.max_labels, problem.classes);
  });
  RunLoop(engine, members, problem.batch, [&](ptrdiff_t row, int index) {
    problem.row_losses[row] = static_cast<T>(CtcRow<T>(engine, kernels, problem, scratch[index], row).Run());
  });
  engine.blocks->GiveBack(std::move(memory));
  // After the loop, in the order of the rows: the same sum for any number of threads.
  double loss = 0;
  for (ptrdiff_t row = 0; row < problem.batch; row++) {
    if (problem.row_weights[row] != 0) loss += problem.row_weights[row] * problem.row_losses[row];
  }
  return static_cast<T>(loss);
}

template float CtcLoss(const Engine<float>&, const CtcKernels&, const CtcProblem<float>&);
template double CtcLoss(const Engine<double>&, const CtcKernels&, const CtcProblem<double>&);

}  // namespace cudnn_rnn
