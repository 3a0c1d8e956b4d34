#include "kernels/tile_shapes.h"

#include <doctest/doctest.h>

namespace cudnn_rnn {
namespace {

// Shapes alone: vectors that compute nothing.
template <int registers, bool multiplies_lanes, int... vectors>
struct Shape {
  static constexpr PanelOrder kPanelOrder = PanelOrder::kRows;
  using Element = float;
  static constexpr ptrdiff_t kLanes = 8;
  static constexpr int kRegisters = registers;
  static constexpr int kTileVectors[] = {vectors...};
  static constexpr bool kMultipliesLanes = multiplies_lanes;
};

using Sixteen = Shape<16, false, 8, 6, 3, 3, 2, 2>;

TEST_CASE("TilesFit counts the sums, the operand that is held and the one that passes by") {
  // 4 · 3 sums, 3 weights, 1 broadcast: 16 registers.
  CHECK(TilesFit<Sixteen>());
  CHECK_FALSE(TilesFit<Shape<15, false, 8, 6, 3, 3, 2, 2>>());
  // 6 · 2 sums, 2 weights, 1 broadcast, as 2 · 6 sums, 2 rows, 1 vector: 15.
  CHECK(TilesFit<Shape<15, false, 6, 6, 3, 2, 2, 2>>());
  CHECK_FALSE(TilesFit<Shape<14, false, 6, 6, 3, 2, 2, 2>>());
  CHECK_FALSE(TilesFit<Shape<14, false, 6, 5, 3, 2, 2, 2>>());
  // The fewer of rows and vectors are held: 2 · 5 sums, 2 rows, 1 vector.
  CHECK(TilesFit<Shape<13, false, 1, 5>>());
  CHECK_FALSE(TilesFit<Shape<12, false, 1, 5>>());
  // With multiply-by-lane instructions the rows are held, though there are more of them than vectors.
  CHECK(TilesFit<Shape<15, false, 2, 2, 2, 2, 2, 2>>());
  CHECK_FALSE(TilesFit<Shape<15, true, 2, 2, 2, 2, 2, 2>>());
  CHECK(TilesFit<Shape<19, true, 2, 2, 2, 2, 2, 2>>());
}

TEST_CASE("PanelVectors and TilesAcross cover a panel") {
  // A chunk is 16 float32, two vectors of 8.
  CHECK(PanelVectors<Sixteen>(1) == 2);
  CHECK(PanelVectors<Sixteen>(4) == 8);
  CHECK(TilesAcross<Sixteen>(1, 8) == 1);
  CHECK(TilesAcross<Sixteen>(2, 8) == 2);
  CHECK(TilesAcross<Sixteen>(3, 8) == 3);
  CHECK(TilesAcross<Sixteen>(6, 8) == 4);
  CHECK(TilesAcross<Sixteen>(3, 2) == 1);
  CHECK(kMaxTileRows<Sixteen> == 6);
}

struct Apart : Shape<16, false, 8, 6, 4, 2> {
  static constexpr PanelOrder kPanelOrder = PanelOrder::kChunks;
};
struct Divided : Shape<16, false, 8, 6, 3, 2> {
  static constexpr PanelOrder kPanelOrder = PanelOrder::kChunks;
};

TEST_CASE("TileBegin divides a panel evenly, and into whole chunks where these are apart") {
  // 8 vectors in three tiles: 2, 3 and 3 of them, or 1, 1 and 2 chunks of two vectors.
  const int evenly[] = {0, 2, 5, 8}, by_chunks[] = {0, 2, 4, 8};
  for (int tile = 0; tile <= 3; tile++) {
    CHECK(TileBegin<Sixteen>(tile, 3, 8) == evenly[tile]);
    CHECK(TileBegin<Apart>(tile, 3, 8) == by_chunks[tile]);
  }
  CHECK(TilesFit<Apart>());
  CHECK_FALSE(TilesFit<Divided>());
}

TEST_CASE("TileSplit sums apart until eight sums are in flight, within the registers") {
  CHECK(TileSplit<Sixteen>(1) == 4);
  CHECK(TileSplit<Sixteen>(2) == 4);
  CHECK(TileSplit<Sixteen>(3) == 4);
  CHECK(TileSplit<Sixteen>(4) == 2);
  CHECK(TileSplit<Sixteen>(7) == 2);
  CHECK(TileSplit<Sixteen>(8) == 1);
  CHECK(TileSplit<Sixteen>(12) == 1);
  // 2 · 4 sums and 2 operands need 10 registers.
  CHECK(TileSplit<Shape<10, false, 1>>(4) == 2);
  CHECK(TileSplit<Shape<9, false, 1>>(4) == 1);
}

TEST_CASE("TileRows loads least for a multiply-add, and counts weights twice") {
  // 8 vectors: 1 row loads 1 + 16 operands for 8 multiply-adds, 2 rows 2 + 8 for 8, 4 rows 4 + 16/3 for 32/3, 6 rows
  // 6 + 4 for 12: the least.
  CHECK(TileRows<Sixteen>(8) == 6);
  // 6 · 1: 6 sums that are split. (6 + 2) / 6 is less than (4 + 2) / 4.
  CHECK(TileRows<Shape<16, false, 1, 1, 1, 1, 1, 1>>(1) == 6);
  // 4 · 4 of 32 registers: (4 + 8) / 16 is less than (6 + 4) / 12.
  CHECK(TileRows<Shape<32, false, 4, 4, 4, 4, 2, 2>>(4) == 4);
}

TEST_CASE("TileRows leaves tiles out whose sums are too few to wait for each other, and is 1 without others") {
  // 3 · 1 sums would load least, but 10 registers split them once alone: 6 sums. 2 · 1 are split in 8.
  CHECK(TileRows<Shape<10, false, 8, 1, 1>>(8) == 2);
  CHECK(TileRows<Shape<16, false, 8, 1, 1>>(8) == 3);
  CHECK(TileRows<Shape<8, false, 1, 1, 1>>(1) == 1);
}

}  // namespace
}  // namespace cudnn_rnn
