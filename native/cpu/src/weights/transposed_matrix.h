// A matrix by whose transpose a backward pass multiplies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"
#include "weights/divide_up.h"
#include "weights/network.h"

namespace cudnn_rnn {

// The product with few rows reads the matrix as it is stored, as dot products along its rows. These cost up to a third
// more than products of panels, whose sums never leave the lane they are made in; so if a pass multiplies many rows,
// the matrix is first copied to panels of its transpose. That takes the time of a few rows, once per pass, and leaves
// the opaque buffer in the order that forward passes stream through.
template <typename T>
class TransposedMatrix {
 public:
  // Rows of a product that rounds.
  static constexpr ptrdiff_t kMostRoundedRows = 64;
  // Columns of the product that one panel of the transpose gives.
  static constexpr ptrdiff_t kPanelColumns = 4 * kChunk<T>;

  // c [rows, columns of the matrix] (+)= a · matrixᵀ, where a is in the panels of the matrix's outputs.
  struct Product {
    const T* a;
    ptrdiff_t a_stride;        // between rows
    ptrdiff_t a_panel_stride;  // between panels
    ptrdiff_t rows;
    T* c;
    ptrdiff_t c_stride;
    bool accumulate;
    // A column of the panel that most likely follows on this thread; outside the matrix for none.
    ptrdiff_t next_column = -1;
    // For a product that rounds: the calling thread's, and another number for other rows of a.
    RowsCopy* rows_copy = nullptr;
    uint64_t version = 0;
  };

  TransposedMatrix() = default;
  // `packed` has room for PackedSize elements, or is null. `rounding`: of products whose factors are rounded to
  // bfloat16, of a packed matrix; null for others.
  TransposedMatrix(const PanelMatrix& matrix, const T* params, T* packed, const Bfloat16Products<T>* rounding = nullptr)
      : matrix_(matrix), params_(params), packed_(packed), rounding_(rounding) {}

  // Whether copying pays for `products` products of `rows` rows each.
  static bool IsWorthPacking(ptrdiff_t products, ptrdiff_t rows) {
    return rows >= kProductRows && products * rows >= kPassRows;
  }
  static ptrdiff_t PackedSize(const PanelMatrix& matrix) {
    return matrix.present() ? OutputsOf(matrix) * WidthBefore(matrix, PanelsOf(matrix)) : 0;
  }

  bool is_packed() const { return packed_ != nullptr; }
  // Panels that can be packed in parallel.
  ptrdiff_t items() const { return is_packed() ? matrix_.panels : 0; }

  // Wᵀ in panels as GotoBLAS packs B: Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication, 2008
  // (https://doi.org/10.1145/1356052.1356053).
  // Copies one panel of outputs.
  void Pack(ptrdiff_t item) const {
    const ptrdiff_t width = matrix_.ChunksOf(item) * kChunk<T>;
    const PanelStrides<T> from = matrix_.template StridesOf<T>(item);
    const ptrdiff_t first_output = item * FullWidth();
    const T* panel = params_ + matrix_.template PanelBegin<T>(item);
    if (rounds()) return PackRounded(panel, from, first_output, width);
    for (ptrdiff_t p = 0; p < PanelsOf(matrix_); p++) {
      const ptrdiff_t column = p * kPanelColumns;
      const ptrdiff_t columns = std::min(kPanelColumns, matrix_.depth - column);
      const ptrdiff_t padded = Padded(columns);
      const PanelStrides<T> to = StridesOf(p);
      // Writes fill one line after another; reads stride by rows of the matrix.
      for (ptrdiff_t output = 0; output < width; output++) {
        T* row = PanelOf(p) + (first_output + output) * to.row;
        const T* source = panel + column * from.row + from.ColumnAt(output);
        for (ptrdiff_t k = 0; k < columns; k++) row[to.ColumnAt(k)] = source[k * from.row];
        for (ptrdiff_t k = columns; k < padded; k++) row[to.ColumnAt(k)] = 0;
      }
    }
  }

  // The columns [first, last) of a product; of a packed matrix, first is a multiple of kPanelColumns.
  void Multiply(const KernelTable<T>& kernels, const Product& product, ptrdiff_t first, ptrdiff_t last) const {
    if (!is_packed()) return MultiplyStored(kernels, product, first, last);
    for (ptrdiff_t column = first; column < last; column += kPanelColumns) {
      const ptrdiff_t columns = std::min(kPanelColumns, matrix_.depth - column);
      Product part = product;
      part.c += column;
      if (Padded(columns) == columns) {
        MultiplyPanel(kernels, part, column / kPanelColumns);
      } else {
        MultiplyLastPanel(kernels, part, column / kPanelColumns, columns);
      }
    }
  }

 private:
  bool rounds() const { return kRoundsProducts && rounding_ != nullptr; }

  // The same as pairs of outputs: half of a panel's memory.
  void PackRounded(const T* panel, const PanelStrides<T>& from, ptrdiff_t first_output, ptrdiff_t width) const {
    for (ptrdiff_t p = 0; p < PanelsOf(matrix_); p++) {
      const ptrdiff_t first = p * kPanelColumns;
      const ptrdiff_t last = std::min(first + kPanelColumns, matrix_.depth);
      const PanelStrides<T> to = StridesOf(p);
      uint32_t* pairs = PairsOf(p) + first_output / 2 * to.row;
      // Columns that are adjacent in both orders.
      for (ptrdiff_t column = first; column < last; column += to.row) {
        const ptrdiff_t columns = std::min(to.row, last - column);
        for (ptrdiff_t output = 0; output < width; output += from.row) {
          uint32_t* target = pairs + output / 2 * to.row + to.ColumnAt(column - first);
          rounding_->transposed_pairs(panel + column * from.row + from.ColumnAt(output), from.row, columns, from.row,
                                      target, to.row);
          for (ptrdiff_t row = 0; columns < to.row && row < from.row / 2; row++)
            std::fill(target + row * to.row + columns, target + (row + 1) * to.row, 0);
        }
      }
    }
  }

  // Copying reads and writes the matrix once, the time of about two rows of a product; from these numbers of rows on it
  // was faster on Zen 3 and Zen 4 with every instruction set. Rows of one product, and of all products of a pass.
  static constexpr ptrdiff_t kProductRows = 4;
  static constexpr ptrdiff_t kPassRows = 256;
  // Outputs multiplied at a time: their part of a panel stays in the second-level cache while all rows pass by.
  static constexpr ptrdiff_t kDepthBlock = 512;

  static ptrdiff_t Padded(ptrdiff_t columns) { return DivideUp(columns, kChunk<T>) * kChunk<T>; }
  static ptrdiff_t PanelsOf(const PanelMatrix& matrix) { return DivideUp(matrix.depth, kPanelColumns); }
  static ptrdiff_t WidthBefore(const PanelMatrix& matrix, ptrdiff_t panel) {
    return std::min(panel * kPanelColumns, Padded(matrix.depth));
  }
  // Rows of the packed copy: the columns of the stored matrix, with its padding.
  static ptrdiff_t OutputsOf(const PanelMatrix& matrix) {
    return ((matrix.panels - 1) * matrix.chunks + matrix.last_chunks) * kChunk<T>;
  }
  ptrdiff_t FullWidth() const { return matrix_.chunks * kChunk<T>; }
  // Strides of a panel of the packed copy, which is in the order of the matrix; rounded, of its pairs.
  PanelStrides<T> StridesOf(ptrdiff_t panel) const {
    const ptrdiff_t width = WidthBefore(matrix_, panel + 1) - WidthBefore(matrix_, panel);
    return {matrix_.order, OutputsOf(matrix_) / (rounds() ? 2 : 1), width / kChunk<T>};
  }
  T* PanelOf(ptrdiff_t panel) const { return packed_ + OutputsOf(matrix_) * WidthBefore(matrix_, panel); }
  uint32_t* PairsOf(ptrdiff_t panel) const { return reinterpret_cast<uint32_t*>(PanelOf(panel)); }

  // The depth in blocks of whole panels of `a`, as pre-activations are stored panel by panel (weights/network.h).
  // All columns of one panel, the first of which is at p.c.
  void MultiplyPanel(const KernelTable<T>& kernels, const Product& p, ptrdiff_t panel) const {
    const ptrdiff_t width = WidthBefore(matrix_, panel + 1) - WidthBefore(matrix_, panel);
    const PanelStrides<T> strides = StridesOf(panel);
    // A copy of a is of the whole depth.
    const ptrdiff_t panels_at_once = rounds() ? matrix_.panels : std::max<ptrdiff_t>(1, kDepthBlock / FullWidth());
    const bool has_next = p.next_column >= 0 && p.next_column < matrix_.depth;
    const T* following = has_next ? PanelOf(p.next_column / kPanelColumns) : nullptr;
    for (ptrdiff_t first = 0; first < matrix_.panels; first += panels_at_once) {
      const ptrdiff_t output = first * FullWidth();
      PanelProduct<T> product{};
      product.a = p.a + first * p.a_panel_stride;
      product.a_stride = p.a_stride;
      product.a_panel_width = FullWidth();
      product.a_panel_stride = p.a_panel_stride;
      product.rows = p.rows;
      product.depth = std::min(panels_at_once * FullWidth(), OutputsOf(matrix_) - output);
      const bool is_last = first + panels_at_once >= matrix_.panels;
      if (rounds()) {
        strides.Point(&product, PairsOf(panel));
        product.rows_copy = p.rows_copy;
        product.version = p.version;
      } else {
        strides.Point(&product, PanelOf(panel), output);
        product.next = is_last ? following : PanelOf(panel) + (output + product.depth) * strides.row;
      }
      product.chunks = static_cast<int>(width / kChunk<T>);
      product.init = first == 0 && !p.accumulate ? nullptr : p.c;
      product.init_stride = p.c_stride;
      product.c = p.c;
      product.c_stride = p.c_stride;
      (rounds() ? rounding_->product : kernels.product)(product);
    }
  }

  // The same by way of rows that have room for the padding.
  void MultiplyLastPanel(const KernelTable<T>& kernels, const Product& p, ptrdiff_t panel, ptrdiff_t columns) const {
    // 24 rows of 64 float32 are 6 KiB, which fit the first-level cache beside the tile's part of the panel. A copy of a
    // is of all rows.
    const ptrdiff_t most = rounds() ? kMostRoundedRows : 24;
    T padded[(kRoundsProducts ? kMostRoundedRows : 24) * kPanelColumns];
    for (ptrdiff_t row = 0; row < p.rows; row += most) {
      Product part = p;
      part.a = p.a + row * p.a_stride;
      part.rows = std::min(most, p.rows - row);
      part.c = padded;
      part.c_stride = kPanelColumns;
      part.accumulate = false;
      MultiplyPanel(kernels, part, panel);
      for (ptrdiff_t r = 0; r < part.rows; r++) {
        T* c = p.c + (row + r) * p.c_stride;
        const T* from = padded + r * kPanelColumns;
        for (ptrdiff_t k = 0; k < columns; k++) c[k] = p.accumulate ? c[k] + from[k] : from[k];
      }
    }
  }

  // Dot products along the stored rows: no copy, but sums across the lanes of a register at the end.
  void MultiplyStored(const KernelTable<T>& kernels, const Product& p, ptrdiff_t first, ptrdiff_t last) const {
    TransposedProduct<T> product{};
    product.a = p.a;
    product.a_stride = p.a_stride;
    product.a_panel_stride = p.a_panel_stride;
    product.rows = p.rows;
    product.panels = params_ + matrix_.offset;
    product.order = matrix_.order;
    product.panel_count = matrix_.panels;
    product.chunks = matrix_.chunks;
    product.last_chunks = matrix_.last_chunks;
    product.depth = matrix_.depth;
    product.column = first;
    product.columns = last - first;
    product.c = p.c + first;
    product.c_stride = p.c_stride;
    product.accumulate = p.accumulate;
    kernels.transposed_product(product);
  }

  PanelMatrix matrix_;
  const T* params_ = nullptr;  // the opaque buffer
  T* packed_ = nullptr;
  const Bfloat16Products<T>* rounding_ = nullptr;
};

}  // namespace cudnn_rnn
