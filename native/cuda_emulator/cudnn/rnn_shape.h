#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/cudnn_objects.h"
#include "numeric/float_type.h"

namespace emulator {

/// A matrix or a bias in the weight space, in elements. Biases have one column.
struct Piece {
  std::size_t offset;
  std::size_t rows;
  std::size_t columns;
};

/// The sizes of a network, in the letters of the project: I input, H units, P output per direction, L layers,
/// D directions, G gates; and where its weights are.
///
/// The weight space holds all matrices, then all biases, without padding. Matrices by pseudo-layer p = layer·D +
/// direction: W_0 … W_{G-1} [H, in], R_0 … R_{G-1} [H, P], and the projection [P, H]; biases by pseudo-layer:
/// W's, then R's, each [H].
struct RnnShape {
  explicit RnnShape(const RnnDescriptor& descriptor);

  int cell_mode;
  bool skip;       ///< layer 0 adds x to every gate instead of W·x
  bool projected;  ///< P < H
  bool input_bias, recurrent_bias;
  FloatType type;
  std::size_t input, hidden, output, layers, directions, gates;

  std::size_t PseudoLayers() const { return layers * directions; }
  std::size_t InputOf(std::size_t pseudo) const { return pseudo < directions ? input : output * directions; }
  /// Elements of W_0 … W_{G-1} of one pseudo-layer: none in a skipped layer.
  std::size_t InputMatrices(std::size_t pseudo) const;

  std::size_t MatrixStart(std::size_t pseudo) const;
  std::size_t BiasStart(std::size_t pseudo) const;
  std::size_t BiasesPerLayer() const { return (input_bias + recurrent_bias) * gates * hidden; }
  std::size_t Elements() const { return BiasStart(PseudoLayers()); }

  /// The pieces with cuDNN's linLayerID: 0 … G-1 W, G … 2G-1 R, 2G the projection. Nothing if the network has none.
  std::optional<Piece> Matrix(std::size_t pseudo, std::size_t id) const;
  std::optional<Piece> Bias(std::size_t pseudo, std::size_t id) const;
};

/// The storage type of a cudnnDataType_t that RNNs accept.
FloatType TypeOf(int dtype);

}  // namespace emulator
