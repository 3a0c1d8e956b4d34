// A recurrent network: its sizes, and where every parameter is in the opaque buffer.
//
// The opaque buffer, pseudo-layer by pseudo-layer:  W panels | R panels | projection panels | b_W | b_R.
// A matrix is a list of panels (kernels.h); its columns of a panel are [chunk 0][chunk 1]…, a chunk of LSTM and GRU
// being one gate of the panel's units, of plain cells and projections the next units. Biases are in the order of the
// columns of their matrix. Lanes beyond the last unit are padding: zero in fresh parameters and in every gradient,
// never read into a result.
//
// Gates in order: LSTM i f g o on both sides; GRU n r u on the input side and r u n on the recurrent side, which makes
// both sides contiguous in the pre-activations x_n r u q_n.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/kernels.h"

namespace cudnn_rnn {

enum class Cell { kLstm, kGru, kRelu, kTanh };

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

// Where one matrix [outputs, depth] lies.
struct PanelMatrix {
  ptrdiff_t offset = -1;  // -1: absent
  ptrdiff_t depth = 0;
  ptrdiff_t panels = 0;
  int chunks = 0;
  int last_chunks = 0;

  bool present() const { return offset >= 0; }
  int ChunksOf(ptrdiff_t panel) const { return panel == panels - 1 ? last_chunks : chunks; }
  template <typename T>
  ptrdiff_t PanelBegin(ptrdiff_t panel) const {
    return offset + panel * depth * chunks * kChunk<T>;
  }
};

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
  explicit Network(const NetworkOptions& options);

  const NetworkOptions& options() const { return options_; }
  const LayerLayout& layer(int pseudo_layer) const { return layers_[pseudo_layer]; }
  ptrdiff_t params_size() const { return params_size_; }

  bool is_gated() const { return options_.cell == Cell::kLstm || options_.cell == Cell::kGru; }
  bool has_cell_state() const { return options_.cell == Cell::kLstm; }
  int gates() const;
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
  // Width of a panel's pre-activations, of their input side, and where their recurrent side begins.
  ptrdiff_t z_width() const { return z_width_; }
  ptrdiff_t z_input_width() const { return input_chunks_ * kChunk<T>; }
  ptrdiff_t z_recurrent_begin() const { return options_.cell == Cell::kGru ? kChunk<T> : 0; }

  // Elements of a canonical matrix of one gate.
  ptrdiff_t WeightSize(int pseudo_layer, Side side) const;
  // Copies a canonical matrix [rows, depth] of one gate into the opaque buffer, or out of it.
  void MoveWeight(T* params, T* canonical, int pseudo_layer, Side side, int gate, bool into) const;
  // Likewise a bias [units].
  void MoveBias(T* params, T* canonical, int pseudo_layer, Side side, int gate, bool into) const;

 private:
  const PanelMatrix& MatrixOf(int pseudo_layer, Side side) const;
  PanelMatrix PlaceGates(ptrdiff_t depth);
  PanelMatrix PlacePlain(ptrdiff_t outputs, ptrdiff_t depth);
  ptrdiff_t Place(ptrdiff_t size);
  int ChunkOfGate(Side side, int gate) const;

  NetworkOptions options_;
  std::vector<LayerLayout> layers_;
  ptrdiff_t params_size_ = 0;
  ptrdiff_t padded_units_ = 0;
  ptrdiff_t padded_columns_ = 0;
  ptrdiff_t panels_ = 0;
  ptrdiff_t panel_units_ = 0;
  ptrdiff_t z_width_ = 0;
  int input_chunks_ = 0;
};

}  // namespace cudnn_rnn
