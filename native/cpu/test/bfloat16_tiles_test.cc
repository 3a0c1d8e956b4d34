// The tiles of AMX, over an emulation of their instructions: no machine that runs the tests must have them.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/bfloat16_rounding.h"
#include "product_by_definition.h"
#include "test_values.h"

namespace cudnn_rnn {
namespace {

// The registers, by the Intel SDM vol. 2: a load clears the words of a tile that its shape leaves out; an instruction
// before the shapes, or after their release, would end the program.
class EmulatedTiles {
 public:
  void LoadShapes(const void* shapes) {
    const auto* bytes = static_cast<const uint8_t*>(shapes);
    REQUIRE(bytes[0] == 1);
    for (int tile = 0; tile < 8; tile++) {
      uint16_t line_bytes;
      std::memcpy(&line_bytes, bytes + 16 + 2 * tile, sizeof line_bytes);
      words_[tile] = line_bytes / 4;
      lines_[tile] = bytes[48 + tile];
      REQUIRE((line_bytes == 64 && lines_[tile] > 0 && lines_[tile] <= 16));
      Clear(tile);
    }
    is_shaped_ = true;
  }
  void Release() { is_shaped_ = false; }
  void Clear(int tile) { std::memset(tiles_[tile], 0, sizeof tiles_[tile]); }
  void Load(int tile, const void* from, ptrdiff_t stride) {
    REQUIRE(is_shaped_);
    Clear(tile);
    for (size_t line = 0; line < lines_[tile]; line++)
      std::memcpy(tiles_[tile][line], static_cast<const char*>(from) + static_cast<ptrdiff_t>(line) * stride,
                  4 * words_[tile]);
  }
  void Store(int tile, void* to, ptrdiff_t stride) const {
    REQUIRE(is_shaped_);
    for (size_t line = 0; line < lines_[tile]; line++)
      std::memcpy(static_cast<char*>(to) + static_cast<ptrdiff_t>(line) * stride, tiles_[tile][line], 4 * words_[tile]);
  }
  // The sums of the even and of the odd elements are added to the tile's at the end.
  void Multiply(int sums, int rows, int weights) {
    REQUIRE((is_shaped_ && lines_[sums] == lines_[rows] && words_[rows] == lines_[weights]));
    for (size_t row = 0; row < lines_[sums]; row++) {
      for (size_t column = 0; column < words_[sums]; column++) {
        float parts[2] = {};
        for (size_t k = 0; k < words_[rows]; k++) {
          const uint32_t x = tiles_[rows][row][k], w = tiles_[weights][k][column];
          parts[0] += Value(x << 16) * Value(w << 16);
          parts[1] += Value(x & 0xffff0000u) * Value(w & 0xffff0000u);
        }
        const float sum = Value(tiles_[sums][row][column]) + parts[0] + parts[1];
        std::memcpy(&tiles_[sums][row][column], &sum, sizeof sum);
      }
    }
  }

  bool is_shaped() const { return is_shaped_; }

 private:
  static float Value(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

  bool is_shaped_ = false;
  size_t lines_[8] = {};
  size_t words_[8] = {};
  uint32_t tiles_[8][16][16] = {};
};

EmulatedTiles tiles;

}  // namespace
}  // namespace cudnn_rnn

// Macros of some compilers' intrinsics.
#undef _tile_loadconfig
#undef _tile_release
#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbf16ps
#define _tile_loadconfig(shapes) tiles.LoadShapes(shapes)
#define _tile_release() tiles.Release()
#define _tile_zero(tile) tiles.Clear(tile)
#define _tile_loadd(tile, from, stride) tiles.Load(tile, from, stride)
#define _tile_stored(tile, to, stride) tiles.Store(tile, to, stride)
#define _tile_dpbf16ps(sums, rows, weights) tiles.Multiply(sums, rows, weights)
#include "kernels/bfloat16_tiles.h"

namespace cudnn_rnn {
namespace {

TEST_CASE("ProductByTiles multiplies any number of rows, depth and chunks, and releases the tiles") {
  for (const ptrdiff_t rows : {1, 3, 16, 17, 40}) {
    for (const ptrdiff_t depth : {1, 31, 32, 100, 257}) {
      for (int chunks = 1; chunks <= 4; chunks++) {
        for (const bool adds : {false, true}) {
          CAPTURE(rows);
          CAPTURE(depth);
          CAPTURE(chunks);
          const ptrdiff_t width = chunks * 16, pairs = (depth + 1) / 2;
          const auto a = AsBfloat16(Sine<float>(static_cast<size_t>(rows * depth), 0.7));
          const auto b = AsBfloat16(Sine<float>(static_cast<size_t>(depth * width), 0.3));
          const std::vector<float> none(static_cast<size_t>(rows * width));
          const auto init = adds ? Sine<float>(none.size(), 0.9) : none;
          std::vector<uint32_t> words(static_cast<size_t>(rows * pairs));
          for (ptrdiff_t row = 0; row < rows; row++) {
            for (ptrdiff_t k = 0; k < depth; k += 2)
              words[row * pairs + k / 2] = RoundedPair(a[row * depth + k], k + 1 < depth ? a[row * depth + k + 1] : 0);
          }
          // Words beyond a panel must not be read: a NaN would spread.
          std::vector<uint32_t> panel(static_cast<size_t>((pairs + 16) * width), 0x7fc07fc0u);
          RoundPairs(b.data(), width, depth, width, panel.data(), width);
          RowsCopy copy{1, nullptr, nullptr, words.data(), false};
          std::vector<float> c(none.size());
          PanelProduct<float> product{};
          product.rows = rows;
          product.depth = depth;
          product.panel = panel.data();
          product.panel_stride = width;
          product.chunks = chunks;
          product.rows_copy = &copy;
          product.init = adds ? init.data() : nullptr;
          product.init_stride = product.c_stride = width;
          product.c = c.data();
          ProductByTiles(product);
          CHECK(!tiles.is_shaped());
          const auto expected = ProductByDefinition(a, b, init, rows, depth, width);
          CHECK(Difference(c, expected) <= SumTolerance<float>(depth));
        }
      }
    }
  }
}

}  // namespace
}  // namespace cudnn_rnn
