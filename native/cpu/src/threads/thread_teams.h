// Which threads of a pass are at home in which branch, a branch being one layer in one direction.
//
// Branches that run side by side have their own loops, each on its part of the threads: fewer threads synchronize at
// the end of a step, and sooner. A thread that has finished its own branch helps with the others. All threads share the
// loops over all branches.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "threads/shared_loops.h"

namespace cudnn_rnn {

class ThreadTeams {
 public:
  ThreadTeams(int threads, int branches)
      : threads_(threads),
        teams_(std::min(threads, branches)),
        team_size_(std::max(1, threads / teams_)),
        all_(threads) {
    // A thread that is alone counts no items: memory for that takes a twentieth of a short call.
    for (int branch = 0; branch < branches && threads > 1; branch++) {
      branches_.push_back(std::make_unique<SharedLoops>(team_size_, threads));
    }
  }

  int threads() const { return threads_; }

  // One thread's place in all of these loops. All threads must run the same loops of a branch in the same order.
  class Member {
   public:
    Member(ThreadTeams* teams, int thread)
        : team_(std::min(thread / teams->team_size_, teams->teams_ - 1)), all_(&teams->all_, thread) {
      // Threads that do not divide evenly are left over, and only help.
      const int place = thread - team_ * teams->team_size_;
      for (int branch = 0; branch < static_cast<int>(teams->branches_.size()); branch++) {
        const bool is_home = branch % teams->teams_ == team_ && place < teams->team_size_;
        branches_.emplace_back(teams->branches_[branch].get(), is_home ? place : -1);
      }
    }

    // The branch that the thread should begin with; the others follow in order, around.
    int first_branch() const { return team_; }
    SharedLoops::Member* branch(int branch) { return branches_.empty() ? &all_ : &branches_[branch]; }
    SharedLoops::Member* all() { return &all_; }

   private:
    // The branch that this thread is at home in.
    const int team_;
    SharedLoops::Member all_;
    std::vector<SharedLoops::Member> branches_;
  };

 private:
  const int threads_;
  const int teams_;
  const int team_size_;
  // Loops over all branches, for all threads.
  SharedLoops all_;
  std::vector<std::unique_ptr<SharedLoops>> branches_;
};

}  // namespace cudnn_rnn
