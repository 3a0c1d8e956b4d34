#pragma once

#include <algorithm>
#include <cmath>

#include "cudnn/rnn_pass.h"

namespace emulator {

// The four cells for one unit, forward and backward. w = W·x + b_W and u = R·h + b_R per gate.
//
//     RNN   h' = act(w + u)
//     LSTM  i = σ(w_i + u_i)  f = σ(w_f + u_f)  g = tanh(w_g + u_g)  o = σ(w_o + u_o)
//           c' = f·clip(c) + i·g   h' = o·tanh(clip(c')), before the projection
//     GRU   r = σ(w_r + u_r)  z = σ(w_z + u_z)  n = tanh(w_n + r·q), q = u_n   h' = (1 - z)·n + z·h

inline double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// The limits of cell states; without a clip they are infinite.
struct Clip {
  explicit Clip(const RnnPass& pass) {
    if (pass.descriptor.clip_mode != CUDNN_RNN_CLIP_MINMAX || pass.shape.cell_mode != CUDNN_LSTM) return;
    left = Rounded(pass.shape.type, pass.descriptor.clip_left);
    right = Rounded(pass.shape.type, pass.descriptor.clip_right);
  }

  double left = -INFINITY;
  double right = INFINITY;
  // In this order both pass a NaN on, as CUDNN_PROPAGATE_NAN requires.
  double operator()(double value) const { return std::min(std::max(value, left), right); }
  bool Holds(double value) const { return value <= left || value >= right; }
};

// cuDNN 9.19 on an H200: c is clipped where it is used, the first one included, and kept and returned unclipped.
struct LstmUnit {
  double i, f, g, o, c;

  LstmUnit() = default;
  LstmUnit(double a_i, double a_f, double a_g, double a_o, double c_before, const Clip& clip)
      : i(Sigmoid(a_i)), f(Sigmoid(a_f)), g(std::tanh(a_g)), o(Sigmoid(a_o)), c(f * clip(c_before) + i * g) {}
  double Hidden(const Clip& clip) const { return o * std::tanh(clip(c)); }
};

struct LstmGradient {
  double i, f, g, o, c_before;

  /// From ∂L/∂h' and ∂L/∂c'. A clipped use of a cell state passes no gradient on.
  LstmGradient(const LstmUnit& unit, double c_before_value, double dh, double dc, const Clip& clip) {
    const double t = std::tanh(clip(unit.c));
    const double total = dc + (clip.Holds(unit.c) ? 0 : dh * unit.o * (1 - t * t));
    i = total * unit.g * unit.i * (1 - unit.i);
    f = total * clip(c_before_value) * unit.f * (1 - unit.f);
    g = total * unit.i * (1 - unit.g * unit.g);
    o = dh * t * unit.o * (1 - unit.o);
    c_before = clip.Holds(c_before_value) ? 0 : total * unit.f;
  }
};

struct GruUnit {
  double r, z, n, q;

  GruUnit() = default;
  GruUnit(double a_r, double a_z, double w_n, double u_n)
      : r(Sigmoid(a_r)), z(Sigmoid(a_z)), n(std::tanh(w_n + r * u_n)), q(u_n) {}
  double Hidden(double h_before) const { return (1 - z) * n + z * h_before; }
};

struct GruGradient {
  double r, z, n, q, h_before;

  GruGradient(const GruUnit& unit, double h_before_value, double dh) {
    n = dh * (1 - unit.z) * (1 - unit.n * unit.n);
    z = dh * (h_before_value - unit.n) * unit.z * (1 - unit.z);
    r = n * unit.q * unit.r * (1 - unit.r);
    q = n * unit.r;
    h_before = dh * unit.z;  // the product with R is added to it
  }
};

inline double Activation(int cell_mode, double a) {
  return cell_mode == CUDNN_RNN_RELU ? std::max(a, 0.0) : std::tanh(a);
}

/// The gradient of a from the gradient of h', in terms of h': dh∘(1 - h'²) for tanh, dh where ReLU is open.
inline double ActivationGradient(int cell_mode, double h, double dh) {
  return cell_mode == CUDNN_RNN_RELU ? (h > 0 ? dh : 0) : dh * (1 - h * h);
}

}  // namespace emulator
