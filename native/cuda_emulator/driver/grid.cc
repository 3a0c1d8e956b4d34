#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "core/memory.h"
#include "core/settings.h"
#include "driver/block.h"
#include "driver/fiber.h"

namespace emulator {
namespace {

constexpr unsigned kLanes = 32;
/// Nanoseconds of a round in which each block has a turn.
constexpr unsigned long long kRound = 100'000;
/// Rounds in which nothing moved that show a deadlock: more than a kernel that watches itself waits.
constexpr int kMostIdleRounds = 200'000;

/// Threads wait for all that are still running.
struct Meeting {
  unsigned expected = 0;
  unsigned arrived = 0;
  unsigned generation = 0;

  /// Whether all are there, who may go on.
  bool Check() {
    if (arrived < expected) return false;
    arrived = 0;
    ++generation;
    return true;
  }
};

struct WarpOfGrid {
  Meeting meeting;
  unsigned long long exchange[2][kLanes] = {};
  unsigned operands[2][kLanes][6] = {};
};

struct BlockOfGrid {
  emulator_kernel::Dim3 place;
  Meeting meeting;
  std::vector<WarpOfGrid> warps;
  std::vector<char> shared;
  /// The votes of this meeting and of the last one, which some threads have yet to read.
  int votes[2] = {};
  unsigned live = 0;

  void Check() {
    if (meeting.Check()) votes[meeting.generation % 2] = 0;
  }
};

/// A word on its way to memory, or to the shared memory of a block.
struct StoreUnderWay {
  unsigned* place;
  unsigned word;
  const BlockOfGrid* block;
};

/// Blocks that follow one another; a block alone without clusters.
struct ClusterOfGrid {
  Meeting meeting;
  std::vector<StoreUnderWay> stores;
};

struct ThreadOfGrid {
  std::unique_ptr<Fiber> fiber;
  Meeting* waits = nullptr;
  unsigned generation = 0;
  bool is_done = false;
  bool is_spinning = false;
  /// The generation of the cluster's meeting at which it arrived.
  unsigned arrival = 0;
};

class Grid;
thread_local Grid* running_grid = nullptr;

class Grid {
 public:
  Grid(const emulator_kernel::Kernel& kernel, void** values, emulator_kernel::ThreadState& state,
       std::size_t shared_bytes)
      : kernel_(kernel),
        values_(values),
        state_(state),
        settings_(CurrentSettings()),
        random_(static_cast<unsigned>(settings_->interleaving)),
        threads_per_block_(state.block_size.x * state.block_size.y * state.block_size.z),
        blocks_(static_cast<std::size_t>(state.grid_size.x) * state.grid_size.y * state.grid_size.z),
        cluster_size_(std::max(1u, kernel.cluster.x)),
        clusters_(blocks_.size() / cluster_size_),
        threads_(blocks_.size() * threads_per_block_) {
    for (std::size_t k = 0; k < blocks_.size(); ++k) {
      BlockOfGrid& block = blocks_[k];
      const auto index = static_cast<unsigned>(k);
      block.place = {index % state.grid_size.x, index / state.grid_size.x % state.grid_size.y,
                     index / state.grid_size.x / state.grid_size.y};
      block.meeting.expected = block.live = threads_per_block_;
      block.warps.resize((threads_per_block_ + kLanes - 1) / kLanes);
      for (unsigned warp = 0; warp < block.warps.size(); ++warp) {
        block.warps[warp].meeting.expected = std::min(kLanes, threads_per_block_ - warp * kLanes);
      }
      clusters_[k / cluster_size_].meeting.expected += threads_per_block_;
      block.shared.assign(shared_bytes + 64, static_cast<char>(0xA7));
    }
    for (ThreadOfGrid& thread : threads_) {
      thread.fiber = TakeFiber();
      thread.fiber->Prepare([] { running_grid->Body(); });
    }
  }

  ~Grid() {
    for (ThreadOfGrid& thread : threads_) IdleFibers().push_back(std::move(thread.fiber));
  }
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;

  void Run() {
    running_grid = this;
    state_.wait = [](int whole_block) { running_grid->Wait(whole_block != 0); };
    state_.spin = [] { running_grid->Spin(); };
    state_.store = [](unsigned* place, unsigned word) { running_grid->Store(place, word); };
    state_.now = [] { return running_grid->now_; };
    state_.store_in_cluster = [](unsigned* place, int rank, unsigned word) {
      running_grid->StoreInCluster(place, static_cast<unsigned>(rank), word);
    };
    state_.arrive_at_cluster = [] { running_grid->ArriveAtCluster(); };
    state_.wait_for_cluster = [] { running_grid->WaitForCluster(); };
    std::vector<std::size_t> order(blocks_.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::size_t live = blocks_.size();
    for (int idle = 0; live > 0; now_ += kRound) {
      for (std::size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[random_() % k]);
      has_progress_ = false;
      for (const std::size_t block : order) {
        // A block that is held up.
        if (blocks_[block].live == 0 || random_() % 4 == 0) continue;
        const std::size_t cluster = block / cluster_size_;
        if (settings_->missing_block && cluster == clusters_.size() - 1 && live > cluster_size_) continue;
        RunTurn(block);
        live -= blocks_[block].live == 0;
        for (auto* const stores : {&stores_, &clusters_[cluster].stores}) {
          for (std::size_t k = stores->size() / 3; k > 0; --k) Deliver(*stores, random_() % stores->size());
        }
        if (is_late_) throw DeviceFault(719, "a store in the shared memory of a block that has ended");
      }
      if (!stores_.empty()) Deliver(stores_, random_() % stores_.size());
      idle = has_progress_ ? 0 : idle + 1;
      if (idle > kMostIdleRounds) throw DeviceFault(719, "the blocks of a cooperative launch wait for each other");
    }
    while (!stores_.empty()) Deliver(stores_, 0);
  }

 private:
  /// Several passes over the threads of a block, whose stacks are in the caches after the first.
  void RunTurn(std::size_t block) {
    for (auto passes = 1 + random_() % 8; passes > 0 && RunThreads(block); --passes) {
    }
  }

  /// Whether any has got on: a thread that spins sees no store before the next turn.
  bool RunThreads(std::size_t block) {
    const auto warps = static_cast<unsigned>(blocks_[block].warps.size());
    const unsigned first = static_cast<unsigned>(random_() % warps) * kLanes;
    bool has_got_on = false;
    for (unsigned n = 0; n < threads_per_block_; ++n) {
      const unsigned index = (n + first) % threads_per_block_;
      ThreadOfGrid& thread = threads_[block * threads_per_block_ + index];
      if (thread.is_done || (thread.waits != nullptr && thread.waits->generation == thread.generation)) continue;
      const bool was_spinning = thread.is_spinning;
      thread.waits = nullptr;
      thread.is_spinning = false;
      Place(blocks_[block], index);
      current_ = &thread;
      SwitchStack(scheduler_, thread.fiber->left);
      if (!thread.is_spinning || !was_spinning) has_progress_ = true;
      if (!thread.is_spinning) has_got_on = true;
    }
    return has_got_on;
  }

  void Place(BlockOfGrid& block, unsigned index) {
    const emulator_kernel::Dim3& size = state_.block_size;
    WarpOfGrid& warp = block.warps[index / kLanes];
    block_ = &block;
    warp_ = &warp;
    state_.thread = {index % size.x, index / size.x % size.y, index / size.x / size.y};
    state_.block = block.place;
    state_.dynamic_shared = SharedOf(block);
    state_.exchange = warp.exchange[warp.meeting.generation % 2];
    state_.operands = warp.operands[warp.meeting.generation % 2];
    state_.votes = &block.votes[block.meeting.generation % 2];
  }

  [[noreturn]] void Body() {
    kernel_.run(values_);
    current_->is_done = true;
    --block_->live;
    if (--warp_->meeting.expected > 0) warp_->meeting.Check();
    if (--block_->meeting.expected > 0) block_->Check();
    ClusterOfGrid& cluster = clusters_[IndexOfCluster()];
    --cluster.meeting.expected;
    Check(cluster);
    Leave();
    __builtin_unreachable();
  }

  void Wait(bool whole_block) {
    Meeting& meeting = whole_block ? block_->meeting : warp_->meeting;
    current_->waits = &meeting;
    current_->generation = meeting.generation;
    ++meeting.arrived;
    if (whole_block) {
      block_->Check();
    } else {
      meeting.Check();
    }
    Leave();
  }

  std::size_t IndexOfCluster() const { return static_cast<std::size_t>(block_ - blocks_.data()) / cluster_size_; }

  void ArriveAtCluster() {
    ClusterOfGrid& cluster = clusters_[IndexOfCluster()];
    current_->arrival = cluster.meeting.generation;
    ++cluster.meeting.arrived;
    Check(cluster);
  }

  /// Everything stored before the barrier of the cluster has arrived behind it.
  void Check(ClusterOfGrid& cluster) {
    if (!cluster.meeting.Check()) return;
    while (!cluster.stores.empty()) Deliver(cluster.stores, 0);
  }

  void WaitForCluster() {
    current_->waits = &clusters_[IndexOfCluster()].meeting;
    current_->generation = current_->arrival;
    Leave();
  }

  void Spin() {
    current_->is_spinning = true;
    Leave();
  }

  void Leave() {
    ThreadOfGrid* const self = current_;
    SwitchStack(self->fiber->left, scheduler_);
  }

  void Store(unsigned* place, unsigned word) {
    // A wrong sum, as a kernel might compute it that a compiler got wrong.
    if (++stores_made_ == 5 && settings_->wrong_store) word ^= 0x10000;
    stores_.push_back({place, word, nullptr});
  }

  void StoreInCluster(unsigned* place, unsigned rank, unsigned word) {
    const std::ptrdiff_t offset = reinterpret_cast<char*>(place) - SharedOf(*block_);
    const std::size_t cluster = IndexOfCluster();
    BlockOfGrid& there = blocks_[cluster * cluster_size_ + rank];
    clusters_[cluster].stores.push_back({reinterpret_cast<unsigned*>(SharedOf(there) + offset), word, &there});
  }

  static char* SharedOf(BlockOfGrid& block) {
    return reinterpret_cast<char*>((reinterpret_cast<std::uintptr_t>(block.shared.data()) + 63) / 64 * 64);
  }

  void Deliver(std::vector<StoreUnderWay>& stores, std::size_t index) {
    const auto [place, word, block] = stores[index];
    if (block != nullptr && block->live == 0) is_late_ = true;
    *place = word;
    stores[index] = stores.back();
    stores.pop_back();
    has_progress_ = true;
  }

  const emulator_kernel::Kernel& kernel_;
  void** const values_;
  emulator_kernel::ThreadState& state_;
  const std::shared_ptr<const Settings> settings_;
  std::mt19937 random_;
  const unsigned threads_per_block_;
  std::vector<BlockOfGrid> blocks_;
  const unsigned cluster_size_;
  std::vector<ClusterOfGrid> clusters_;
  std::vector<ThreadOfGrid> threads_;
  std::vector<StoreUnderWay> stores_;
  long stores_made_ = 0;
  unsigned long long now_ = 1;
  bool has_progress_ = false;
  bool is_late_ = false;
  BlockOfGrid* block_ = nullptr;
  WarpOfGrid* warp_ = nullptr;
  ThreadOfGrid* current_ = nullptr;
  Suspended scheduler_;
};

}  // namespace

void RunGrid(const emulator_kernel::Kernel& kernel, void** values, emulator_kernel::ThreadState& state,
             std::size_t shared_bytes) {
  Grid(kernel, values, state, shared_bytes).Run();
}

}  // namespace emulator
