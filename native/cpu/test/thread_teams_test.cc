#include "threads/thread_teams.h"

#include <doctest/doctest.h>

#include <atomic>
#include <numeric>
#include <vector>

#include "threads/thread_pool.h"

namespace cudnn_rnn {
namespace {

// The order in which a thread that is alone takes the items of a loop: it begins with its own.
std::vector<ptrdiff_t> OrderOf(SharedLoops::Member* member, ptrdiff_t items) {
  std::vector<ptrdiff_t> order;
  member->Run(items, [&](ptrdiff_t item) { order.push_back(item); });
  return order;
}

ptrdiff_t FirstOf(SharedLoops::Member* member, ptrdiff_t items) { return OrderOf(member, items).front(); }

TEST_CASE("ThreadTeams divides the threads among the branches") {
  const auto first_branches = [](int threads, int branches) {
    ThreadTeams teams(threads, branches);
    CHECK(teams.threads() == threads);
    std::vector<int> first;
    for (int thread = 0; thread < threads; thread++)
      first.push_back(ThreadTeams::Member(&teams, thread).first_branch());
    return first;
  };
  CHECK(first_branches(1, 1) == std::vector{0});
  CHECK(first_branches(1, 3) == std::vector{0});
  CHECK(first_branches(4, 1) == std::vector{0, 0, 0, 0});
  CHECK(first_branches(4, 2) == std::vector{0, 0, 1, 1});
  // A thread that is left over begins with the last branch.
  CHECK(first_branches(5, 2) == std::vector{0, 0, 1, 1, 1});
  CHECK(first_branches(3, 2) == std::vector{0, 1, 1});
  // More branches than threads: each thread has its own, and begins with the first of them.
  CHECK(first_branches(2, 4) == std::vector{0, 1});
}

TEST_CASE("ThreadTeams gives each thread its part of its team's branch, and of the loops over all branches") {
  const auto first_items = [](int thread) {
    ThreadTeams teams(4, 2);
    ThreadTeams::Member member(&teams, thread);
    return std::vector{FirstOf(member.branch(0), 10), FirstOf(member.branch(1), 10), FirstOf(member.all(), 8)};
  };
  // Two of a team halve a branch, four quarter a loop over all. In the branch of others a thread begins at the front.
  CHECK(first_items(0) == std::vector<ptrdiff_t>{0, 0, 0});
  CHECK(first_items(1) == std::vector<ptrdiff_t>{5, 0, 2});
  CHECK(first_items(2) == std::vector<ptrdiff_t>{0, 0, 4});
  CHECK(first_items(3) == std::vector<ptrdiff_t>{0, 5, 6});
}

TEST_CASE("ThreadTeams lets every thread do all items of all branches where the others never come") {
  for (const int threads : {1, 2, 3, 5}) {
    for (const int branches : {1, 2, 4}) {
      for (int thread = 0; thread < threads; thread++) {
        ThreadTeams teams(threads, branches);
        ThreadTeams::Member member(&teams, thread);
        for (int branch = 0; branch < branches; branch++) {
          const std::vector<ptrdiff_t> order = OrderOf(member.branch(branch), 7);
          CAPTURE(threads);
          CAPTURE(branch);
          CHECK(order.size() == 7);
          CHECK(std::accumulate(order.begin(), order.end(), ptrdiff_t{0}) == 21);
        }
        CHECK(OrderOf(member.all(), 7).size() == 7);
      }
    }
  }
}

TEST_CASE("ThreadTeams runs every item of every branch once, in the order of the branch's loops") {
  constexpr int kLoops = 200;
  constexpr ptrdiff_t kItems = 7;
  for (const int threads : {2, 3, 5}) {
    for (const int branches : {1, 2, 4}) {
      CAPTURE(threads);
      CAPTURE(branches);
      ThreadPool pool(threads);
      ThreadTeams teams(threads, branches);
      // Not atomic: ThreadSanitizer reports a race if two threads have one item.
      std::vector<int> counts(static_cast<size_t>(branches * kItems), 0);
      std::atomic<bool> in_order{true};
      std::atomic<int> over_all{0};
      pool.Run(threads, [&](int thread) {
        ThreadTeams::Member member(&teams, thread);
        for (int k = 0; k < branches; k++) {
          const int branch = (member.first_branch() + k) % branches;
          for (int loop = 0; loop < kLoops; loop++) {
            member.branch(branch)->Run(kItems, [&](ptrdiff_t item) {
              int& count = counts[static_cast<size_t>(branch * kItems + item)];
              if (count++ != loop) in_order = false;
            });
          }
        }
        // All branches are complete before any item of a loop over all of them.
        member.all()->Run(kItems, [&](ptrdiff_t) {
          for (const int count : counts) over_all += count == kLoops;
        });
      });
      CHECK(in_order);
      CHECK(over_all == static_cast<int>(kItems * counts.size()));
    }
  }
}

}  // namespace
}  // namespace cudnn_rnn
