// The equations of the cells, forward and backward side by side; sources and derivations:
// packages/reference/src/*_step.ts. Included, after activations.h, by the kernel files only.
#pragma once

#include "kernels/activations.h"
#include "kernels/kernels.h"
#include "kernels/tile_shapes.h"

namespace {

using namespace cudnn_rnn;

// Vectors whose activations are computed side by side, for the reason given at ReducedExp, and the rows that have them.
inline constexpr int kGroupVectors = 4;
template <typename V>
inline constexpr int kGroupRows = kVectorsOfChunk<V> < kGroupVectors ? kGroupVectors / kVectorsOfChunk<V> : 1;

// body(Count, first row): groups of rows, which keep several activation chains in flight (ReducedExp), then the rest
// one by one.
template <typename V, typename Body>
static inline void ForGroupsOfRows(ptrdiff_t rows, const Body& body) {
  ptrdiff_t row = 0;
  for (; row + kGroupRows<V> <= rows; row += kGroupRows<V>) body(Count<kGroupRows<V>>{}, row);
  for (; row < rows; row++) body(Count<1>{}, row);
}

// The forward and the backward of a cell are side by side, as each checks the other.
//
// LSTM (Hochreiter and Schmidhuber 1997; the forget gate: Gers, Schmidhuber and Cummins 2000), as cuDNN computes it:
// https://docs.nvidia.com/deeplearning/cudnn/latest/api/cudnn-adv-library.html (cudnnRNNMode_t)
//   i, f, o = σ(a_i, a_f, a_o)   g = tanh(a_g)   c' = clip(f·c + i·g)   h' = o·tanh(c')
// The four gates of 16 units are four vectors side by side, so a unit needs no value of another register: the cell
// costs no shuffles.
template <typename V, int kRows>
static inline void LstmRows(const CellForward<typename V::Element>& p, ptrdiff_t first) {
  using T = typename V::Element;
  constexpr ptrdiff_t kPlane = kChunk<T>;
  constexpr int kVectors = kVectorsOfChunk<V>;
  V outputs[kRows * kVectors], cells[kRows * kVectors];
  CUDNN_RNN_UNROLL
  for (int k = 0; k < kRows * kVectors; k++) {
    const ptrdiff_t row = first + k / kVectors;
    const ptrdiff_t cell_row = p.cell_rows == nullptr ? row : p.cell_rows[row];
    const ptrdiff_t u = k % kVectors * V::kLanes;
    const ptrdiff_t cell = cell_row * p.state_stride + u;
    T* z = p.z + row * p.z_stride + u;
    // Planes of z are i f g o, cuDNN's order; the three sigmoids are activated together, then g by tanh.
    V gates[] = {V::Load(z), V::Load(z + kPlane), V::Load(z + 3 * kPlane), V::Load(z + 2 * kPlane)};
    Activate<3>(gates);
    const auto& [i, f, o, g] = gates;
    cells[k] = Clamp(MultiplyAdd(f, V::Load(p.c_previous + cell), i * g), p.clip);
    outputs[k] = o;
    cells[k].Store(p.c + cell);
    if (p.keep) {
      i.Store(z);
      f.Store(z + kPlane);
      g.Store(z + 2 * kPlane);
      o.Store(z + 3 * kPlane);
    }
  }
  Activate<0>(cells);
  CUDNN_RNN_UNROLL
  for (int k = 0; k < kRows * kVectors; k++) {
    (outputs[k] * cells[k]).Store(p.h + (first + k / kVectors) * p.h_stride + k % kVectors * V::kLanes);
  }
}

template <typename V>
static void LstmForward(const CellForward<typename V::Element>& p) {
  ForGroupsOfRows<V>(p.rows, [&](auto count, ptrdiff_t row) { LstmRows<V, count.kValue>(p, row); });
}

// With σ' = σ·(1 - σ) and tanh' = 1 - tanh², all in terms of the activations that the forward kept in z:
//   δc' += δh'·o·(1 - tanh²(c')), and 0 if the clip was active
//   δa_i = δc'·g·i·(1 - i)   δa_f = δc'·c·f·(1 - f)
//   δa_g = δc'·i·(1 - g²)    δa_o = δh'·tanh(c')·o·(1 - o)
//   δc = δc'·f, the gradient that the step before receives
// tanh(c') is computed a second time: that is cheaper than a fifth plane of the tape, which would be written and read
// from memory.
template <typename V>
static void LstmBackward(const CellBackward<typename V::Element>& p) {
  using T = typename V::Element;
  constexpr ptrdiff_t kPlane = kChunk<T>;
  const V one = V::Set(1);
  for (ptrdiff_t row = 0; row < p.rows; row++) {
    T* z = p.z + row * p.z_stride;
    for (ptrdiff_t u = 0; u < kPlane; u += V::kLanes) {
      const ptrdiff_t unit = row * p.state_stride + u;
      const ptrdiff_t slope = row * p.gradient_stride + u;
      const V i = V::Load(z + u);
      const V f = V::Load(z + kPlane + u);
      const V g = V::Load(z + 2 * kPlane + u);
      const V o = V::Load(z + 3 * kPlane + u);
      const V c = V::Load(p.c + unit);
      const V tanh_c = Tanh(c);
      const V dh = V::Load(p.dh + slope);
      const V unclipped = MultiplyAdd(dh * o, one - tanh_c * tanh_c, V::Load(p.dc + slope));
      const V dc = UnlessAtLeast(Abs(c), V::Set(p.clip), unclipped);
      (dc * g * i * (one - i)).Store(z + u);
      (dc * V::Load(p.c_previous + unit) * f * (one - f)).Store(z + kPlane + u);
      (dc * i * (one - g * g)).Store(z + 2 * kPlane + u);
      (dh * tanh_c * o * (one - o)).Store(z + 3 * kPlane + u);
      (dc * f).Store(p.dc + slope);
    }
  }
}

// GRU (Cho et al. 2014) in cuDNN's form, linear before reset: r scales R_n·h + b_n after the product, so all three
// recurrent products of a step are one.
//   r, u = σ(x + q)   n = tanh(x_n + r·q_n)   h' = (1 - u)·n + u·h
// r and u need only the sum x + q of both sides, n needs them apart. With the planes in the order x_n r u q_n the input
// product writes planes 0 to 2, the recurrent product adds to planes 1 to 3, and both are contiguous.
template <typename V, int kRows>
static inline void GruRows(const CellForward<typename V::Element>& p, ptrdiff_t first) {
  using T = typename V::Element;
  constexpr ptrdiff_t kPlane = kChunk<T>;
  constexpr int kVectors = kVectorsOfChunk<V>;
  constexpr int kCount = kRows * kVectors;
  const auto z_of = [&](int k) { return p.z + (first + k / kVectors) * p.z_stride + k % kVectors * V::kLanes; };
  // r and u are activated together if the vectors of both fit one group.
  constexpr int kTogether = 2 * kCount <= kGroupVectors ? 2 : 1;
  V gates[2 / kTogether][kTogether * kCount], n[kCount];
  CUDNN_RNN_UNROLL
  for (int group = 0; group < 2 / kTogether; group++) {
    CUDNN_RNN_UNROLL
    for (int k = 0; k < kTogether * kCount; k++) {
      gates[group][k] = V::Load(z_of(k % kCount) + (1 + group + k / kCount) * kPlane);
    }
    Activate<kTogether * kCount>(gates[group]);
  }
  const auto r = [&](int k) { return gates[0][k]; };
  const auto u = [&](int k) { return gates[1 / kTogether][1 % kTogether * kCount + k]; };
  CUDNN_RNN_UNROLL
  for (int k = 0; k < kCount; k++) n[k] = MultiplyAdd(r(k), V::Load(z_of(k) + 3 * kPlane), V::Load(z_of(k)));
  Activate<0>(n);
  CUDNN_RNN_UNROLL
  for (int k = 0; k < kCount; k++) {
    const ptrdiff_t unit = (first + k / kVectors) * p.h_stride + k % kVectors * V::kLanes;
    MultiplyAdd(u(k), V::Load(p.h_previous + unit), (V::Set(1) - u(k)) * n[k]).Store(p.h + unit);
    if (p.keep) {
      T* z = z_of(k);
      n[k].Store(z);
      r(k).Store(z + kPlane);
      u(k).Store(z + 2 * kPlane);
    }
  }
}

template <typename V>
static void GruForward(const CellForward<typename V::Element>& p) {
  ForGroupsOfRows<V>(p.rows, [&](auto count, ptrdiff_t row) { GruRows<V, count.kValue>(p, row); });
}

// δn = δh'·(1 - u)·(1 - n²), which is the gradient of x_n; that of q_n is δn·r.
//   δa_r = δn·q_n·r·(1 - r)   δa_u = δh'·(h - n)·u·(1 - u)   δh = δh'·u + (the gradient through R)
template <typename V>
static void GruBackward(const CellBackward<typename V::Element>& p) {
  using T = typename V::Element;
  constexpr ptrdiff_t kPlane = kChunk<T>;
  const V one = V::Set(1);
  for (ptrdiff_t row = 0; row < p.rows; row++) {
    T* z = p.z + row * p.z_stride;
    for (ptrdiff_t k = 0; k < kPlane; k += V::kLanes) {
      const ptrdiff_t unit = row * p.state_stride + k;
      const ptrdiff_t slope = row * p.gradient_stride + k;
      const V n = V::Load(z + k);
      const V r = V::Load(z + kPlane + k);
      const V u = V::Load(z + 2 * kPlane + k);
      const V dh = V::Load(p.dh + slope);
      const V dn = dh * (one - u) * (one - n * n);
      dn.Store(z + k);
      (dn * V::Load(z + 3 * kPlane + k) * r * (one - r)).Store(z + kPlane + k);
      (dh * (V::Load(p.h_previous + unit) - n) * u * (one - u)).Store(z + 2 * kPlane + k);
      (dn * r).Store(z + 3 * kPlane + k);
      (dh * u).Store(p.dh + slope);
    }
  }
}

// φ'(a) is 1 for h > 0, else 0.
struct Relu {
  // a becomes φ(a).
  template <typename V, int kCount>
  static void Forward(V (&a)[kCount]) {
    CUDNN_RNN_UNROLL
    for (int k = 0; k < kCount; k++) a[k] = Max(V::Set(0), a[k]);
  }
  // dh · φ'(a), in terms of h = φ(a)
  template <typename V>
  static V Backward(V h, V dh) {
    return WhereLess(V::Set(0), h, dh);
  }
};

// φ' = 1 - h²: the derivative of tanh in terms of its result.
struct HyperbolicTangent {
  template <typename V, int kCount>
  static void Forward(V (&a)[kCount]) {
    Activate<0>(a);
  }
  template <typename V>
  static V Backward(V h, V dh) {
    return dh * (V::Set(1) - h * h);
  }
};

// h' = φ(a), Elman 1990. Without gates a panel is up to four chunks of units, so this kernel walks over all of them.
template <typename V, typename Activation, int kRows>
static inline void PlainRows(const CellForward<typename V::Element>& p, ptrdiff_t first) {
  constexpr int kVectors = kVectorsOfChunk<V>;
  for (ptrdiff_t chunk = 0; chunk < p.chunks; chunk++) {
    const auto unit_of = [&](int k) { return chunk * kChunk<typename V::Element> + k % kVectors * V::kLanes; };
    V a[kRows * kVectors];
    CUDNN_RNN_UNROLL
    for (int k = 0; k < kRows * kVectors; k++) a[k] = V::Load(p.z + (first + k / kVectors) * p.z_stride + unit_of(k));
    Activation::Forward(a);
    CUDNN_RNN_UNROLL
    for (int k = 0; k < kRows * kVectors; k++) a[k].Store(p.h + (first + k / kVectors) * p.h_stride + unit_of(k));
  }
}

template <typename V, typename Activation>
static void PlainForward(const CellForward<typename V::Element>& p) {
  ForGroupsOfRows<V>(p.rows, [&](auto count, ptrdiff_t row) { PlainRows<V, Activation, count.kValue>(p, row); });
}

// δa = δh'·φ'(a), from h alone; z receives δa.
template <typename V, typename Activation>
static void PlainBackward(const CellBackward<typename V::Element>& p) {
  for (ptrdiff_t row = 0; row < p.rows; row++) {
    for (ptrdiff_t k = 0; k < p.chunks * kChunk<typename V::Element>; k += V::kLanes) {
      const V h = V::Load(p.h + row * p.state_stride + k);
      const V dh = V::Load(p.dh + row * p.gradient_stride + k);
      Activation::Backward(h, dh).Store(p.z + row * p.z_stride + k);
    }
  }
}

}  // namespace
