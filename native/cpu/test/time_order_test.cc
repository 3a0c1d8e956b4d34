#include "passes/time_order.h"

#include <doctest/doctest.h>

#include <vector>

#include "passes/rnn_pass.h"

namespace cudnn_rnn {
namespace {

TEST_CASE("TimeOrder walks each row from its first step, or back from its last") {
  const std::vector<int32_t> lengths{5, 3, 1};
  const TimeOrder forward{5, lengths.data(), 0};
  const TimeOrder backward{5, lengths.data(), 1};
  for (ptrdiff_t row = 0; row < 3; row++) {
    const ptrdiff_t length = lengths[static_cast<size_t>(row)];
    CHECK(forward.Length(row) == length);
    CHECK(backward.Length(row) == length);
    for (ptrdiff_t n = 0; n < length; n++) {
      CHECK(forward.TimeOf(n, row) == n);
      CHECK(backward.TimeOf(n, row) == length - 1 - n);
    }
  }
}

TEST_CASE("TimeOrder without lengths has all steps in every row") {
  CHECK(TimeOrder{4, nullptr, 0}.Length(9) == 4);
  CHECK(TimeOrder{4, nullptr, 0}.TimeOf(0, 9) == 0);
  CHECK(TimeOrder{4, nullptr, 1}.TimeOf(0, 9) == 3);
  CHECK(TimeOrder{4, nullptr, 1}.TimeOf(3, 9) == 0);
}

TEST_CASE("BackwardPass has the time order of the forward that filled its tape") {
  Tape<float> tape;
  tape.time = 4;
  tape.batch = 2;
  BackwardPass<float> pass{};
  pass.tape = &tape;
  CHECK(pass.rows() == 8);
  // A tape of rows that are all as long as the time holds no lengths.
  CHECK(pass.order(1).Length(1) == 4);
  tape.lengths = {4, 2};
  CHECK(pass.order(0).TimeOf(1, 1) == 1);
  CHECK(pass.order(1).TimeOf(0, 0) == 3);
  CHECK(pass.order(1).TimeOf(0, 1) == 1);
}

}  // namespace
}  // namespace cudnn_rnn
