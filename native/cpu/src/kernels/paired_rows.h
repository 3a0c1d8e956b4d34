// The order of a product's rows, in words of four bytes or two bfloat16, for the kernels that multiply words on 64-bit
// ARM: [pairs of rows][pairs of words][2 rows][2 words], so that a register has two words of two rows. Two rows by two
// words are an operand of SMMLA and BFMMLA, and SDOT and BFDOT take any word of a register. An odd last row is alone,
// and an odd last word of a pair is [2 rows], so the order has no padding.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace {

// The index of the words of one row.
class PairedRow {
 public:
  PairedRow(ptrdiff_t row, ptrdiff_t rows, ptrdiff_t words) {
    const bool alone = row % 2 == 0 && row + 1 == rows;
    const ptrdiff_t pair = (row - row % 2) * words;
    first_ = pair + row % 2 * 2;
    step_ = alone ? 2 : 4;
    odd_last_ = words % 2 == 0 ? -1 : words - 1;
    place_of_odd_last_ = pair + (alone ? words - 1 : 2 * (words - 1) + row % 2);
  }

  ptrdiff_t operator()(ptrdiff_t word) const {
    return word == odd_last_ ? place_of_odd_last_ : first_ + word / 2 * step_ + word % 2;
  }

 private:
  ptrdiff_t first_, step_, odd_last_, place_of_odd_last_;
};

}  // namespace
