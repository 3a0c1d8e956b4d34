#include "rnn_forward.h"

#include <vector>

#include "dropout.h"
#include "lane_teams.h"
#include "rnn_forward_lane.h"
#include "rnn_forward_memory.h"
#include "rnn_forward_schedule.h"

namespace cudnn_rnn {
namespace {

// Runs the stages of a schedule on all threads. Of the loops of a stage, those over all stretches together come first.
template <typename T>
class Forward {
 public:
  Forward(const Engine<T>& engine, const ForwardPass<T>& pass)
      : engine_(engine),
        pass_(pass),
        network_(*pass.network),
        schedule_(network_, pass.time, pass.batch, pass.is_training()),
        memory_(engine, pass, schedule_),
        teams_(MembersFor(*engine.pool, *engine.kernels, schedule_.operations()), schedule_.side_by_side()) {
    for (int p = 0; p < network_.pseudo_layers(); p++) lanes_.emplace_back(engine, pass, p, memory_.lane(p));
  }

  void Run() {
    engine_.pool->Run(teams_.threads(), [this](int thread) { RunStages(thread); });
  }

 private:
  void RunStages(int thread) {
    LaneTeams::Member member(&teams_, thread);
    Int8Rows* int8_rows = memory_.int8_rows(thread);
    std::vector<Stretch> stretches;
    for (ptrdiff_t stage = 0; stage < schedule_.stages(); stage++) {
      schedule_.StretchesOf(stage, &stretches);
      Start(member.all(), stretches);
      Gather(member.all(), stretches);
      MultiplyInput(member.all(), stretches, int8_rows);
      const int count = static_cast<int>(stretches.size());
      for (int k = 0; k < count; k++) {
        const Stretch& stretch = stretches[(member.first_lane() + k) % count];
        LaneOf(stretch).RunSteps(member.lane(stretch.pseudo_layer % schedule_.side_by_side()), stretch, int8_rows);
      }
      if (pass_.is_training() && network_.options().dropout > 0) DropOut(member.all(), stretches);
    }
  }

  const ForwardLane<T>& LaneOf(const Stretch& stretch) const { return lanes_[stretch.pseudo_layer]; }

  void Start(SharedLoops::Member* all, const std::vector<Stretch>& stretches) const {
    bool starts = false;
    for (const Stretch& stretch : stretches) starts = starts || stretch.begin == 0;
    if (!starts) return;
    all->Run(static_cast<ptrdiff_t>(stretches.size()), [&](ptrdiff_t k) {
      if (stretches[k].begin == 0) LaneOf(stretches[k]).Start();
    });
  }

  void Gather(SharedLoops::Member* all, const std::vector<Stretch>& stretches) const {
    bool gathers = false;
    for (const Stretch& stretch : stretches) gathers = gathers || LaneOf(stretch).gathers();
    if (!gathers) return;
    const ptrdiff_t steps = schedule_.steps();
    all->Run(static_cast<ptrdiff_t>(stretches.size()) * steps, [&](ptrdiff_t item) {
      const Stretch& stretch = stretches[item / steps];
      const ptrdiff_t n = stretch.begin + item % steps;
      if (n < stretch.end) LaneOf(stretch).Gather(stretch, n);
    });
  }

  // Block of rows by block of rows, so that both these and a panel stay in the cache.
  void MultiplyInput(SharedLoops::Member* all, const std::vector<Stretch>& stretches, Int8Rows* int8_rows) const {
    // The same number for all stretches, though the last one of a lane may be shorter.
    const ptrdiff_t blocks = schedule_.input_blocks();
    const ptrdiff_t panels = network_.panels();
    const ptrdiff_t count = static_cast<ptrdiff_t>(stretches.size());
    all->Run(blocks * count * panels, [&](ptrdiff_t item) {
      if (engine_.is_cancelled()) return;
      const ptrdiff_t block = item / (count * panels);
      const Stretch& stretch = stretches[item / panels % count];
      const ptrdiff_t rows = (stretch.end - stretch.begin) * pass_.batch;
      const ptrdiff_t first = rows * block / blocks;
      const ptrdiff_t last = rows * (block + 1) / blocks;
      if (first < last) LaneOf(stretch).MultiplyInput(stretch, item % panels, first, last, int8_rows);
    });
  }

  // Of every layer but the last, once for both directions.
  void DropOut(SharedLoops::Member* all, const std::vector<Stretch>& stretches) const {
    const NetworkOptions& options = network_.options();
    const ptrdiff_t row = pass_.batch * network_.output_size();
    for (const Stretch& stretch : stretches) {
      const ptrdiff_t layer = stretch.pseudo_layer / options.directions;
      if (stretch.pseudo_layer % options.directions > 0 || layer + 1 == options.layers) continue;
      ShareDropout(all, memory_.lane(stretch.pseudo_layer).output, stretch.begin * row, stretch.end * row, options.dropout,
                   options.seed, pass_.dropout_position + static_cast<uint64_t>(layer * pass_.time * row));
    }
  }

  const Engine<T>& engine_;
  const ForwardPass<T>& pass_;
  const Network<T>& network_;
  const ForwardSchedule schedule_;
  ForwardMemory<T> memory_;
  LaneTeams teams_;
  std::vector<ForwardLane<T>> lanes_;  // by pseudo-layer
};

}  // namespace

template <typename T>
void RunForward(const Engine<T>& engine, const ForwardPass<T>& pass) {
  if (pass.is_training()) pass.tape->dropout_position = pass.dropout_position;
  Forward<T>(engine, pass).Run();
}

template void RunForward(const Engine<float>&, const ForwardPass<float>&);
template void RunForward(const Engine<double>&, const ForwardPass<double>&);

}  // namespace cudnn_rnn
