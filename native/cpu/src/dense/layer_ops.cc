#include "dense/layer_ops.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "dense/dense_ops.h"
#include "dense/philox.h"

namespace cudnn_rnn {
namespace {

// The order of ACTIVATIONS in packages/backend.
enum class Activation { kTanh, kSigmoid, kRelu, kElu, kSoftplus, kSoftmax };
// The order of POOLINGS.
enum class Pooling { kLast, kMean, kMax };
// The order of ELEMENT_LOSSES.
enum class ElementLoss { kSquaredError, kAbsoluteError, kSigmoidCrossEntropy };

// Rows of `columns` elements that make a part worth its thread.
// A quarter of an elementwise part, 4096 elements, as a row operation reads its elements several times.
ptrdiff_t RowsPerPart(ptrdiff_t columns) {
  return std::max<ptrdiff_t>(1, kElementwisePart / 4 / std::max<ptrdiff_t>(1, columns));
}

// For large -x, e^-x is infinite and the quotient 0, the right limit: no branch is needed.
template <typename T>
T SigmoidOf(T x) {
  return T{1} / (T{1} + std::exp(-x));
}

// φ(x) of one element. kSoftmax is of a whole row (SoftmaxLine) and does not reach this function.
template <typename T>
T Value(Activation activation, T x) {
  switch (activation) {
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kSigmoid:
      return SigmoidOf(x);
    // NaN stays NaN.
    case Activation::kRelu:
      return x < 0 ? T{0} : x;
    case Activation::kElu:
      return x < 0 ? std::expm1(x) : x;
    case Activation::kSoftplus:
      // ln(1 + e^x) without overflow: the exponential is taken of -|x|, and log1p keeps its digits.
      return std::max(x, T{0}) + std::log1p(std::exp(-std::abs(x)));
    case Activation::kSoftmax:
      break;
  }
  return x;
}

// φ'(x) as a function of y = φ(x), so that a backward needs no copy of x:
//   tanh 1 - y²   σ y(1 - y)   relu [y > 0]   elu y + 1 below 0, else 1   softplus 1 - e^-y
template <typename T>
T Slope(Activation activation, T y) {
  switch (activation) {
    case Activation::kTanh:
      return 1 - y * y;
    case Activation::kSigmoid:
      return y * (1 - y);
    case Activation::kRelu:
      return y > 0 ? T{1} : T{0};
    case Activation::kElu:
      // d/dx (e^x - 1) = e^x = y + 1.
      return y < 0 ? y + 1 : T{1};
    case Activation::kSoftplus:
      // d/dx ln(1 + e^x) = σ(x) = 1 - e^-y. expm1 keeps the digits where y is near 0.
      return -std::expm1(-y);
    case Activation::kSoftmax:
      break;
  }
  return T{1};
}

// y = softmax of `count` elements of x, `stride` apart.
template <typename T>
void SoftmaxLine(T* y, const T* x, ptrdiff_t stride, ptrdiff_t count) {
  if (count == 0) return;
  // softmax(x) = softmax(x - max x): no exponential overflows. A NaN counts as the largest and makes the line NaN.
  T maximum = x[0];
  for (ptrdiff_t k = 1; k < count; k++)
    maximum = x[k * stride] > maximum || std::isnan(x[k * stride]) ? x[k * stride] : maximum;
  // Summed in double: with thousands of classes a float32 sum would lose the last digits of each.
  double sum = 0;
  for (ptrdiff_t k = 0; k < count; k++) sum += y[k * stride] = std::exp(x[k * stride] - maximum);
  const T scale = static_cast<T>(1 / sum);
  for (ptrdiff_t k = 0; k < count; k++) y[k * stride] *= scale;
}

// dx = Jᵀ·dy for one line of `count` elements, `stride` apart.
template <typename T, typename D>
void SoftmaxLineGradient(T* dx, const T* y, const D* dy, ptrdiff_t stride, ptrdiff_t count) {
  // dx = y ⊙ (dy - Σ y·dy): the Jacobian diag(y) - y·yᵀ times dy, without forming it.
  double overlap = 0;
  for (ptrdiff_t k = 0; k < count; k++) overlap += static_cast<double>(y[k * stride]) * dy[k * stride];
  for (ptrdiff_t k = 0; k < count; k++) dx[k * stride] = static_cast<T>(y[k * stride] * (dy[k * stride] - overlap));
}

// activate: y, x; activation, rows, columns, maximum
// y [N,E] = φ(x), elementwise, or softmax over each row.
template <typename T>
void Activate(const Engine<T>& engine, const LayerOperands<T>& on) {
  T* y = on.data[0];
  const T* x = on.data[1];
  const auto activation = static_cast<Activation>(on.size(0));
  const ptrdiff_t rows = on.size(1), columns = on.size(2);
  const T maximum = static_cast<T>(on.numbers[3]);
  if (activation == Activation::kSoftmax) {
    ForEach(engine, rows, RowsPerPart(columns), [&](ptrdiff_t begin, ptrdiff_t end) {
      for (ptrdiff_t n = begin; n < end; n++) SoftmaxLine(y + n * columns, x + n * columns, 1, columns);
    });
    return;
  }
  ForEach(engine, rows * columns, kElementwisePart, [&](ptrdiff_t begin, ptrdiff_t end) {
    // The vector kernels take whole chunks of 64 bytes; the elements after the last chunk go to Value(). Both round
    // within the bounds of docs/numerics.md, not to the same bits, so the split is at a fixed element, not at a
    // thread's range.
    const auto vectors = activation == Activation::kTanh      ? engine.kernels->tanh
                         : activation == Activation::kSigmoid ? engine.kernels->sigmoid
                                                              : nullptr;
    ptrdiff_t k = begin;
    if (vectors != nullptr) {
      const ptrdiff_t whole = (end - begin) / kChunk<T> * kChunk<T>;
      vectors(x + begin, y + begin, whole);
      k += whole;
    }
    // A comparison with NaN is false, so NaN stays.
    for (; k < end; k++) {
      const T value = Value(activation, x[k]);
      y[k] = value > maximum ? maximum : value;
    }
  });
}

// activationGradient: dx, y, dy; activation, rows, columns, maximum
// dx [N,E] = dy ⊙ φ'(x) from y = φ(x): the forward's x need not be kept.
template <typename T>
void ActivationGradient(const Engine<T>& engine, const LayerOperands<T>& on) {
  T* dx = on.data[0];
  const T *y = on.data[1], *dy = on.data[2];
  const auto activation = static_cast<Activation>(on.size(0));
  const ptrdiff_t rows = on.size(1), columns = on.size(2);
  const T maximum = static_cast<T>(on.numbers[3]);
  const bool bounded = std::isfinite(maximum);
  if (activation == Activation::kSoftmax) {
    ForEach(engine, rows, RowsPerPart(columns), [&](ptrdiff_t begin, ptrdiff_t end) {
      for (ptrdiff_t n = begin; n < end; n++) {
        SoftmaxLineGradient(dx + n * columns, y + n * columns, dy + n * columns, 1, columns);
      }
    });
    return;
  }
  ForEach(engine, rows * columns, kElementwisePart, [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t k = begin; k < end; k++) {
      dx[k] = bounded && y[k] >= maximum ? T{0} : dy[k] * Slope(activation, y[k]);
    }
  });
}

// multiply: y, a, b; count
// y = a ⊙ b. The gradients are two more products: da = dy ⊙ b and db = dy ⊙ a.
template <typename T>
void Multiply(const Engine<T>& engine, const LayerOperands<T>& on) {
  T* y = on.data[0];
  const T *a = on.data[1], *b = on.data[2];
  ForEach(engine, on.size(0), kElementwisePart, [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t k = begin; k < end; k++) y[k] = a[k] * b[k];
  });
}

// dropout: y, x; count, seed low, seed high, draw low, draw high, threshold, kept
// Element k draws word k % 4 of block ⌊k/4⌋ of Philox4x32-10, with the number of the mask in the other half of the
// counter, so the backward computes the mask again instead of storing it, on any number of threads.
// An element is dropped if the upper 24 bits of its word are below `threshold`, rate·2^24. `draw` is the number of the
// mask, so every call has its own.
template <typename T>
void Dropout(const Engine<T>& engine, const LayerOperands<T>& on) {
  T* y = on.data[0];
  const T* x = on.data[1];
  const uint32_t key[2] = {static_cast<uint32_t>(on.numbers[1]), static_cast<uint32_t>(on.numbers[2])};
  // packages/executor-kit/src/layer_kernels.ts, DropoutMask.
  const uint32_t draw[2] = {static_cast<uint32_t>(on.numbers[3]), (1u << 25) + static_cast<uint32_t>(on.numbers[4])};
  const auto threshold = static_cast<uint32_t>(on.numbers[5]);
  // Inverted dropout (Srivastava et al. 2014): kept elements are scaled by 1/(1 - rate), so inference needs no scaling.
  const T kept = static_cast<T>(on.numbers[6]);
  static_assert(kElementwisePart % 4 == 0, "parts begin with a block of the generator");
  ForEach(engine, on.size(0), kElementwisePart, [&](ptrdiff_t begin, ptrdiff_t end) {
    uint32_t words[4] = {};
    for (ptrdiff_t k = begin; k < end; k++) {
      if (k % 4 == 0) {
        const auto block = static_cast<uint64_t>(k) / 4;
        const uint32_t counter[4] = {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), draw[0],
                                     draw[1]};
        PhiloxBlock(counter, key, words);
      }
      // 24 bits are the precision of a float32 in [0, 1): the same masks as executors that compare floats.
      y[k] = (words[k % 4] >> 8) < threshold ? T{0} : x[k] * kept;
    }
  });
}

// Of one row of x [N,columns]: μ, and 1/√(σ² + ε).
struct Moments {
  double mean;
  double scale;
};

// The mean of a row, and one over the root of its variance.
// In double for both element types: the mean of a long row in float32 would dominate the error of x - μ.
template <typename T>
Moments MomentsOf(const T* x, ptrdiff_t columns, double epsilon) {
  double sum = 0;
  for (ptrdiff_t k = 0; k < columns; k++) sum += x[k];
  const double mean = sum / static_cast<double>(columns);
  // Two passes: Σ(x - mean)² does not cancel, as Σx² - n·mean² would (Chan, Golub and LeVeque 1983).
  double squares = 0;
  for (ptrdiff_t k = 0; k < columns; k++) squares += (x[k] - mean) * (x[k] - mean);
  return {mean, 1 / std::sqrt(squares / static_cast<double>(columns) + epsilon)};
}

// layerNorm: y, x, gamma, beta; rows, columns, epsilon
// y = γ ⊙ (x - μ)/√(σ² + ε) + β over each row (Ba, Kiros and Hinton 2016), with the biased variance.
template <typename T>
void LayerNorm(const Engine<T>& engine, const LayerOperands<T>& on) {
  T* y = on.data[0];
  const T *x = on.data[1], *gamma = on.data[2], *beta = on.data[3];
  const ptrdiff_t columns = on.size(1);
  ForEach(engine, on.size(0), RowsPerPart(columns), [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t n = begin; n < end; n++) {
      const T* row = x + n * columns;
      const auto [mean, scale] = MomentsOf(row, columns, on.numbers[2]);
      for (ptrdiff_t k = 0; k < columns; k++) {
        y[n * columns + k] = static_cast<T>((row[k] - mean) * scale * gamma[k] + beta[k]);
      }
    }
  });
}

// layerNormGradients: dx, dgamma, dbeta, x, gamma, dy; rows, columns, epsilon
// dγ = Σ_n dy ⊙ x̂ and dβ = Σ_n dy over the rows; dx per row, below.
template <typename T>
void LayerNormGradients(const Engine<T>& engine, const LayerOperands<T>& on) {
  T *dx = on.data[0], *d_gamma = on.data[1], *d_beta = on.data[2];
  const T *x = on.data[3], *gamma = on.data[4], *dy = on.data[5];
  const ptrdiff_t rows = on.size(0), columns = on.size(1);
  // Computed once for each row, read again by the sums over rows below: 16 bytes against a second pass over the row.
  std::vector<Moments> moments(static_cast<size_t>(rows));
  ForEach(engine, rows, RowsPerPart(columns), [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t n = begin; n < end; n++) {
      const T *row = x + n * columns, *gradient = dy + n * columns;
      const auto [mean, scale] = moments[n] = MomentsOf(row, columns, on.numbers[2]);
      // With x̂ = (x - mean)·scale and g = gamma ⊙ dy:  dx = scale·(g - mean(g) - x̂·mean(g ⊙ x̂))  (Ba, Kiros and Hinton
      // 2016, https://arxiv.org/abs/1607.06450).
      double sum = 0, overlap = 0;
      for (ptrdiff_t k = 0; k < columns; k++) {
        const double g = static_cast<double>(gamma[k]) * gradient[k];
        sum += g;
        overlap += g * (row[k] - mean) * scale;
      }
      const double count = static_cast<double>(columns);
      for (ptrdiff_t k = 0; k < columns; k++) {
        const double g = static_cast<double>(gamma[k]) * gradient[k];
        dx[n * columns + k] = static_cast<T>(scale * (g - sum / count - (row[k] - mean) * scale * overlap / count));
      }
    }
  });
  // Parts of one cache line of columns: threads write different lines of dgamma and dbeta, and each sums all rows in
  // order.
  ForEach(engine, columns, kChunk<T>, [&](ptrdiff_t begin, ptrdiff_t end) {
    double gamma_sums[kChunk<T>] = {}, beta_sums[kChunk<T>] = {};
    for (ptrdiff_t n = 0; n < rows; n++) {
      const auto [mean, scale] = moments[n];
      for (ptrdiff_t k = begin; k < end; k++) {
        const double g = dy[n * columns + k];
        gamma_sums[k - begin] += g * (x[n * columns + k] - mean) * scale;
        beta_sums[k - begin] += g;
      }
    }
    for (ptrdiff_t k = begin; k < end; k++) {
      d_gamma[k] = static_cast<T>(gamma_sums[k - begin]);
      d_beta[k] = static_cast<T>(beta_sums[k - begin]);
    }
  });
}

// copyColumns: y, x; rows, count, columns of y, where in y, columns of x, where in x
// Joins and splits of the last axis: y may be wider or narrower than x.
template <typename T>
void CopyColumns(const Engine<T>& engine, const LayerOperands<T>& on) {
  T* y = on.data[0];
  const T* x = on.data[1];
  const ptrdiff_t count = on.size(1), to = on.size(2), from = on.size(4);
  ForEach(engine, on.size(0), RowsPerPart(count), [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t n = begin; n < end; n++) std::copy_n(x + n * from + on.size(5), count, y + n * to + on.size(3));
  });
}

// Steps of a row, clamped to [0, T]: lengths come from JavaScript and can change until the job runs, and addresses
// depend on them.
template <typename T>
ptrdiff_t LengthOf(const LayerOperands<T>& on, ptrdiff_t row, ptrdiff_t time) {
  return on.lengths == nullptr ? time : std::clamp<ptrdiff_t>(on.lengths[row], 0, time);
}

// reverseSequence: y, x; time, batch, columns
// Its own gradient: step t and step length-1-t change places.
template <typename T>
void ReverseSequence(const Engine<T>& engine, const LayerOperands<T>& on) {
  T* y = on.data[0];
  const T* x = on.data[1];
  const ptrdiff_t time = on.size(0), batch = on.size(1), columns = on.size(2);
  ForEach(engine, time * batch, RowsPerPart(columns), [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t n = begin; n < end; n++) {
      const ptrdiff_t t = n / batch, b = n % batch, length = LengthOf(on, b, time);
      // As tf.reverse_sequence, except that steps past the length are 0 instead of copied.
      if (t < length) {
        std::copy_n(x + ((length - 1 - t) * batch + b) * columns, columns, y + n * columns);
      } else {
        std::fill_n(y + n * columns, columns, T{0});
      }
    }
  });
}

// The step that `last` or `max` takes: of equal ones the first, and of NaN the first. x and its steps `stride` apart.
template <typename T>
ptrdiff_t ChosenStep(Pooling pooling, const T* x, ptrdiff_t stride, ptrdiff_t length, bool is_reversed) {
  if (pooling == Pooling::kLast) return is_reversed ? 0 : length - 1;
  ptrdiff_t chosen = 0;
  for (ptrdiff_t t = 1; t < length; t++) {
    const T best = x[chosen * stride], value = x[t * stride];
    if (value > best || (std::isnan(value) && !std::isnan(best))) chosen = t;
  }
  return chosen;
}

// poolSequence: y, x; time, batch, columns, pooling, reversedFrom
// Columns from reversedFrom on are those of a backward direction, whose last step is step 0.
template <typename T>
void PoolSequence(const Engine<T>& engine, const LayerOperands<T>& on) {
  T* y = on.data[0];
  const T* x = on.data[1];
  const ptrdiff_t time = on.size(0), batch = on.size(1), columns = on.size(2), stride = batch * columns;
  const auto pooling = static_cast<Pooling>(on.size(3));
  // Parts of at least one cache line of y, so that two threads do not write the same line.
  ForEach(engine, stride, std::max(kChunk<T>, kElementwisePart / 4 / std::max<ptrdiff_t>(1, time)),
          [&](ptrdiff_t begin, ptrdiff_t end) {
            // Time in the outer loop: each step reads consecutive elements of x, and the sums of a part stay in the
            // first-level cache.
            std::vector<double> sums(pooling == Pooling::kMean ? static_cast<size_t>(end - begin) : 0);
            if (pooling == Pooling::kMean) {
              for (ptrdiff_t t = 0; t < time; t++) {
                for (ptrdiff_t k = begin; k < end; k++) {
                  if (t < LengthOf(on, k / columns, time)) sums[k - begin] += x[t * stride + k];
                }
              }
            }
            for (ptrdiff_t k = begin; k < end; k++) {
              const ptrdiff_t length = LengthOf(on, k / columns, time);
              if (length == 0) {
                y[k] = T{0};
              } else if (pooling == Pooling::kMean) {
                y[k] = static_cast<T>(sums[k - begin] / static_cast<double>(length));
              } else {
                y[k] = x[ChosenStep(pooling, x + k, stride, length, k % columns >= on.size(4)) * stride + k];
              }
            }
          });
}

// poolSequenceGradient: dx, x, dy; time, batch, columns, pooling, reversedFrom
// dx [T,B,E]: dy/length to every step for the mean; else dy to the chosen step, found again from x, and 0 elsewhere.
template <typename T>
void PoolSequenceGradient(const Engine<T>& engine, const LayerOperands<T>& on) {
  T* dx = on.data[0];
  const T *x = on.data[1], *dy = on.data[2];
  const ptrdiff_t time = on.size(0), batch = on.size(1), columns = on.size(2), stride = batch * columns;
  const auto pooling = static_cast<Pooling>(on.size(3));
  ForEach(engine, stride, std::max(kChunk<T>, kElementwisePart / 4 / std::max<ptrdiff_t>(1, time)),
          [&](ptrdiff_t begin, ptrdiff_t end) {
            // Every element of dx is written, as the memory of a result is not cleared: zeros first, then the chosen
            // steps.
            for (ptrdiff_t t = 0; t < time; t++) {
              for (ptrdiff_t k = begin; k < end; k++) {
                const ptrdiff_t length = LengthOf(on, k / columns, time);
                dx[t * stride + k] = pooling == Pooling::kMean && t < length ? dy[k] / static_cast<T>(length) : T{0};
              }
            }
            if (pooling == Pooling::kMean) return;
            for (ptrdiff_t k = begin; k < end; k++) {
              const ptrdiff_t length = LengthOf(on, k / columns, time);
              if (length == 0) continue;
              dx[ChosenStep(pooling, x + k, stride, length, k % columns >= on.size(4)) * stride + k] = dy[k];
            }
          });
}

// attend: output, weights, x, scores; time, batch, columns
// output [B,E] = Σ_t softmax_t(scores [T,B])·x [T,B,E], over each row's own steps.
template <typename T>
void Attend(const Engine<T>& engine, const LayerOperands<T>& on) {
  T *output = on.data[0], *weights = on.data[1];
  const T *x = on.data[2], *scores = on.data[3];
  const ptrdiff_t time = on.size(0), batch = on.size(1), columns = on.size(2);
  ForEach(engine, batch, RowsPerPart(time * columns), [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t b = begin; b < end; b++) {
      const ptrdiff_t length = LengthOf(on, b, time);
      // Scores of a row are a column of [T,B]: its elements are `batch` apart.
      // Over the row's own steps only; past its end the weights are 0, as a mask of -∞ before the softmax would give.
      SoftmaxLine(weights + b, scores + b, batch, length);
      for (ptrdiff_t t = length; t < time; t++) weights[t * batch + b] = T{0};
      std::fill_n(output + b * columns, columns, T{0});
      for (ptrdiff_t t = 0; t < length; t++) {
        const T weight = weights[t * batch + b];
        const T* row = x + (t * batch + b) * columns;
        for (ptrdiff_t k = 0; k < columns; k++) output[b * columns + k] += weight * row[k];
      }
    }
  });
}

// attendGradients: dx, dscores, x, weights, dy; time, batch, columns
// dx[t,b] = w[t,b]·dy[b], dw[t,b] = x[t,b]·dy[b], and by the gradient of softmax over time
// dscores[t,b] = w[t,b]·(dw[t,b] - Σ_s w[s,b]·dw[s,b]). Past a row's end w is 0, so dx and dscores are 0 without a test
// of the length. x may hold any value there, NaN included, and is not read.
template <typename T>
void AttendGradients(const Engine<T>& engine, const LayerOperands<T>& on) {
  T *dx = on.data[0], *d_scores = on.data[1];
  const T *x = on.data[2], *weights = on.data[3], *dy = on.data[4];
  const ptrdiff_t time = on.size(0), batch = on.size(1), columns = on.size(2);
  std::vector<double> d_weights(static_cast<size_t>(time * batch));
  ForEach(engine, batch, RowsPerPart(time * columns), [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t b = begin; b < end; b++) {
      const T* gradient = dy + b * columns;
      for (ptrdiff_t t = 0; t < time; t++) {
        const ptrdiff_t n = t * batch + b;
        const T* row = x + n * columns;
        double sum = 0;
        for (ptrdiff_t k = 0; weights[n] != 0 && k < columns; k++) sum += static_cast<double>(row[k]) * gradient[k];
        for (ptrdiff_t k = 0; k < columns; k++) dx[n * columns + k] = weights[n] * gradient[k];
        d_weights[n] = sum;
      }
      SoftmaxLineGradient(d_scores + b, weights + b, d_weights.data() + b, batch, time);
    }
  });
}

// The loss of one element; its derivative by the prediction in *slope.
template <typename T>
double LossOf(ElementLoss loss, T prediction, T target, double* slope) {
  const double p = prediction, y = target;
  switch (loss) {
    case ElementLoss::kSquaredError:
      *slope = 2 * (p - y);
      return (p - y) * (p - y);
    case ElementLoss::kAbsoluteError:
      // At p = y the subgradient 0; p - y instead of 0 keeps a NaN.
      *slope = p > y ? 1 : p < y ? -1 : p - y;
      return std::abs(p - y);
    case ElementLoss::kSigmoidCrossEntropy:
      *slope = SigmoidOf(p) - y;
      // -y·ln σ(p) - (1 - y)·ln(1 - σ(p)), rearranged so that no exponential overflows:
      // https://www.tensorflow.org/api_docs/python/tf/nn/sigmoid_cross_entropy_with_logits
      return std::max(p, 0.0) - p * y + std::log1p(std::exp(-std::abs(p)));
  }
  return 0;
}

// elementLoss: loss, gradient, predictions, targets, weights or null; loss, rows, columns
// Weighted mean of a loss over [N,E], and its gradient with respect to the predictions.
template <typename T>
void ElementLossOf(const Engine<T>& engine, const LayerOperands<T>& on) {
  T *loss = on.data[0], *gradient = on.data[1];
  const T *predictions = on.data[2], *targets = on.data[3], *weights = on.data[4];
  const auto rule = static_cast<ElementLoss>(on.size(0));
  const ptrdiff_t rows = on.size(1), columns = on.size(2);
  // The mean is over the weights' sum, as tf.losses does with SUM_BY_NONZERO_WEIGHTS for weights of 0 and 1.
  double total = weights == nullptr ? static_cast<double>(rows) : 0;
  for (ptrdiff_t n = 0; weights != nullptr && n < rows; n++) total += weights[n];
  // A loss per row, added in order afterwards: the sum does not depend on the number of threads.
  std::vector<double> losses(static_cast<size_t>(rows));
  ForEach(engine, rows, RowsPerPart(columns), [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t n = begin; n < end; n++) {
      const double weight =
          total == 0 ? 0 : (weights == nullptr ? 1 : weights[n]) / total / static_cast<double>(columns);
      for (ptrdiff_t k = n * columns; k < (n + 1) * columns; k++) {
        // Masked-out elements may hold any value, NaN included.
        double slope = 0;
        if (weight != 0) losses[n] += weight * LossOf(rule, predictions[k], targets[k], &slope);
        gradient[k] = static_cast<T>(weight * slope);
      }
    }
  });
  double sum = 0;
  for (const double each : losses) sum += each;
  *loss = static_cast<T>(sum);
}

}  // namespace

// The one entry point, so that the binding needs no function for each operation.
template <typename T>
void RunLayerOp(const Engine<T>& engine, LayerOp op, const LayerOperands<T>& operands) {
  switch (op) {
    case LayerOp::kActivate:
      return Activate(engine, operands);
    case LayerOp::kActivationGradient:
      return ActivationGradient(engine, operands);
    case LayerOp::kMultiply:
      return Multiply(engine, operands);
    case LayerOp::kDropout:
      return Dropout(engine, operands);
    case LayerOp::kLayerNorm:
      return LayerNorm(engine, operands);
    case LayerOp::kLayerNormGradients:
      return LayerNormGradients(engine, operands);
    case LayerOp::kCopyColumns:
      return CopyColumns(engine, operands);
    case LayerOp::kReverseSequence:
      return ReverseSequence(engine, operands);
    case LayerOp::kPoolSequence:
      return PoolSequence(engine, operands);
    case LayerOp::kPoolSequenceGradient:
      return PoolSequenceGradient(engine, operands);
    case LayerOp::kAttend:
      return Attend(engine, operands);
    case LayerOp::kAttendGradients:
      return AttendGradients(engine, operands);
    case LayerOp::kElementLoss:
      return ElementLossOf(engine, operands);
  }
}

template void RunLayerOp(const Engine<float>&, LayerOp, const LayerOperands<float>&);
template void RunLayerOp(const Engine<double>&, LayerOp, const LayerOperands<double>&);

}  // namespace cudnn_rnn
