// The tiles that a product of 16 rows is made of, one function per width of a panel, and the products of one row, for
// scripts/checks/check_hot_loops.mjs to find in the compiled code. HOT_LOOPS_VECTORS names the vector_*.h.
#include HOT_LOOPS_VECTORS
// The vectors come first: the kernels are written over them.
#include "kernels/product_kernels.h"
#include "kernels/row_step_kernels.h"

namespace {

// The operands of a product by several rows of a forward pass.
constexpr Operands kForward = VectorF32::kCopyTileRows > 0 ? Operands::kCopy : Operands::kRows;

template <int kChunks, Operands kOperands, int kRows = 16, int kTile = 0>
void AllTiles(const PanelProduct<float>& product) {
  constexpr int kVectors = PanelVectors<VectorF32>(kChunks);
  constexpr int kTileRows = kOperands == Operands::kCopy ? VectorF32::kCopyTileRows : TileRows<VectorF32>(kVectors);
  constexpr int kTiles = (kRows + kTileRows - 1) / kTileRows;
  constexpr int kRow = kRows * kTile / kTiles;
  constexpr int kCount = kRows * (kTile + 1) / kTiles - kRow;
  if constexpr (kOperands == Operands::kCopy) {
    // One for each chunk.
    ProductTile<VectorF32, float, kCount, kVectorsOfChunk<VectorF32>, kOperands, false>(product, kRow, 0, {});
  } else {
    Readahead readahead = ReadaheadOf<float>(product, kTiles, 0, product.panel_stride);
    TilesOfRows<VectorF32, float, kCount, kVectors, kOperands>(product, kRow, &readahead);
  }
  if constexpr (kTile + 1 < kTiles) AllTiles<kChunks, kOperands, kRows, kTile + 1>(product);
}

}  // namespace

// LSTM, and four chunks of units of a plain cell.
extern "C" void FourChunks(const PanelProduct<float>& product) { AllTiles<4, kForward>(product); }
// GRU.
extern "C" void ThreeChunks(const PanelProduct<float>& product) { AllTiles<3, kForward>(product); }
// The gradient of the weights, of packed rows.
extern "C" void PackedRows(const PanelProduct<float>& product) { AllTiles<4, Operands::kGradient>(product); }
#if !defined(__wasm__)
// Two and three rows of LSTM, whose weights are to be loaded once.
extern "C" void TwoRows(const PanelProduct<float>& product) { AllTiles<4, Operands::kRows, 2>(product); }
extern "C" void ThreeRows(const PanelProduct<float>& product) { AllTiles<4, Operands::kRows, 3>(product); }
#endif
// One row: a single step of LSTM, whose two products have a loop each, and a step of a pass of LSTM and of GRU.
extern "C" void RowStepOfLstm(const RowStep<float>& step) { RowStepOf<VectorF32, 4, 0>(step); }
extern "C" void RowOfLstm(const float* h, ptrdiff_t depth, const float* panel, const CellForward<float>& cell) {
  LstmRowRecurrence<VectorF32>(h, depth, panel, cell);
}
extern "C" void RowOfGru(const float* h, ptrdiff_t depth, const float* panel, const CellForward<float>& cell) {
  GruRowRecurrence<VectorF32>(h, depth, panel, cell);
}
