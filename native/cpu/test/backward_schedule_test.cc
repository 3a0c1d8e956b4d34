#include "passes/rnn_backward_schedule.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <vector>

namespace cudnn_rnn {
namespace {

Network<float> NetworkOf(int layers, int directions, ptrdiff_t units) {
  return Network<float>({Cell::kLstm, layers, directions, units, units, 0, false, true, true, INFINITY, 0, 0},
                        PanelOrder::kRows);
}

// A time block needs the following block of its pseudo-layer, and the same steps of the layer above: of both
// directions, the gradients of whose inputs are summed. With two directions the whole layer above comes first.
TEST_CASE("BackwardSchedule computes every step of every pseudo-layer once, after all that it reads") {
  for (const int directions : {1, 2}) {
    for (const int layers : {1, 2, 5}) {
      // Small enough for a wavefront, and too many weights for one.
      for (const ptrdiff_t units : {16, 600}) {
        for (const ptrdiff_t time : {1, 3, 4, 5, 97}) {
          for (const ptrdiff_t batch : {1, 13, 600}) {
            CAPTURE(directions);
            CAPTURE(layers);
            CAPTURE(units);
            CAPTURE(time);
            CAPTURE(batch);
            const Network<float> network = NetworkOf(layers, directions, units);
            const BackwardSchedule schedule(network, time, batch);
            std::map<int, ptrdiff_t> begins;  // by pseudo-layer, of earlier stages
            for (int p = 0; p < network.pseudo_layers(); p++) begins[p] = time;
            std::vector<TimeBlock> blocks;
            for (ptrdiff_t stage = 0; stage < schedule.stages(); stage++) {
              schedule.TimeBlocksOf(stage, &blocks);
              REQUIRE(!blocks.empty());
              REQUIRE(static_cast<int>(blocks.size()) <= schedule.lanes());
              for (const TimeBlock& block : blocks) {
                REQUIRE(block.end == begins[block.pseudo_layer]);
                REQUIRE(block.begin >= 0);
                REQUIRE(block.begin < block.end);
                REQUIRE(block.end - block.begin <= schedule.steps());
                const int layer = block.pseudo_layer / directions;
                for (int d = 0; layer + 1 < layers && d < directions; d++) {
                  REQUIRE(begins[(layer + 1) * directions + d] <= (directions == 2 ? 0 : block.begin));
                }
              }
              for (const TimeBlock& block : blocks) begins[block.pseudo_layer] = block.begin;
            }
            for (int p = 0; p < network.pseudo_layers(); p++) REQUIRE(begins[p] == 0);
          }
        }
      }
    }
  }
}

// Two buffers hold the gradients of all outputs between layers: layer l writes to layer l - 2's rows a stage after
// layer l - 1 has read them.
TEST_CASE("BackwardSchedule keeps neighboring layers of a wavefront one stage apart") {
  const BackwardSchedule schedule(NetworkOf(4, 1, 16), 97, 1);
  REQUIRE(schedule.is_wavefront());
  CHECK(schedule.lanes() == 4);
  std::map<std::pair<int, ptrdiff_t>, ptrdiff_t> stage_of;  // by layer and first step
  std::vector<TimeBlock> blocks;
  for (ptrdiff_t stage = 0; stage < schedule.stages(); stage++) {
    schedule.TimeBlocksOf(stage, &blocks);
    for (const TimeBlock& block : blocks) stage_of[{block.pseudo_layer, block.begin}] = stage;
  }
  for (const auto& [block, stage] : stage_of) {
    if (block.first > 0) CHECK(stage_of[{block.first - 1, block.second}] == stage + 1);
  }
}

TEST_CASE("BackwardSchedule runs small layers of one direction as a wavefront") {
  CHECK(BackwardSchedule(NetworkOf(2, 1, 128), 70, 1).is_wavefront());
  CHECK_FALSE(BackwardSchedule(NetworkOf(1, 1, 128), 70, 1).is_wavefront());
  CHECK_FALSE(BackwardSchedule(NetworkOf(2, 2, 128), 70, 1).is_wavefront());
  CHECK_FALSE(BackwardSchedule(NetworkOf(2, 1, 1024), 70, 1).is_wavefront());
  // The transposed matrix is copied.
  CHECK_FALSE(BackwardSchedule(NetworkOf(2, 1, 128), 70, 16).is_wavefront());
}

}  // namespace
}  // namespace cudnn_rnn
