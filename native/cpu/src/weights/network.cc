#include "weights/network.h"

#include <algorithm>

#include "weights/divide_up.h"

namespace cudnn_rnn {

// Places of the matrices: see the head of network.h. Padding to whole chunks costs little if units are many, and
// saves every kernel the handling of a tail.
template <typename T>
Network<T>::Network(const NetworkOptions& options, PanelOrder order) : options_(options), order_(order) {
  const ptrdiff_t unit_chunks = DivideUp(options.units, kChunk<T>);
  padded_units_ = unit_chunks * kChunk<T>;
  padded_columns_ = DivideUp(columns(), kChunk<T>) * kChunk<T>;
  if (is_gated()) {
    panels_ = unit_chunks;
    panel_units_ = kChunk<T>;
    // LSTM: i f g o. GRU: x_n r u q_n, of which the input side has three and the recurrent side three.
    z_width_ = 4 * kChunk<T>;
    input_chunks_ = gates();
    const ptrdiff_t left = options.units % kChunk<T>;
    last_chunks_ = static_cast<int>(options.cell == Cell::kLstm ? DivideUp(4 * left, kChunk<T>)
                                                                : 1 + DivideUp(2 * left, kChunk<T>));
    // A skipped input is added to each gate, by chunks.
    if (left == 0 || last_chunks_ >= gates() || options.skip_input) {
      last_chunks_ = gates();
    } else {
      packed_units_ = left;
    }
  } else {
    // Without gates a panel is up to four chunks of consecutive units.
    input_chunks_ = static_cast<int>(std::min<ptrdiff_t>(kPanelChunks, unit_chunks));
    panels_ = DivideUp(unit_chunks, input_chunks_);
    panel_units_ = z_width_ = input_chunks_ * kChunk<T>;
  }
  for (int pseudo_layer = 0; pseudo_layer < pseudo_layers(); pseudo_layer++) {
    // The input of layer 0 is the network's; deeper layers read both directions of the layer below.
    const bool first = pseudo_layer < options.directions;
    LayerLayout layout;
    layout.input_size = first ? options.input_size : output_size();
    if (!(first && options.skip_input)) layout.input = PlaceGates(layout.input_size);
    layout.recurrent = PlaceGates(columns());
    if (options.projection > 0) layout.projection = PlacePlain(options.projection, options.units);
    const ptrdiff_t bias_size = is_gated() ? ((panels_ - 1) * gates() + last_chunks_) * kChunk<T> : padded_units_;
    if (options.input_bias) layout.input_bias = Place(bias_size);
    if (options.recurrent_bias) layout.recurrent_bias = Place(bias_size);
    layers_.push_back(layout);
  }
}

// The gates of one chunk of units side by side: when a panel is multiplied, its cells have all they need.
template <typename T>
PanelMatrix Network<T>::PlaceGates(ptrdiff_t depth) {
  if (!is_gated()) return PlacePlain(options_.units, depth);
  PanelMatrix matrix;
  matrix.order = order_;
  matrix.depth = depth;
  matrix.panels = panels_;
  matrix.chunks = gates();
  matrix.last_chunks = last_chunks_;
  matrix.number = matrices_++;
  matrix.offset = Place(((panels_ - 1) * gates() + last_chunks_) * depth * kChunk<T>);
  return matrix;
}

// Outputs in order, four chunks to a panel; the last panel may have fewer.
template <typename T>
PanelMatrix Network<T>::PlacePlain(ptrdiff_t outputs, ptrdiff_t depth) {
  const ptrdiff_t chunks = DivideUp(outputs, kChunk<T>);
  PanelMatrix matrix;
  matrix.order = order_;
  matrix.depth = depth;
  matrix.chunks = static_cast<int>(std::min<ptrdiff_t>(kPanelChunks, chunks));
  matrix.panels = DivideUp(chunks, matrix.chunks);
  matrix.last_chunks = static_cast<int>(chunks - (matrix.panels - 1) * matrix.chunks);
  matrix.number = matrices_++;
  matrix.offset = Place(chunks * depth * kChunk<T>);
  return matrix;
}

// Offsets are multiples of a chunk, as all sizes are, so a buffer that begins a cache line has all panels aligned.
template <typename T>
ptrdiff_t Network<T>::Place(ptrdiff_t size) {
  const ptrdiff_t offset = params_size_;
  params_size_ += size;
  return offset;
}

// The gates of GRU in canonical order are r u n, cuDNN's order of linLayerID. The input side stores n first, so that
// r and u of both sides are added in the same two chunks of z (x_n r u q_n).
template <typename T>
int Network<T>::ChunkOfGate(Side side, int gate) const {
  return options_.cell == Cell::kGru && side == Side::kInput ? (gate + 1) % 3 : gate;
}

// A GRU has n, r u on the input side and r u, n on the recurrent side.
template <typename T>
ptrdiff_t Network<T>::PackedColumn(Side side, int chunk) const {
  if (options_.cell == Cell::kLstm) return chunk * packed_units_;
  const ptrdiff_t input[] = {0, kChunk<T>, kChunk<T> + packed_units_};
  const ptrdiff_t recurrent[] = {0, packed_units_, kChunk<T>};
  return side == Side::kInput ? input[chunk] : recurrent[chunk];
}

template <typename T>
ptrdiff_t Network<T>::GateColumn(ptrdiff_t panel, Side side, int gate) const {
  const int chunk = ChunkOfGate(side, gate);
  return IsPacked(panel) ? PackedColumn(side, chunk) : chunk * kChunk<T>;
}

// The matrix of a canonical tensor. W [H,in], R [H,C] and the projection [P,H] are row-major there.
template <typename T>
const PanelMatrix& Network<T>::MatrixOf(int pseudo_layer, Side side) const {
  const LayerLayout& layout = layers_[pseudo_layer];
  if (side == Side::kProjection) return layout.projection;
  return side == Side::kInput ? layout.input : layout.recurrent;
}

// Elements of one canonical matrix: H·in, H·C or P·H.
template <typename T>
ptrdiff_t Network<T>::WeightSize(int pseudo_layer, Side side) const {
  return (side == Side::kProjection ? options_.projection : options_.units) * MatrixOf(pseudo_layer, side).depth;
}

// Row by row of the canonical matrix. Its elements are a chunk or more apart in the opaque buffer, which costs a cache
// line for each: a conversion at loading and saving, not part of any pass.
template <typename T>
void Network<T>::MoveWeight(T* params, T* canonical, int pseudo_layer, Side side, int gate, bool into) const {
  const bool projects = side == Side::kProjection;
  const PanelMatrix& matrix = MatrixOf(pseudo_layer, side);
  const bool gated = is_gated() && !projects;
  const ptrdiff_t rows = projects ? options_.projection : options_.units;
  // Canonical rows that fall into one panel.
  const ptrdiff_t panel_rows = gated ? kChunk<T> : matrix.chunks * kChunk<T>;
  // element (row, k) of the canonical matrix is element (k, row % panel_rows) of the panel: a panel is the transpose of
  // a block of rows, so a kernel loads the weights of consecutive outputs as one vector.
  for (ptrdiff_t row = 0; row < rows; row++) {
    const ptrdiff_t panel = row / panel_rows;
    const PanelStrides<T> strides = matrix.StridesOf<T>(panel);
    const ptrdiff_t column = gated ? GateColumn(panel, side, gate) : 0;
    // First element of the row's column of the panel.
    T* element = params + matrix.PanelBegin<T>(panel) + strides.ColumnAt(column + row % panel_rows);
    T* source = canonical + row * matrix.depth;
    for (ptrdiff_t k = 0; k < matrix.depth; k++) {
      if (into) {
        element[k * strides.row] = source[k];
      } else {
        source[k] = element[k * strides.row];
      }
    }
  }
}

// Biases have the order of the columns of a panel.
// Elements of the padding are never written and stay 0. Nothing is moved if the network has no such bias.
template <typename T>
void Network<T>::MoveBias(T* params, T* canonical, int pseudo_layer, Side side, int gate, bool into) const {
  const LayerLayout& layout = layers_[pseudo_layer];
  const ptrdiff_t offset = side == Side::kInput ? layout.input_bias : layout.recurrent_bias;
  if (offset < 0) return;
  T* bias = params + offset;
  for (ptrdiff_t unit = 0; unit < options_.units; unit++) {
    const ptrdiff_t panel = unit / kChunk<T>;
    T* element = bias + unit;
    if (is_gated()) element = bias + panel * z_input_width() + GateColumn(panel, side, gate) + unit % kChunk<T>;
    if (into) {
      *element = canonical[unit];
    } else {
      canonical[unit] = *element;
    }
  }
}

template class Network<float>;
template class Network<double>;

}  // namespace cudnn_rnn
