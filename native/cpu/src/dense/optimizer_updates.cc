#include "dense/optimizer_updates.h"

#include <cmath>

namespace cudnn_rnn {
namespace {

// √x + ε as in the papers and PyTorch, or √(x + ε) as in TensorFlow 1's ApplyRMSProp
// (https://www.tensorflow.org/api_docs/python/tf/raw_ops/ApplyRMSProp).
template <typename T>
T Root(T x, T epsilon, bool epsilon_in_root) {
  return epsilon_in_root ? std::sqrt(x + epsilon) : std::sqrt(x) + epsilon;
}

}  // namespace

// Elementwise, so any range gives the same bits; the threads divide [0, count) by ForEach.
template <typename T>
void ApplyUpdate(Operation rule, const OperationOperands<T>& on, ptrdiff_t begin, ptrdiff_t end) {
  T* const x = on.data[0];
  // Scalars are rounded to T once. Terms such as 1 - β are formed in double before: rounding 0.999 to float32 would
  // change 1 - 0.999 by some 1e-5 of its value.
  const auto number = [&](int k) { return static_cast<T>(on.numbers[k]); };
  const auto flag = [&](int k) { return on.numbers[k] != 0; };
  switch (rule) {
    case Operation::kAssign: {
      const T* source = on.data[1];
      for (ptrdiff_t i = begin; i < end; i++) x[i] = source[i];
      return;
    }
    case Operation::kAddScaled: {
      const T* source = on.data[1];
      const T scale = number(0);
      for (ptrdiff_t i = begin; i < end; i++) x[i] += scale * source[i];
      return;
    }
    // Polyak 1964; Nesterov as in Sutskever et al. 2013 (https://proceedings.mlr.press/v28/sutskever13.html).
    case Operation::kMomentum: {
      T* velocity = on.data[1];
      const T* gradient = on.data[2];
      const T rate = number(0), momentum = number(1);
      const bool nesterov = flag(2), rate_in_velocity = flag(3);
      // TensorFlow and PyTorch: v = m·v + g, w -= rate·v. Keras: v = m·v + rate·g, w -= v (rate_in_velocity).
      const T in = rate_in_velocity ? rate : T{1};
      const T out = rate_in_velocity ? T{1} : rate;
      for (ptrdiff_t i = begin; i < end; i++) {
        const T g = in * gradient[i];
        const T v = momentum * velocity[i] + g;
        velocity[i] = v;
        // Nesterov's step evaluates at the point after the momentum: g + m·v' in place of v'.
        x[i] -= out * (nesterov ? g + momentum * v : v);
      }
      return;
    }
    // Kingma and Ba 2015, algorithm 1 (https://arxiv.org/abs/1412.6980):
    //   m = β₁m + (1-β₁)g   v = β₂v + (1-β₂)g²   x -= rate·(m/(1-β₁^t)) / (√(v/(1-β₂^t)) + ε)
    // The corrections of both moments are constants of the step.
    case Operation::kAdam: {
      T* first = on.data[1];
      T* second = on.data[2];
      const T* gradient = on.data[3];
      const T beta1 = number(1), rest1 = static_cast<T>(1 - on.numbers[1]);
      const T beta2 = number(2), rest2 = static_cast<T>(1 - on.numbers[2]);
      const T epsilon = number(3);
      const T rate = static_cast<T>(on.numbers[0] / (1 - std::pow(on.numbers[1], on.numbers[4])));
      // 1/(1 - β₂^t), with the step t from 1. The root is taken of the corrected moment and ε is added outside of it.
      const T correction2 = static_cast<T>(1 / (1 - std::pow(on.numbers[2], on.numbers[4])));
      for (ptrdiff_t i = begin; i < end; i++) {
        const T g = gradient[i];
        // m' = β₁m + (1-β₁)g and v' = β₂v + (1-β₂)g², kept uncorrected in the slots.
        const T m = beta1 * first[i] + rest1 * g;
        const T v = beta2 * second[i] + rest2 * g * g;
        first[i] = m;
        second[i] = v;
        x[i] -= rate * m / (std::sqrt(v * correction2) + epsilon);
      }
      return;
    }
    // Tieleman and Hinton 2012, with momentum as in tf.train.RMSPropOptimizer:
    //   s = ρs + (1-ρ)g²   v = m·v + rate·g/√(s + ε)   x -= v
    case Operation::kRmsProp: {
      T* square = on.data[1];
      T* velocity = on.data[2];
      const T* gradient = on.data[3];
      const T decay = number(1), rest = static_cast<T>(1 - on.numbers[1]);
      const T momentum = number(2), epsilon = number(3);
      const bool in_root = flag(4), rate_in_velocity = flag(5);
      const T in = rate_in_velocity ? number(0) : T{1};
      const T out = rate_in_velocity ? T{1} : number(0);
      for (ptrdiff_t i = begin; i < end; i++) {
        const T g = gradient[i];
        const T s = decay * square[i] + rest * g * g;
        // The gradient divided by the root of its running mean square, then momentum.
        const T v = momentum * velocity[i] + in * g / Root(s, epsilon, in_root);
        square[i] = s;
        velocity[i] = v;
        x[i] -= out * v;
      }
      return;
    }
    // Duchi, Hazan and Singer 2011 (https://jmlr.org/papers/v12/duchi11a.html): s += g², x -= rate·g/(√s + ε).
    case Operation::kAdagrad: {
      T* square = on.data[1];
      const T* gradient = on.data[2];
      const T rate = number(0), epsilon = number(1);
      const bool in_root = flag(2);
      for (ptrdiff_t i = begin; i < end; i++) {
        const T g = gradient[i];
        // The sum never decays, so the rate only falls.
        const T s = square[i] + g * g;
        square[i] = s;
        x[i] -= rate * g / Root(s, epsilon, in_root);
      }
      return;
    }
    // Decoupled from the gradient: Loshchilov and Hutter 2019 (https://arxiv.org/abs/1711.05101). x -= rate·mask ⊙ x,
    // with the product of learning rate and decay in `rate`.
    case Operation::kWeightDecay: {
      const T* mask = on.data[1];
      const T rate = number(0);
      for (ptrdiff_t i = begin; i < end; i++) x[i] -= rate * (mask == nullptr ? T{1} : mask[i]) * x[i];
      return;
    }
    case Operation::kClip: {
      const T limit = number(0);
      // Comparisons with NaN are false, so NaN stays.
      for (ptrdiff_t i = begin; i < end; i++) x[i] = x[i] > limit ? limit : x[i] < -limit ? -limit : x[i];
      return;
    }
    default:
      return;
  }
}

template void ApplyUpdate(Operation, const OperationOperands<float>&, ptrdiff_t, ptrdiff_t);
template void ApplyUpdate(Operation, const OperationOperands<double>&, ptrdiff_t, ptrdiff_t);

}  // namespace cudnn_rnn
