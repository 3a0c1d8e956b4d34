#include "cudnn/rnn_shape.h"

namespace emulator {

FloatType TypeOf(int dtype) {
  switch (dtype) {
    case CUDNN_DATA_DOUBLE: return FloatType::kFloat64;
    case CUDNN_DATA_HALF: return FloatType::kFloat16;
    case CUDNN_DATA_BFLOAT16: return FloatType::kBfloat16;
    default: return FloatType::kFloat32;
  }
}

RnnShape::RnnShape(const RnnDescriptor& d)
    : cell_mode(d.cell_mode),
      skip(d.input_mode == CUDNN_SKIP_INPUT),
      projected(d.proj_size < d.hidden_size),
      input_bias(d.bias_mode == CUDNN_RNN_SINGLE_INP_BIAS || d.bias_mode == CUDNN_RNN_DOUBLE_BIAS),
      recurrent_bias(d.bias_mode == CUDNN_RNN_SINGLE_REC_BIAS || d.bias_mode == CUDNN_RNN_DOUBLE_BIAS),
      type(TypeOf(d.dtype)),
      input(static_cast<std::size_t>(d.input_size)),
      hidden(static_cast<std::size_t>(d.hidden_size)),
      output(static_cast<std::size_t>(d.proj_size)),
      layers(static_cast<std::size_t>(d.layers)),
      directions(d.direction == CUDNN_BIDIRECTIONAL ? 2 : 1),
      gates(d.cell_mode == CUDNN_LSTM  ? 4
            : d.cell_mode == CUDNN_GRU ? 3
                                       : 1) {}

std::size_t RnnShape::InputMatrices(std::size_t pseudo) const {
  return skip && pseudo < directions ? 0 : gates * hidden * InputOf(pseudo);
}

std::size_t RnnShape::MatrixStart(std::size_t pseudo) const {
  const std::size_t behind_input = gates * hidden * output + (projected ? output * hidden : 0);
  std::size_t start = 0;
  for (std::size_t p = 0; p < pseudo; ++p) start += InputMatrices(p) + behind_input;
  return start;
}

std::size_t RnnShape::BiasStart(std::size_t pseudo) const {
  return MatrixStart(PseudoLayers()) + pseudo * BiasesPerLayer();
}

std::optional<Piece> RnnShape::Matrix(std::size_t pseudo, std::size_t id) const {
  const std::size_t start = MatrixStart(pseudo);
  const std::size_t in = InputOf(pseudo);
  if (id < gates) {
    if (InputMatrices(pseudo) == 0) return std::nullopt;
    return Piece{start + id * hidden * in, hidden, in};
  }
  const std::size_t recurrent = start + InputMatrices(pseudo);
  if (id < 2 * gates) return Piece{recurrent + (id - gates) * hidden * output, hidden, output};
  if (id == 2 * gates && projected) return Piece{recurrent + gates * hidden * output, output, hidden};
  return std::nullopt;
}

std::optional<Piece> RnnShape::Bias(std::size_t pseudo, std::size_t id) const {
  const bool input_side = id < gates;
  if (id >= 2 * gates || !(input_side ? input_bias : recurrent_bias)) return std::nullopt;
  const std::size_t before = input_side ? id : (input_bias ? id : id - gates);
  return Piece{BiasStart(pseudo) + before * hidden, hidden, 1};
}

}  // namespace emulator
