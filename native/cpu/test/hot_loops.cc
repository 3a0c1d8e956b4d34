// The tiles that a product of 16 rows is made of, one function per width of a panel, and the products of one row, for
// scripts/check_hot_loops.mjs to find in the compiled code. HOT_LOOPS_VECTORS names the vector_*.h.
#include HOT_LOOPS_VECTORS
// The vectors come first: the kernels are written over them.
#include "kernels/product_kernels.h"
#include "kernels/row_step_kernels.h"

namespace {

constexpr int kRows = 16;

template <int kChunks, bool kPacked, int kTile = 0>
void AllTiles(const PanelProduct<float>& product) {
  constexpr int kVectors = PanelVectors<VectorF32>(kChunks);
  constexpr int kTiles = (kRows + TileRows<VectorF32>(kVectors) - 1) / TileRows<VectorF32>(kVectors);
  constexpr int kRow = kRows * kTile / kTiles;
  Readahead readahead = ReadaheadOf<float>(product, kTiles, 0, product.panel_stride);
  TilesOfRows<VectorF32, float, kRows*(kTile + 1) / kTiles - kRow, kVectors, kPacked>(product, kRow, &readahead);
  if constexpr (kTile + 1 < kTiles) AllTiles<kChunks, kPacked, kTile + 1>(product);
}

}  // namespace

// LSTM, and four chunks of units of a plain cell.
extern "C" void FourChunks(const PanelProduct<float>& product) { AllTiles<4, false>(product); }
// GRU.
extern "C" void ThreeChunks(const PanelProduct<float>& product) { AllTiles<3, false>(product); }
// The gradient of the weights, of packed rows.
extern "C" void PackedRows(const PanelProduct<float>& product) { AllTiles<4, true>(product); }
// One row: a single step of LSTM, whose two products have a loop each, and a step of a pass of LSTM and of GRU.
extern "C" void RowStepOfLstm(const RowStep<float>& step) { RowStepOf<VectorF32, 4, 0>(step); }
extern "C" void RowOfLstm(const float* h, ptrdiff_t depth, const float* panel, const CellForward<float>& cell) {
  LstmRowRecurrence<VectorF32>(h, depth, panel, cell);
}
extern "C" void RowOfGru(const float* h, ptrdiff_t depth, const float* panel, const CellForward<float>& cell) {
  GruRowRecurrence<VectorF32>(h, depth, panel, cell);
}
