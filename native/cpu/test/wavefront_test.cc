#include "passes/wavefront.h"

#include <doctest/doctest.h>

#include <cmath>

namespace cudnn_rnn {
namespace {

Network<float> NetworkOf(Cell cell, int layers, int directions, ptrdiff_t units, ptrdiff_t projection = 0) {
  return Network<float>({cell, layers, directions, units, 8, projection, false, true, true, INFINITY, 0, 0},
                        PanelOrder::kRows);
}

TEST_CASE("StepOperations are two for each recurrent weight and row of the batch") {
  CHECK(StepOperations(NetworkOf(Cell::kTanh, 1, 1, 10), 1) == 2 * 10 * 10);
  CHECK(StepOperations(NetworkOf(Cell::kRelu, 1, 1, 10), 1) == 2 * 10 * 10);
  CHECK(StepOperations(NetworkOf(Cell::kGru, 3, 1, 10), 7) == 7 * 2 * 3 * 10 * 10);
  // The operations of one pseudo-layer, with any number of them.
  CHECK(StepOperations(NetworkOf(Cell::kLstm, 3, 2, 10), 7) == 7 * 2 * 4 * 10 * 10);
  // The recurrent matrix multiplies a projection of 4 columns.
  CHECK(StepOperations(NetworkOf(Cell::kLstm, 1, 1, 10, 4), 1) == 2 * 4 * 10 * 4);
}

TEST_CASE("IsWavefront takes brief steps of several layers of one direction, whose weights fit a cache") {
  // 2 · 61 · 4 · 90 · 90 = 3,952,800 operations; with one row more they exceed 4 million.
  CHECK(IsWavefront(NetworkOf(Cell::kLstm, 2, 1, 90), 61));
  CHECK_FALSE(IsWavefront(NetworkOf(Cell::kLstm, 2, 1, 90), 62));
  // 512 · 512 weights are 256 Ki.
  CHECK(IsWavefront(NetworkOf(Cell::kTanh, 2, 1, 512), 1));
  CHECK_FALSE(IsWavefront(NetworkOf(Cell::kTanh, 2, 1, 513), 1));
  // 4 · 512 · 128 weights, as many.
  CHECK(IsWavefront(NetworkOf(Cell::kLstm, 2, 1, 512, 128), 1));
  CHECK_FALSE(IsWavefront(NetworkOf(Cell::kLstm, 2, 1, 512, 129), 1));
  CHECK_FALSE(IsWavefront(NetworkOf(Cell::kLstm, 1, 1, 8), 1));
  CHECK_FALSE(IsWavefront(NetworkOf(Cell::kLstm, 2, 2, 8), 1));
}

TEST_CASE("WavefrontSteps has twelve rows at least, and four steps at least") {
  CHECK(WavefrontSteps(1) == 12);
  CHECK(WavefrontSteps(2) == 6);
  CHECK(WavefrontSteps(3) == 4);
  CHECK(WavefrontSteps(5) == 4);
  CHECK(WavefrontSteps(1000) == 4);
}

}  // namespace
}  // namespace cudnn_rnn
