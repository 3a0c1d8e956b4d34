// A recurrent network in plain loops over its canonical parameters, in double precision: cuDNN's equations
// (https://docs.nvidia.com/deeplearning/cudnn/latest/api/cudnn-adv-library.html, cudnnRNNMode_t), one element after
// another. It has none of the layouts, blocks and schedules that the passes under test have.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "weights/network.h"

namespace cudnn_rnn {

// The parameters of one pseudo-layer: of each gate a matrix, row-major, and a bias; empty if the network has none.
struct ReferenceLayer {
  std::vector<std::vector<double>> input, recurrent, input_bias, recurrent_bias;
  std::vector<double> projection;
};

struct ReferenceStates {
  std::vector<double> output;  // [T,B,D·C]
  std::vector<double> h;       // [L·D,B,C]
  std::vector<double> c;       // [L·D,B,H], LSTM
};

class ReferenceNetwork {
 public:
  // Parameters that differ from each other; `scale` is their magnitude.
  explicit ReferenceNetwork(const NetworkOptions& options, double scale = 0.5) : options_(options) {
    int drawn = 0;
    const auto draw = [&](ptrdiff_t count) {
      std::vector<double> values(static_cast<size_t>(count));
      for (double& value : values) value = scale * std::sin(1.7 * ++drawn);
      return values;
    };
    layers_.resize(static_cast<size_t>(options.layers * options.directions));
    for (size_t p = 0; p < layers_.size(); p++) {
      ReferenceLayer& layer = layers_[p];
      for (int gate = 0; gate < gates(); gate++) {
        layer.input.push_back(draw(Skips(p) ? 0 : options.units * InputsOf(p)));
        layer.recurrent.push_back(draw(options.units * columns()));
        layer.input_bias.push_back(draw(options.input_bias ? options.units : 0));
        layer.recurrent_bias.push_back(draw(options.recurrent_bias ? options.units : 0));
      }
      layer.projection = draw(options.projection * options.units);
    }
  }

  int gates() const { return options_.cell == Cell::kLstm ? 4 : options_.cell == Cell::kGru ? 3 : 1; }
  ptrdiff_t columns() const { return options_.projection > 0 ? options_.projection : options_.units; }
  ptrdiff_t output_size() const { return columns() * options_.directions; }
  size_t StateSize(ptrdiff_t batch) const { return layers_.size() * static_cast<size_t>(batch * columns()); }
  size_t CellSize(ptrdiff_t batch) const { return layers_.size() * static_cast<size_t>(batch * options_.units); }

  // visit(vector of elements, pseudo-layer, side, gate, is_bias) for each tensor that the network has.
  template <typename Visit>
  void ForEachTensor(const Visit& visit) {
    for (int p = 0; p < static_cast<int>(layers_.size()); p++) {
      ReferenceLayer& layer = layers_[static_cast<size_t>(p)];
      for (int gate = 0; gate < gates(); gate++) {
        const auto g = static_cast<size_t>(gate);
        if (!layer.input[g].empty()) visit(layer.input[g], p, Side::kInput, gate, false);
        visit(layer.recurrent[g], p, Side::kRecurrent, gate, false);
        if (options_.input_bias) visit(layer.input_bias[g], p, Side::kInput, gate, true);
        if (options_.recurrent_bias) visit(layer.recurrent_bias[g], p, Side::kRecurrent, gate, true);
      }
      if (options_.projection > 0) visit(layer.projection, p, Side::kProjection, 0, false);
    }
  }

  // The opaque buffer of the same parameters.
  template <typename T>
  std::vector<T> Opaque(const Network<T>& network) {
    std::vector<T> params(static_cast<size_t>(network.params_size()));
    ForEachTensor([&](const std::vector<double>& tensor, int p, Side side, int gate, bool is_bias) {
      std::vector<T> canonical(tensor.begin(), tensor.end());
      if (is_bias) {
        network.MoveBias(params.data(), canonical.data(), p, side, gate, true);
      } else {
        network.MoveWeight(params.data(), canonical.data(), p, side, gate, true);
      }
    });
    return params;
  }

  // input [T,B,I], h [L·D,B,C] and c [L·D,B,H] of the beginning, lengths [B] or none.
  ReferenceStates Run(const std::vector<double>& input, ptrdiff_t time, ptrdiff_t batch, const std::vector<double>& h,
                      const std::vector<double>& c, const std::vector<int32_t>& lengths = {}) const {
    ReferenceStates states{{}, h, c};
    for (double& cell : states.c) cell = std::clamp(cell, -options_.clip, options_.clip);
    std::vector<double> x = input;
    for (int layer = 0; layer < options_.layers; layer++) {
      std::vector<double> y(static_cast<size_t>(time * batch * output_size()));
      for (int direction = 0; direction < options_.directions; direction++) {
        const auto p = static_cast<size_t>(layer * options_.directions + direction);
        for (ptrdiff_t row = 0; row < batch; row++) {
          const ptrdiff_t steps = lengths.empty() ? time : lengths[static_cast<size_t>(row)];
          double* state = states.h.data() + (static_cast<ptrdiff_t>(p) * batch + row) * columns();
          double* cell = states.c.data() + (static_cast<ptrdiff_t>(p) * batch + row) * options_.units;
          for (ptrdiff_t step = 0; step < steps; step++) {
            const ptrdiff_t at = (direction == 0 ? step : steps - 1 - step) * batch + row;
            Step(p, x.data() + at * InputsOf(p), state, cell);
            std::copy_n(state, columns(), y.data() + at * output_size() + direction * columns());
          }
        }
      }
      x = y;
    }
    states.output = x;
    return states;
  }

 private:
  bool Skips(size_t p) const { return options_.skip_input && InLayer(p) == 0; }
  int InLayer(size_t p) const { return static_cast<int>(p) / options_.directions; }
  ptrdiff_t InputsOf(size_t p) const { return InLayer(p) == 0 ? options_.input_size : output_size(); }

  static double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

  // Row `unit` of matrix · vector, plus the bias; without a matrix the element of the vector.
  static double Sum(const std::vector<double>& matrix, const double* vector, ptrdiff_t depth,
                    const std::vector<double>& bias, ptrdiff_t unit) {
    double sum = bias.empty() ? 0 : bias[static_cast<size_t>(unit)];
    if (matrix.empty()) return sum + vector[unit];
    for (ptrdiff_t k = 0; k < depth; k++) sum += matrix[static_cast<size_t>(unit * depth + k)] * vector[k];
    return sum;
  }

  // One row: h and c become the next ones.
  void Step(size_t p, const double* x, double* h, double* c) const {
    const ReferenceLayer& layer = layers_[p];
    std::vector<double> next(static_cast<size_t>(options_.units));
    for (ptrdiff_t unit = 0; unit < options_.units; unit++) {
      const auto from_input = [&](size_t gate) {
        return Sum(layer.input[gate], x, InputsOf(p), layer.input_bias[gate], unit);
      };
      const auto from_state = [&](size_t gate) {
        return Sum(layer.recurrent[gate], h, columns(), layer.recurrent_bias[gate], unit);
      };
      const auto z = [&](size_t gate) { return from_input(gate) + from_state(gate); };
      double& result = next[static_cast<size_t>(unit)];
      switch (options_.cell) {
        case Cell::kLstm: {
          const double sum = Sigmoid(z(1)) * c[unit] + Sigmoid(z(0)) * std::tanh(z(2));
          c[unit] = std::clamp(sum, -options_.clip, options_.clip);
          result = Sigmoid(z(3)) * std::tanh(c[unit]);
          break;
        }
        case Cell::kGru: {
          const double reset = Sigmoid(z(0)), update = Sigmoid(z(1));
          const double candidate = std::tanh(from_input(2) + reset * from_state(2));
          result = (1 - update) * candidate + update * h[unit];
          break;
        }
        case Cell::kRelu:
          result = std::max(0.0, z(0));
          break;
        case Cell::kTanh:
          result = std::tanh(z(0));
          break;
      }
    }
    // Only now, as every unit reads the previous h.
    if (options_.projection == 0) {
      std::copy(next.begin(), next.end(), h);
      return;
    }
    for (ptrdiff_t k = 0; k < columns(); k++) h[k] = Sum(layer.projection, next.data(), options_.units, {}, k);
  }

  NetworkOptions options_;
  std::vector<ReferenceLayer> layers_;
};

}  // namespace cudnn_rnn
