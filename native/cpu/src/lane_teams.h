// Which threads of a pass are at home in which lane, a lane being one layer in one direction.
//
// Lanes that run side by side have loops of their own, each on its part of the threads, so that a step's threads are fewer
// and meet faster. Who is done with its own lane helps with the others. What concerns all lanes is shared by all threads.
#ifndef CUDNN_RNN_CPU_LANE_TEAMS_H_
#define CUDNN_RNN_CPU_LANE_TEAMS_H_

#include <algorithm>
#include <memory>
#include <vector>

#include "shared_loops.h"

namespace cudnn_rnn {

class LaneTeams {
 public:
  LaneTeams(int threads, int lanes)
      : threads_(threads), teams_(std::min(threads, lanes)), team_size_(std::max(1, threads / teams_)), all_(threads) {
    for (int lane = 0; lane < lanes; lane++) lanes_.push_back(std::make_unique<SharedLoops>(team_size_));
  }

  int threads() const { return threads_; }

  // One thread's place in all of these loops. All threads must run the same loops of a lane in the same order.
  class Member {
   public:
    Member(LaneTeams* teams, int thread)
        : team_(std::min(thread / teams->team_size_, teams->teams_ - 1)), all_(&teams->all_, thread) {
      // Threads that do not divide evenly are left over, and only help.
      const int place = thread - team_ * teams->team_size_;
      for (int lane = 0; lane < static_cast<int>(teams->lanes_.size()); lane++) {
        const bool is_home = lane % teams->teams_ == team_ && place < teams->team_size_;
        lanes_.emplace_back(teams->lanes_[lane].get(), is_home ? place : -1);
      }
    }

    // The lane that the thread should begin with; the others follow in order, around.
    int first_lane() const { return team_; }
    SharedLoops::Member* lane(int lane) { return &lanes_[lane]; }
    SharedLoops::Member* all() { return &all_; }

   private:
    const int team_;
    SharedLoops::Member all_;
    std::vector<SharedLoops::Member> lanes_;
  };

 private:
  const int threads_;
  const int teams_;
  const int team_size_;
  SharedLoops all_;
  std::vector<std::unique_ptr<SharedLoops>> lanes_;
};

}  // namespace cudnn_rnn

#endif  // CUDNN_RNN_CPU_LANE_TEAMS_H_
