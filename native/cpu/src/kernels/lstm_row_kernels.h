// One step of one row of TensorFlow's LSTM cells, with layer normalization or without, forward and backward side by
// side. Equations in full: packages/cells/src/kinds/layer_norm_basic_lstm_cell.ts. Included, after activations.h, by
// the kernel files only.
#pragma once

#include "kernels/activations.h"
#include "kernels/kernels.h"

namespace {

using namespace cudnn_rnn;

// Rows are in JavaScript's arrays, without padding: the elements after the last whole vector of a row belong to the
// next row. Bodies of ForColumns load and store by way of one of these two.
template <typename V>
struct AllLanes {
  using T = typename V::Element;
  V Load(const T* p) const { return V::Load(p); }
  void Store(V v, T* p) const { v.Store(p); }
  V Keep(V v) const { return v; }
};

// The first `count` lanes; the others are zeros when loaded, and not stored.
template <typename V>
struct FirstLanes {
  using T = typename V::Element;
  ptrdiff_t count;
  // Goes through an array: a masked load exists on AVX-512 only, and a whole load could read past the JavaScript array.
  V Load(const T* p) const {
    T lanes[V::kLanes] = {};
    for (ptrdiff_t k = 0; k < count; k++) lanes[k] = p[k];
    return V::Load(lanes);
  }
  void Store(V v, T* p) const {
    T lanes[V::kLanes];
    v.Store(lanes);
    for (ptrdiff_t k = 0; k < count; k++) p[k] = lanes[k];
  }
  // v with zeros in the other lanes, which a sum must not count.
  V Keep(V v) const {
    T lanes[V::kLanes];
    v.Store(lanes);
    return Load(lanes);
  }
};

// body(lanes, k) for vectors that cover [0, count).
template <typename V, typename Body>
static inline void ForColumns(ptrdiff_t count, const Body& body) {
  ptrdiff_t k = 0;
  for (; k + V::kLanes <= count; k += V::kLanes) body(AllLanes<V>{}, k);
  if (k < count) body(FirstLanes<V>{count - k}, k);
}

// (x - μ)/√(σ² + ε) in place for kCount rows of `units`, one after another; inverses[k] = 1/√(σ² + ε).
//
// The mean is summed a second time, of the differences from the first result, and subtracted in two parts. Equal
// elements then give exactly 0, and not the rounding of their mean times 1/√ε (10^6 in TensorFlow's cell).
template <typename V, int kCount>
static inline void Standardize(typename V::Element* x, ptrdiff_t units, double epsilon, typename V::Element* inverses) {
  using T = typename V::Element;
  // The kCount rows are summed side by side, so that additions of one do not wait for another's.
  V sums[kCount], means[kCount], rests[kCount];
  for (int k = 0; k < kCount; k++) sums[k] = V::Set(0);
  ForColumns<V>(units, [&](auto lanes, ptrdiff_t u) {
    for (int k = 0; k < kCount; k++) sums[k] = sums[k] + lanes.Load(x + k * units + u);
  });
  for (int k = 0; k < kCount; k++) {
    means[k] = V::Set(static_cast<T>(static_cast<double>(Sum(sums[k])) / static_cast<double>(units)));
    sums[k] = V::Set(0);
  }
  ForColumns<V>(units, [&](auto lanes, ptrdiff_t u) {
    for (int k = 0; k < kCount; k++) sums[k] = sums[k] + lanes.Keep(lanes.Load(x + k * units + u) - means[k]);
  });
  for (int k = 0; k < kCount; k++) {
    rests[k] = V::Set(static_cast<T>(static_cast<double>(Sum(sums[k])) / static_cast<double>(units)));
    sums[k] = V::Set(0);
  }
  ForColumns<V>(units, [&](auto lanes, ptrdiff_t u) {
    for (int k = 0; k < kCount; k++) {
      const V difference = lanes.Keep(lanes.Load(x + k * units + u) - means[k] - rests[k]);
      sums[k] = MultiplyAdd(difference, difference, sums[k]);
    }
  });
  for (int k = 0; k < kCount; k++) {
    // σ² = mean((x - μ)²), the biased variance, as tf.nn.moments computes it.
    const double variance = static_cast<double>(Sum(sums[k])) / static_cast<double>(units);
    inverses[k] = static_cast<T>(InverseRoot(variance + epsilon));
  }
  ForColumns<V>(units, [&](auto lanes, ptrdiff_t u) {
    for (int k = 0; k < kCount; k++) {
      T* at = x + k * units + u;
      lanes.Store((lanes.Load(at) - means[k] - rests[k]) * V::Set(inverses[k]), at);
    }
  });
}

// γ∘x̂ + β of norm k; x itself without normalization.
template <typename V, bool kNormalizes, typename Lanes>
static inline V Affine(const Lanes& lanes, const LstmRowStep<typename V::Element>& p, int k, ptrdiff_t u, V x) {
  if constexpr (!kNormalizes) return x;
  const ptrdiff_t at = k * p.units + u;
  return MultiplyAdd(x, lanes.Load(p.gamma + at), lanes.Load(p.beta + at));
}

// g∘d with the factors d of dropout.
template <typename V, typename Lanes>
static inline V Dropped(const Lanes& lanes, const LstmRowStep<typename V::Element>& p, ptrdiff_t u, V g) {
  return p.dropout == nullptr ? g : g * lanes.Load(p.dropout + u);
}

// σ of the gates i, f and o, and its derivative from y = σ(x).
struct SigmoidGate {
  template <typename V>
  static V Value(V x) {
    return Sigmoid(x);
  }
  template <typename V>
  static V Slope(V y) {
    return y * (V::Set(1) - y);
  }
};

// Keras 2's: 0.2·x + 0.5 within [0, 1]. The derivative is 0.2, and 0 if x is clipped.
struct HardSigmoidGate {
  // A NaN passes through Min and Max in the second operand, as in Clamp.
  template <typename V>
  static V Value(V x) {
    return Min(V::Set(1), Max(V::Set(0), MultiplyAdd(x, V::Set(0.2), V::Set(0.5))));
  }
  template <typename V>
  static V Slope(V y) {
    return WhereLess(V::Set(0), y * (V::Set(1) - y), V::Set(0.2));
  }
};

//   i, f, o = σ(LN a_i, LN a_f + φ, LN a_o)   g = tanh(LN a_g)   c' = LN(f·c + i·(g∘d))   h' = o·tanh(c')
// With norms a first pass stores o in h and c in normalized_c; the second one follows the norm of c'.
template <typename V, bool kNormalizes, typename Gate>
static void LstmRow(const LstmRowStep<typename V::Element>& p) {
  const ptrdiff_t n = p.units;
  if constexpr (kNormalizes) Standardize<V, 4>(p.z, n, p.epsilon, p.inverses);
  ForColumns<V>(n, [&](auto lanes, ptrdiff_t u) {
    const auto gate = [&](int k) { return Affine<V, kNormalizes>(lanes, p, k, u, lanes.Load(p.z + k * n + u)); };
    const V i = Gate::Value(gate(0));
    const V g = Tanh(gate(1));
    const V f = Gate::Value(gate(2) + V::Set(p.forget_bias));
    const V o = Gate::Value(gate(3));
    const V c = MultiplyAdd(f, lanes.Load(p.c_previous + u), i * Dropped(lanes, p, u, g));
    if constexpr (kNormalizes) {
      lanes.Store(c, p.normalized_c + u);
      // h holds o until the second pass, which needs the normalized c of the whole row first.
      lanes.Store(o, p.h + u);
    } else {
      lanes.Store(i, p.z + u);
      lanes.Store(g, p.z + n + u);
      lanes.Store(f, p.z + 2 * n + u);
      lanes.Store(o, p.z + 3 * n + u);
      lanes.Store(c, p.c + u);
      lanes.Store(o * Tanh(c), p.h + u);
    }
  });
  if constexpr (!kNormalizes) return;
  Standardize<V, 1>(p.normalized_c, n, p.epsilon, p.inverses + 4);
  ForColumns<V>(n, [&](auto lanes, ptrdiff_t u) {
    const V c = Affine<V, true>(lanes, p, 4, u, lanes.Load(p.normalized_c + u));
    lanes.Store(c, p.c + u);
    lanes.Store(lanes.Load(p.h + u) * Tanh(c), p.h + u);
  });
}

// With s = δy·γ of a normalization y = γ·x̂ + β, whose x̂ = (x - μ)·r:
//   δx = (s - mean(s) - x̂·mean(s·x̂))·r   δγ += δy·x̂   δβ += δy
template <typename V>
struct NormSums {
  V sums[5];
  V slopes[5];
};

// Adds to δγ, δβ and the sums of norm k; returns s.
template <typename V, typename Lanes>
static inline V NormGradient(const Lanes& lanes, const LstmRowStep<typename V::Element>& p, NormSums<V>* all, int k,
                             ptrdiff_t u, V normalized, V dy) {
  const ptrdiff_t at = k * p.units + u;
  lanes.Store(MultiplyAdd(dy, normalized, lanes.Load(p.d_gamma + at)), p.d_gamma + at);
  lanes.Store(lanes.Load(p.d_beta + at) + dy, p.d_beta + at);
  const V s = dy * lanes.Load(p.gamma + at);
  all->sums[k] = all->sums[k] + s;
  all->slopes[k] = MultiplyAdd(s, normalized, all->slopes[k]);
  return s;
}

// With σ' = Gate::Slope and tanh' = 1 - tanh², as LstmBackward of cell_kernels.h. The activations of normalized gates
// are computed a second time, from x̂: kept, they would be four more planes of the tape.
template <typename V, bool kNormalizes, typename Gate>
static void LstmRowGradients(const LstmRowStep<typename V::Element>& p) {
  using T = typename V::Element;
  const ptrdiff_t n = p.units;
  const V one = V::Set(1);
  NormSums<V> all;
  for (int k = 0; k < 5; k++) all.sums[k] = all.slopes[k] = V::Set(0);
  // The padding lanes of the sums are zeros (FirstLanes::Load), so they do not count.
  const auto mean = [n](V sums) { return V::Set(static_cast<T>(static_cast<double>(Sum(sums)) / n)); };

  // With norms the gradient of c' needs two means over the row, so the output gate and c' come first, in a pass of
  // their own.
  V cell_mean = V::Set(0), cell_slope = V::Set(0);
  if constexpr (kNormalizes) {
    ForColumns<V>(n, [&](auto lanes, ptrdiff_t u) {
      const V normalized_o = lanes.Load(p.z + 3 * n + u);
      const V o = Gate::Value(Affine<V, true>(lanes, p, 3, u, normalized_o));
      const V tanh_c = Tanh(lanes.Load(p.c + u));
      const V dh = lanes.Load(p.dh + u);
      const V d_o = dh * tanh_c * Gate::Slope(o);
      lanes.Store(NormGradient(lanes, p, &all, 3, u, normalized_o, d_o), p.scratch + 3 * n + u);
      const V dc = MultiplyAdd(dh * o, one - tanh_c * tanh_c, lanes.Load(p.dc + u));
      lanes.Store(NormGradient(lanes, p, &all, 4, u, lanes.Load(p.normalized_c + u), dc), p.dc + u);
    });
    cell_mean = mean(all.sums[4]);
    cell_slope = mean(all.slopes[4]);
  }
  ForColumns<V>(n, [&](auto lanes, ptrdiff_t u) {
    V z[4];
    for (int k = 0; k < 4; k++) z[k] = lanes.Load(p.z + k * n + u);
    V i = z[0], g = z[1], f = z[2], dc;
    if constexpr (kNormalizes) {
      i = Gate::Value(Affine<V, true>(lanes, p, 0, u, i));
      g = Tanh(Affine<V, true>(lanes, p, 1, u, g));
      f = Gate::Value(Affine<V, true>(lanes, p, 2, u, f) + V::Set(p.forget_bias));
      const V normalized = lanes.Load(p.normalized_c + u);
      dc = (lanes.Load(p.dc + u) - cell_mean - normalized * cell_slope) * V::Set(p.inverses[4]);
    } else {
      const V o = z[3];
      const V tanh_c = Tanh(lanes.Load(p.c + u));
      const V dh = lanes.Load(p.dh + u);
      lanes.Store(dh * tanh_c * Gate::Slope(o), p.z + 3 * n + u);
      dc = MultiplyAdd(dh * o, one - tanh_c * tanh_c, lanes.Load(p.dc + u));
    }
    // c = f·c_prev + i·(g∘d): each factor's gradient is dc times the other factors, times the slope of its activation.
    const V d_i = dc * Dropped(lanes, p, u, g) * Gate::Slope(i);
    const V d_g = Dropped(lanes, p, u, dc * i * (one - g * g));
    const V d_f = dc * lanes.Load(p.c_previous + u) * Gate::Slope(f);
    lanes.Store(dc * f, p.dc + u);
    const V gradients[3] = {d_i, d_g, d_f};
    for (int k = 0; k < 3; k++) {
      if constexpr (kNormalizes) {
        lanes.Store(NormGradient(lanes, p, &all, k, u, z[k], gradients[k]), p.scratch + k * n + u);
      } else {
        lanes.Store(gradients[k], p.z + k * n + u);
      }
    }
  });
  if constexpr (!kNormalizes) return;
  for (int k = 0; k < 4; k++) {
    const V gate_mean = mean(all.sums[k]);
    const V gate_slope = mean(all.slopes[k]);
    const V inverse = V::Set(p.inverses[k]);
    ForColumns<V>(n, [&](auto lanes, ptrdiff_t u) {
      T* x = p.z + k * n + u;
      lanes.Store((lanes.Load(p.scratch + k * n + u) - gate_mean - lanes.Load(x) * gate_slope) * inverse, x);
    });
  }
}

// Branches per row; the kernels themselves have none. The callers refuse norms with other gates than sigmoids, which no
// cell has: each combination would add its code to the WebAssembly module.
template <typename V>
static void LstmRowForwardOf(const LstmRowStep<typename V::Element>& p) {
  if (p.gamma != nullptr) return LstmRow<V, true, SigmoidGate>(p);
  if (p.gate_activation == GateActivation::kSigmoid) return LstmRow<V, false, SigmoidGate>(p);
  LstmRow<V, false, HardSigmoidGate>(p);
}

template <typename V>
static void LstmRowBackwardOf(const LstmRowStep<typename V::Element>& p) {
  if (p.gamma != nullptr) return LstmRowGradients<V, true, SigmoidGate>(p);
  if (p.gate_activation == GateActivation::kSigmoid) return LstmRowGradients<V, false, SigmoidGate>(p);
  LstmRowGradients<V, false, HardSigmoidGate>(p);
}

}  // namespace
