// A recurrent network: its sizes, and where every parameter is in the opaque buffer.
//
// The opaque buffer, pseudo-layer by pseudo-layer:  W panels | R panels | projection panels | b_W | b_R.
// A matrix is a list of panels (kernels.h), in the order that the kernels of the executor read. A chunk of LSTM and GRU
// is one gate of the panel's units, of plain cells and projections the next units. Biases are in the order of the
// columns of their matrix. Lanes beyond the last unit are padding: zero in fresh parameters and in every gradient,
// never read into a result.
//
// Gates in order: LSTM i f g o on both sides; GRU n r u on the input side and r u n on the recurrent side, which makes
// both sides contiguous in the pre-activations x_n r u q_n.
//
// A last panel of few units is packed: a chunk for each gate would be padding for the most part, a quarter of the
// columns of 20 units. The gates of an LSTM then lie side by side, and r and u of a GRU share a chunk, so that its
// recurrent side begins with a chunk of the pre-activations as elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/kernels.h"
#include "weights/panel_matrix.h"

namespace cudnn_rnn {

struct NetworkOptions {
  Cell cell;
  int layers;
  int directions;
  ptrdiff_t units;
  ptrdiff_t input_size;
  ptrdiff_t projection;  // 0 for none
  bool skip_input;
  bool input_bias;
  bool recurrent_bias;
  double clip;  // infinity for none
  double dropout;
  uint64_t seed;
};

// Numbers of a network in JavaScript, in the order of the options:
// packages/ops/src/executor/kernels/network_numbers.ts.
inline constexpr ptrdiff_t kNetworkNumbers = 12;
// Checked in JavaScript. The seed is an integer below 2^53, so exact in a double.
inline NetworkOptions OptionsOf(const double* numbers) {
  const auto size = [&](int k) { return static_cast<ptrdiff_t>(numbers[k]); };
  const auto flag = [&](int k) { return numbers[k] != 0; };
  return {static_cast<Cell>(size(0)),
          static_cast<int>(size(1)),
          static_cast<int>(size(2)),
          size(3),
          size(4),
          size(5),
          flag(6),
          flag(7),
          flag(8),
          numbers[9],
          numbers[10],
          static_cast<uint64_t>(numbers[11])};
}

// Parameters of one pseudo-layer; -1 for a bias that the bias mode leaves out.
struct LayerLayout {
  ptrdiff_t input_size;
  PanelMatrix input;
  PanelMatrix recurrent;
  PanelMatrix projection;
  ptrdiff_t input_bias = -1;
  ptrdiff_t recurrent_bias = -1;
};

// The numbers that JavaScript passes to moveRegion.
enum class Side { kInput, kRecurrent, kProjection };

// The same network in either element type: sizes differ, as a chunk is 64 bytes.
template <typename T>
class Network {
 public:
  // `order` is that of the kernels that compute with it.
  Network(const NetworkOptions& options, PanelOrder order);

  const NetworkOptions& options() const { return options_; }
  const LayerLayout& layer(int pseudo_layer) const { return layers_[pseudo_layer]; }
  ptrdiff_t params_size() const { return params_size_; }

  bool is_gated() const { return options_.cell == Cell::kLstm || options_.cell == Cell::kGru; }
  bool has_cell_state() const { return options_.cell == Cell::kLstm; }
  // LSTM i f g o, GRU r u n. cuDNN counts twice as many linear layers, these for each side.
  int gates() const { return options_.cell == Cell::kLstm ? 4 : options_.cell == Cell::kGru ? 3 : 1; }
  int pseudo_layers() const { return options_.layers * options_.directions; }
  // Columns of h and of one direction's output.
  ptrdiff_t columns() const { return options_.projection > 0 ? options_.projection : options_.units; }
  ptrdiff_t output_size() const { return columns() * options_.directions; }
  // Elements of a row of units, and of h, padded to whole chunks.
  ptrdiff_t padded_units() const { return padded_units_; }
  ptrdiff_t padded_columns() const { return padded_columns_; }

  // Panels of units, and how many units each has.
  ptrdiff_t panels() const { return panels_; }
  ptrdiff_t panel_units() const { return panel_units_; }
  // Whether the gates of a panel lie side by side without padding: only in a last panel, if that saves a chunk.
  bool IsPacked(ptrdiff_t panel) const { return packed_units_ > 0 && panel == panels_ - 1; }
  bool has_packed_panel() const { return packed_units_ > 0; }
  // The start of plane number `plane` of four in a row of the packed panel's pre-activations.
  ptrdiff_t PackedPlane(int plane) const {
    return plane < 3 ? PackedColumn(Side::kInput, plane)
                     : z_recurrent_begin() + PackedColumn(Side::kRecurrent, gates() - 1);
  }
  // Width of a panel's pre-activations, of their input side, and where their recurrent side begins.
  ptrdiff_t z_width() const { return z_width_; }
  ptrdiff_t z_input_width() const { return input_chunks_ * kChunk<T>; }
  ptrdiff_t z_recurrent_begin() const { return options_.cell == Cell::kGru ? kChunk<T> : 0; }

  // Elements of a canonical matrix of one gate.
  ptrdiff_t WeightSize(int pseudo_layer, Side side) const;
  // Copies a canonical matrix [rows, depth] of one gate into the opaque buffer, or out of it.
  void MoveWeight(T* params, T* canonical, int pseudo_layer, Side side, int gate, bool into) const;
  // The same for a bias [units].
  void MoveBias(T* params, T* canonical, int pseudo_layer, Side side, int gate, bool into) const;

 private:
  const PanelMatrix& MatrixOf(int pseudo_layer, Side side) const;
  PanelMatrix PlaceGates(ptrdiff_t depth);
  PanelMatrix PlacePlain(ptrdiff_t outputs, ptrdiff_t depth);
  ptrdiff_t Place(ptrdiff_t size);
  int ChunkOfGate(Side side, int gate) const;
  // The first column of a gate in a panel of a matrix.
  ptrdiff_t GateColumn(ptrdiff_t panel, Side side, int gate) const;
  ptrdiff_t PackedColumn(Side side, int chunk) const;

  NetworkOptions options_;
  PanelOrder order_;
  std::vector<LayerLayout> layers_;
  int matrices_ = 0;
  ptrdiff_t params_size_ = 0;
  ptrdiff_t padded_units_ = 0;
  ptrdiff_t padded_columns_ = 0;
  ptrdiff_t panels_ = 0;
  ptrdiff_t panel_units_ = 0;
  ptrdiff_t packed_units_ = 0;  // of the packed panel; 0 for none
  int last_chunks_ = 0;         // of a last panel of gates
  ptrdiff_t z_width_ = 0;
  int input_chunks_ = 0;
};

}  // namespace cudnn_rnn
