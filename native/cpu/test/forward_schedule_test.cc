#include "passes/rnn_forward_schedule.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <vector>

namespace cudnn_rnn {
namespace {

struct ScheduleCase {
  Cell cell;
  int layers;
  int directions;
  ptrdiff_t units;
  ptrdiff_t time;
  ptrdiff_t batch;
};

std::vector<ScheduleCase> ScheduleCases() {
  std::vector<ScheduleCase> cases;
  for (const Cell cell : {Cell::kLstm, Cell::kTanh}) {
    for (const int directions : {1, 2}) {
      for (const int layers : {1, 2, 5}) {
        // Small enough for a wavefront, too many operations for one, and matrices beyond the shared cache.
        for (const ptrdiff_t units : {16, 300, 2000}) {
          for (const ptrdiff_t time : {1, 3, 4, 5, 97}) {
            for (const ptrdiff_t batch : {1, 13, 600}) cases.push_back({cell, layers, directions, units, time, batch});
          }
        }
      }
    }
  }
  return cases;
}

Network<float> NetworkOf(const ScheduleCase& each) {
  return Network<float>(
      {each.cell, each.layers, each.directions, each.units, each.units, 0, false, true, true, INFINITY, 0, 0},
      PanelOrder::kRows);
}

// A time block needs the preceding block of its pseudo-layer, and the same steps of the layer below: of both
// directions, whose outputs it reads side by side. With two directions the whole layer below comes first.
TEST_CASE("ForwardSchedule computes every step of every pseudo-layer once, after all that it reads") {
  for (const ScheduleCase& each : ScheduleCases()) {
    const Network<float> network = NetworkOf(each);
    for (const bool is_training : {false, true}) {
      const ForwardSchedule schedule(network, each.time, each.batch, is_training);
      CAPTURE(each.layers);
      CAPTURE(each.directions);
      CAPTURE(each.units);
      CAPTURE(each.time);
      CAPTURE(each.batch);
      std::map<int, ptrdiff_t> ends;  // by pseudo-layer, of earlier stages
      std::vector<TimeBlock> blocks;
      for (ptrdiff_t stage = 0; stage < schedule.stages(); stage++) {
        schedule.TimeBlocksOf(stage, &blocks);
        REQUIRE(!blocks.empty());
        REQUIRE(static_cast<int>(blocks.size()) <= schedule.side_by_side());
        for (const TimeBlock& block : blocks) {
          REQUIRE(block.begin == ends[block.pseudo_layer]);
          REQUIRE(block.begin < block.end);
          REQUIRE(block.end - block.begin <= schedule.steps());
          const int layer = block.pseudo_layer / each.directions;
          for (int d = 0; layer > 0 && d < each.directions; d++) {
            const ptrdiff_t below = ends[(layer - 1) * each.directions + d];
            REQUIRE(below >= (each.directions == 2 ? each.time : block.end));
          }
        }
        for (const TimeBlock& block : blocks) ends[block.pseudo_layer] = block.end;
      }
      for (int p = 0; p < network.pseudo_layers(); p++) REQUIRE(ends[p] == each.time);
    }
  }
}

TEST_CASE("ForwardSchedule divides the rows of a time block into blocks that have rows") {
  for (const ScheduleCase& each : ScheduleCases()) {
    const ForwardSchedule schedule(NetworkOf(each), each.time, each.batch, false);
    CHECK(schedule.input_blocks() >= 1);
    CHECK(schedule.input_blocks() <= schedule.steps() * each.batch);
    CHECK(schedule.steps() <= each.time);
  }
}

TEST_CASE("ForwardSchedule runs small layers of one direction as a wavefront") {
  const auto is_wavefront = [](const ScheduleCase& each) {
    return ForwardSchedule(NetworkOf(each), each.time, each.batch, false).is_wavefront();
  };
  CHECK(is_wavefront({Cell::kLstm, 2, 1, 128, 50, 1}));
  CHECK_FALSE(is_wavefront({Cell::kLstm, 1, 1, 128, 50, 1}));
  // The backward direction of a layer needs the last step of the layer below first.
  CHECK_FALSE(is_wavefront({Cell::kLstm, 2, 2, 128, 50, 1}));
  // 4 · 256 · 256 weights are the most that stay in a second-level cache.
  CHECK(is_wavefront({Cell::kLstm, 2, 1, 256, 50, 1}));
  CHECK_FALSE(is_wavefront({Cell::kLstm, 2, 1, 257, 50, 1}));
}

TEST_CASE("ForwardSchedule counts the operations of a pass, and the loops that its threads wait in") {
  const auto counted = [](const ScheduleCase& each, bool starts_at_zero) {
    const Network<float> network = NetworkOf(each);
    return ForwardSchedule(network, each.time, each.batch, false).Operations(network, starts_at_zero);
  };
  // 2 · T · 4H · (I + H), and without the first step's product by R.
  CHECK(counted({Cell::kLstm, 1, 1, 16, 3, 1}, false) == 2 * 3 * 64 * 32);
  CHECK(counted({Cell::kLstm, 1, 1, 16, 3, 1}, true) == 2 * 64 * (3 * 16 + 2 * 16));
  // Several rows take half as long each.
  CHECK(counted({Cell::kLstm, 1, 1, 16, 3, 13}, false) == 13 * 3 * 64 * 32);
  // The inputs of the second layer are those of both directions.
  CHECK(counted({Cell::kTanh, 2, 2, 16, 1, 1}, true) == 2 * 2 * 16 * (16 + 32));
  const ScheduleCase each{Cell::kTanh, 2, 2, 16, 5, 1};
  CHECK(ForwardSchedule(NetworkOf(each), each.time, each.batch, false).loops() == 2 * (5 + 2) + 3);
}

TEST_CASE("ForwardSchedule trains a layer that is not in a wavefront in one time block") {
  const ScheduleCase each{Cell::kLstm, 2, 2, 300, 97, 13};
  const Network<float> network = NetworkOf(each);
  const ForwardSchedule training(network, each.time, each.batch, true);
  CHECK(training.steps() == each.time);
  CHECK(training.stages() == each.layers);
  CHECK(ForwardSchedule(network, each.time, each.batch, false).steps() < each.time);
}

}  // namespace
}  // namespace cudnn_rnn
