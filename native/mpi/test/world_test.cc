#include "world.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <limits>
#include <numeric>

#include "test_libraries.h"

namespace cudnn_rnn {
namespace {

using in_process_mpi::Job;

const char* const kLibraries[] = {"libmpich_abi.so", "libopen_mpi_abi.so", "libstandard_abi.so"};

/// Makes an array the elements of an all-reduce, or the bytes of another operation.
void Give(Operation& operation, void* data, std::size_t count) {
  if (operation.kind == OperationKind::kAllReduce) {
    operation.arrays.push_back({data, count});
  } else {
    operation.bytes = static_cast<std::uint8_t*>(data);
    operation.byte_count = count;
  }
}

/// One rank: a World and the operations that it has settled.
class Rank {
 public:
  void Open(JobOptions options) {
    world_.Start(std::move(options), Settling(OperationKind::kOpen), [this](std::unique_ptr<Operation> operation) {
      const std::lock_guard lock(mutex_);
      settled_.push_back(std::move(operation));
      changed_.notify_all();
    });
  }
  static std::unique_ptr<Operation> Settling(OperationKind kind) {
    auto operation = std::make_unique<Operation>();
    operation->kind = kind;
    operation->settlement = std::make_shared<int>();
    return operation;
  }
  /// The next operation that settles.
  std::unique_ptr<Operation> Next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !settled_.empty(); });
    std::unique_ptr<Operation> operation = std::move(settled_.front());
    settled_.pop_front();
    return operation;
  }
  World& world() { return world_; }

 private:
  World world_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Operation>> settled_;
};

int StartedOf(Job& job) {
  const std::lock_guard lock(job.mutex);
  return job.started;
}

/// The ranks of a job, by rank: ranks are numbered in the order in which they open.
class Ranks {
 public:
  Ranks(Job& job, const std::string& file, const JobOptions& options = {}) {
    const std::string path = TestLibrary(file);
    Begin(path, job);
    JobOptions own = options;
    own.libraries = {path};
    for (int rank = 0; rank < job.size; rank++) {
      ranks_.push_back(std::make_unique<Rank>());
      ranks_.back()->Open(own);
      while (!job.was_initialized && StartedOf(job) <= rank) std::this_thread::yield();
    }
    for (auto& rank : ranks_) opened_.push_back(rank->Next());
  }
  const Operation& opened(int rank) const { return *opened_[rank]; }
  World& world(int rank) { return ranks_[rank]->world(); }
  int size() const { return static_cast<int>(ranks_.size()); }

  /// Makes one call on every rank and returns the settled operations.
  template <typename Fill>
  std::vector<std::unique_ptr<Operation>> Call(OperationKind kind, const Fill& fill) {
    for (int rank = 0; rank < size(); rank++) {
      auto operation = Rank::Settling(kind);
      fill(rank, *operation);
      ranks_[rank]->world().Post(std::move(operation));
    }
    std::vector<std::unique_ptr<Operation>> settled;
    for (auto& rank : ranks_) settled.push_back(rank->Next());
    return settled;
  }
  std::vector<std::unique_ptr<Operation>> Call(OperationKind kind) {
    return Call(kind, [](int, Operation& operation) { Give(operation, nullptr, 0); });
  }
  void Close() {
    for (const auto& closed : Call(OperationKind::kClose)) CHECK(closed->failure.code.empty());
    for (auto& rank : ranks_) rank->world().Join();
  }
  void PostTo(int rank, OperationKind kind) { ranks_[rank]->world().Post(Rank::Settling(kind)); }
  std::unique_ptr<Operation> Next(int rank) { return ranks_[rank]->Next(); }

 private:
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<std::unique_ptr<Operation>> opened_;
};

JobOptions OfSize(int size) {
  JobOptions options;
  options.expected_size = size;
  return options;
}

/// Options of which one deadline is short.
JobOptions Impatient(double JobOptions::* deadline) {
  JobOptions options;
  options.*deadline = 0.3;
  return options;
}

TEST_CASE("World opens with the rank, the size and the place on the host, and closes once") {
  for (const char* file : kLibraries) {
    CAPTURE(file);
    Job job;
    job.size = 5;
    job.ranks_per_host = 2;
    Ranks ranks(job, file, OfSize(5));
    for (int rank = 0; rank < 5; rank++) {
      REQUIRE(ranks.opened(rank).failure.code.empty());
      const JobInfo& info = ranks.world(rank).info();
      CHECK(info.rank == rank);
      CHECK(info.size == 5);
      CHECK(info.local_rank == rank % 2);
      // The last host has one rank.
      CHECK(info.local_size == (rank == 4 ? 1 : 2));
      CHECK(info.names_missing_ranks);
      CHECK(info.library == TestLibrary(file));
      CHECK(info.version == "In-process MPI 1.0");
      CHECK(ranks.world(rank).state() == World::State::kOpen);
    }
    ranks.Close();
    CHECK(job.finalized == 5);
    // Both duplicates and the communicator of the host.
    CHECK(job.freed == 15);
    for (int rank = 0; rank < 5; rank++) CHECK(ranks.world(rank).state() == World::State::kClosed);
  }
}

TEST_CASE("World cannot name missing ranks where the library lacks MPI_THREAD_MULTIPLE") {
  Job job;
  job.size = 2;
  job.provided = 1;
  Ranks ranks(job, "libmpich_abi.so");
  CHECK(!ranks.world(0).info().names_missing_ranks);
  ranks.Close();
}

template <typename T>
void CheckReductions(Ranks& ranks, ElementKind element, std::size_t count) {
  const struct {
    ReduceKind kind;
    std::function<double(std::vector<double>)> expected;
  } reductions[] = {
      {ReduceKind::kSum, [](std::vector<double> v) { return std::accumulate(v.begin(), v.end(), 0.0); }},
      {ReduceKind::kMin, [](std::vector<double> v) { return *std::min_element(v.begin(), v.end()); }},
      {ReduceKind::kMax, [](std::vector<double> v) { return *std::max_element(v.begin(), v.end()); }},
  };
  // Small integers, so that sums are exact in every type.
  const auto value = [](int rank, std::size_t k) { return static_cast<double>((rank * 37 + k * 11) % 101) - 50; };
  for (const auto& [kind, expected] : reductions) {
    std::vector<std::vector<T>> data(ranks.size());
    const auto settled = ranks.Call(OperationKind::kAllReduce, [&](int rank, Operation& operation) {
      for (std::size_t k = 0; k < count; k++) data[rank].push_back(static_cast<T>(value(rank, k)));
      operation.element = element;
      operation.reduce = kind;
      Give(operation, data[rank].data(), count);
    });
    for (int rank = 0; rank < ranks.size(); rank++) {
      CHECK(settled[rank]->failure.code.empty());
      for (std::size_t k = 0; k < count; k++) {
        std::vector<double> values;
        for (int each = 0; each < ranks.size(); each++) values.push_back(value(each, k));
        REQUIRE(data[rank][k] == static_cast<T>(expected(values)));
      }
    }
  }
}

TEST_CASE("World::AllReduce reduces every element type on every rank") {
  for (const char* file : kLibraries) {
    CAPTURE(file);
    Job job;
    job.size = 3;
    Ranks ranks(job, file);
    for (const std::size_t count : {0, 1, 257}) {
      CheckReductions<float>(ranks, ElementKind::kFloat32, count);
      CheckReductions<double>(ranks, ElementKind::kFloat64, count);
      CheckReductions<std::int32_t>(ranks, ElementKind::kInt32, count);
    }
    ranks.Close();
  }
}

float OfBits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

/// The bfloat16 number nearest to a finite `value`, of two equally near ones that with an even last bit: by search,
/// among all that have the sign of `value`. From the largest on, everything is infinite that is nearer to 2^128.
float NearestBfloat16(double value) {
  const double magnitude = std::fabs(value);
  std::uint32_t best = 0;
  double best_distance = magnitude;
  for (std::uint32_t half = 0; half <= 0x7f80; half++) {
    const double candidate = half == 0x7f80 ? std::ldexp(1.0, 128) : OfBits(half << 16);
    const double distance = std::fabs(magnitude - candidate);
    if (distance < best_distance || (distance == best_distance && half % 2 == 0)) {
      best = half;
      best_distance = distance;
    }
  }
  return OfBits(best << 16 | (std::signbit(value) ? 0x80000000u : 0u));
}

/// All-reduces the columns of `values`, one row for each rank, as bfloat16; the result of each rank.
template <typename T>
std::vector<std::vector<T>> SumAsBfloat16(Ranks& ranks, ElementKind element, std::vector<std::vector<T>> values) {
  const auto settled = ranks.Call(OperationKind::kAllReduce, [&](int rank, Operation& operation) {
    operation.element = element;
    operation.as_bfloat16 = true;
    Give(operation, values[rank].data(), values[rank].size());
  });
  for (const auto& operation : settled) CHECK(operation->failure.code.empty());
  return values;
}

TEST_CASE("World sums as bfloat16 with one rounding of each addend and one of the sum, for any number of elements") {
  for (const int size : {1, 2, 3, 7}) {
    Job job;
    job.size = size;
    Ranks ranks(job, "libopen_mpi_abi.so");
    // Fewer elements than ranks, as many, and numbers that do not divide.
    for (const std::size_t count : {0, 1, 2, 3, 7, 8, 40}) {
      CAPTURE(size);
      CAPTURE(count);
      std::vector<std::vector<float>> values(size);
      for (int rank = 0; rank < size; rank++) {
        for (std::size_t k = 0; k < count; k++) {
          // They have one magnitude, so that a float32 holds the sum of bfloat16 numbers exactly.
          values[rank].push_back(static_cast<float>(1 + std::fmod(0.6180339887 * (rank * 41 + k + 1), 1)) *
                                 (k % 3 == 0 ? -1 : 1));
        }
      }
      const auto summed = SumAsBfloat16(ranks, ElementKind::kFloat32, values);
      std::vector<std::vector<double>> doubles;
      for (const auto& row : values) doubles.emplace_back(row.begin(), row.end());
      const auto summed_doubles = SumAsBfloat16(ranks, ElementKind::kFloat64, doubles);
      for (std::size_t k = 0; k < count; k++) {
        double sum = 0;
        for (int rank = 0; rank < size; rank++) sum += NearestBfloat16(values[rank][k]);
        for (int rank = 0; rank < size; rank++) {
          REQUIRE(summed[rank][k] == NearestBfloat16(sum));
          REQUIRE(summed_doubles[rank][k] == NearestBfloat16(sum));
        }
      }
    }
    ranks.Close();
  }
}

TEST_CASE("World rounds to bfloat16 as IEEE 754 rounds to the nearest, ties to even") {
  Job job;
  Ranks ranks(job, "libstandard_abi.so");
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {0.0f,
                                     -0.0f,
                                     OfBits(0x3f808000),  // between 1 and the next number: to 1, whose last bit is even
                                     OfBits(0x3f818000),  // between the next two: away from 1
                                     OfBits(0x3f808001),
                                     OfBits(0x3f807fff),
                                     OfBits(0x00000001),  // the smallest subnormal
                                     OfBits(0x80008000),
                                     OfBits(0x00018000),
                                     OfBits(0x7f7f7fff),  // just below the middle to infinity
                                     OfBits(0x7f7f8000),  // the middle
                                     -std::numeric_limits<float>::max(),
                                     infinity,
                                     -infinity};
  const auto rounded = SumAsBfloat16<float>(ranks, ElementKind::kFloat32, {values})[0];
  for (std::size_t k = 0; k < values.size(); k++) {
    CAPTURE(k);
    const float expected = std::isinf(values[k]) ? values[k] : NearestBfloat16(values[k]);
    CHECK(rounded[k] == expected);
  }
  // Every NaN stays one, also if a carry would leave the exponent, or the upper half has no bit of the payload.
  const std::vector<float> nans = {OfBits(0x7fc00000), OfBits(0x7fffffff), OfBits(0xffffffff), OfBits(0x7f800001),
                                   OfBits(0xff800001)};
  const auto summed = SumAsBfloat16<float>(ranks, ElementKind::kFloat32, {nans});
  for (const float value : summed[0]) CHECK(std::isnan(value));
  // Numbers of float64 beyond the range of float32.
  const auto wide = SumAsBfloat16<double>(ranks, ElementKind::kFloat64, {{1e300, -1e300, 1e-300}})[0];
  CHECK(wide == std::vector<double>{HUGE_VAL, -HUGE_VAL, 0});
  ranks.Close();
}

TEST_CASE("World::Broadcast copies the bytes of any root to all ranks") {
  for (const char* file : kLibraries) {
    Job job;
    job.size = 3;
    Ranks ranks(job, file);
    for (int root = 0; root < 3; root++) {
      for (const std::size_t count : {0, 1, 5}) {
        std::vector<std::vector<std::uint8_t>> data(3);
        ranks.Call(OperationKind::kBroadcast, [&](int rank, Operation& operation) {
          for (std::size_t k = 0; k < count; k++) data[rank].push_back(static_cast<std::uint8_t>(rank * 10 + k));
          Give(operation, data[rank].data(), count);
          operation.root = root;
        });
        for (int rank = 0; rank < 3; rank++) {
          for (std::size_t k = 0; k < count; k++) REQUIRE(data[rank][k] == root * 10 + k);
        }
      }
    }
    ranks.Close();
  }
}

TEST_CASE("World::AllGather collects parts of different lengths, empty ones too") {
  for (const char* file : kLibraries) {
    Job job;
    job.size = 4;
    Ranks ranks(job, file);
    const std::vector<std::vector<std::string>> cases = {
        {"one", "", "three", "4"}, {"", "", "", ""}, {"", "", "", "last"}, {"first", "", "", ""}};
    for (auto parts : cases) {
      const auto settled = ranks.Call(OperationKind::kAllGather, [&](int rank, Operation& operation) {
        Give(operation, parts[rank].data(), parts[rank].size());
      });
      const std::string all = parts[0] + parts[1] + parts[2] + parts[3];
      for (const auto& operation : settled) {
        CHECK(operation->failure.code.empty());
        CHECK(std::string(operation->gathered.begin(), operation->gathered.end()) == all);
        REQUIRE(operation->lengths.size() == 4);
        for (int rank = 0; rank < 4; rank++) {
          CHECK(operation->lengths[rank] == static_cast<std::int64_t>(parts[rank].size()));
        }
      }
    }
    ranks.Close();
  }
}

/// Addresses of more bytes than one call of MPI can count, without memory behind them.
struct Addresses {
  explicit Addresses(std::size_t bytes) : bytes(bytes) {
    data = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(data != MAP_FAILED);
  }
  ~Addresses() { munmap(data, bytes); }
  void* data;
  std::size_t bytes;
};

TEST_CASE("World splits arrays beyond the range of MPI's counts into consecutive pieces") {
  Job job;
  job.moves_nothing = true;
  Ranks ranks(job, "libmpich_abi.so");
  const std::size_t most = std::size_t{1} << 30;
  const struct {
    OperationKind kind;
    ElementKind element;
    std::size_t bytes_per_element;
    std::size_t count;
    std::vector<std::size_t> expected;
  } cases[] = {
      {OperationKind::kBroadcast, ElementKind::kFloat32, 1, 2 * most + 3, {most, most, 3}},
      {OperationKind::kBroadcast, ElementKind::kFloat32, 1, most, {most}},
      {OperationKind::kAllReduce, ElementKind::kFloat32, 4, most + 1, {most, 1}},
      {OperationKind::kAllReduce, ElementKind::kFloat64, 8, 2 * most, {most, most}},
      {OperationKind::kAllReduce, ElementKind::kInt32, 4, 0, {0}},
  };
  for (const auto& each : cases) {
    job.pieces.clear();
    const Addresses addresses(std::max<std::size_t>(each.count * each.bytes_per_element, 1));
    const auto settled = ranks.Call(each.kind, [&](int, Operation& operation) {
      operation.element = each.element;
      Give(operation, addresses.data, each.count);
    });
    CHECK(settled[0]->failure.code.empty());
    std::size_t next = reinterpret_cast<std::size_t>(addresses.data);
    REQUIRE(job.pieces.size() == each.expected.size());
    for (std::size_t k = 0; k < each.expected.size(); k++) {
      CHECK(static_cast<std::size_t>(job.pieces[k].count) == each.expected[k]);
      CHECK(job.pieces[k].offset == next);
      next += each.expected[k] * each.bytes_per_element;
    }
  }
  ranks.Close();
}

TEST_CASE("World performs the operations of a rank in the order of their posts") {
  Job job;
  job.size = 2;
  Ranks ranks(job, "libmpich_abi.so");
  const OperationKind kinds[] = {OperationKind::kBarrier, OperationKind::kBroadcast, OperationKind::kAllGather,
                                 OperationKind::kBarrier};
  for (int rank = 0; rank < 2; rank++) {
    for (const OperationKind kind : kinds) ranks.PostTo(rank, kind);
  }
  for (int rank = 0; rank < 2; rank++) {
    for (const OperationKind kind : kinds) CHECK(ranks.Next(rank)->kind == kind);
  }
  ranks.Close();
}

TEST_CASE("World reports the function that failed with the library's text, and stays open") {
  const struct {
    OperationKind kind;
    const char* function;
  } cases[] = {
      {OperationKind::kAllReduce, "Allreduce"}, {OperationKind::kBroadcast, "Bcast"},
      {OperationKind::kAllGather, "Allgather"}, {OperationKind::kAllGather, "Allgatherv"},
      {OperationKind::kBarrier, "Barrier"},
  };
  Job job;
  Ranks ranks(job, "libopen_mpi_abi.so");
  for (const auto& [kind, function] : cases) {
    job.failing = function;
    const auto failed = ranks.Call(kind);
    CHECK(failed[0]->failure.code == "ERR_COMMUNICATOR");
    CHECK(failed[0]->failure.call == std::string("MPI_") + function);
    CHECK(failed[0]->failure.detail == "error 17 of the test");
    CHECK(ranks.world(0).state() == World::State::kOpen);
    job.failing.clear();
    CHECK(ranks.Call(kind)[0]->failure.code.empty());
  }
  for (const char* function : {"Alltoallv", "Allgatherv"}) {
    job.failing = function;
    float value = 1.5;
    const auto failed = ranks.Call(OperationKind::kAllReduce, [&](int, Operation& operation) {
      operation.as_bfloat16 = true;
      Give(operation, &value, 1);
    });
    CHECK(failed[0]->failure.call == std::string("MPI_") + function);
    CHECK(value == 1.5);
  }
  job.failing.clear();
  ranks.Close();
}

TEST_CASE("World that finds no library is new again, and another open may follow") {
  Job job;
  Begin(TestLibrary("libmpich_abi.so"), job);
  Rank rank;
  JobOptions options;
  options.libraries = {TestLibrary("libmissing.so"), TestLibrary("libincomplete_mpi.so")};
  rank.Open(options);
  const auto failed = rank.Next();
  CHECK(failed->failure.code == "ERR_COMMUNICATOR_UNAVAILABLE");
  CHECK(failed->failure.attempts.size() == 2);
  CHECK(rank.world().state() == World::State::kNew);
  CHECK(job.started == 0);
  rank.world().Join();

  options.libraries = {TestLibrary("libmpich_abi.so")};
  rank.Open(options);
  CHECK(rank.Next()->failure.code.empty());
  CHECK(rank.world().CloseAtExit());
  CHECK(rank.world().state() == World::State::kClosed);
}

TEST_CASE("World that finds no library can be joined, however early its threads end") {
  JobOptions options;
  options.libraries = {TestLibrary("libmissing.so")};
  Rank rank;
  for (int open = 0; open < 500; open++) {
    rank.Open(options);
    CHECK(rank.Next()->failure.code == "ERR_COMMUNICATOR_UNAVAILABLE");
    rank.world().Join();
  }
}

TEST_CASE("World refuses a process in which another one has initialized MPI, and leaves MPI to it") {
  Job job;
  job.was_initialized = true;
  Ranks ranks(job, "libstandard_abi.so");
  CHECK(ranks.opened(0).failure.code == "ERR_COMMUNICATOR_UNAVAILABLE");
  CHECK(ranks.opened(0).failure.call == "MPI_Initialized");
  CHECK(ranks.world(0).state() == World::State::kClosed);
  CHECK(job.started == 0);
  CHECK(job.finalized == 0);
  ranks.world(0).Join();
}

TEST_CASE("World refuses a job of another size than the launcher's, with the size that MPI reports") {
  Job job;
  Ranks ranks(job, "libmpich_abi.so", OfSize(4));
  CHECK(ranks.opened(0).failure.code == "ERR_WORLD_MISMATCH");
  CHECK(ranks.opened(0).failure.detail == "1");
  CHECK(ranks.world(0).state() == World::State::kClosed);
  CHECK(job.finalized == 1);
  ranks.world(0).Join();
}

TEST_CASE("World::CloseAtExit refuses while an operation is pending, and closes afterwards") {
  Job job;
  job.size = 2;
  Ranks ranks(job, "libmpich_abi.so");
  ranks.PostTo(0, OperationKind::kBarrier);
  // The other rank is not in the barrier, so it is pending for certain.
  CHECK(!ranks.world(0).CloseAtExit());
  ranks.PostTo(1, OperationKind::kBarrier);
  ranks.Next(0);
  ranks.Next(1);
  bool closed[2] = {false, false};
  std::thread other([&] { closed[1] = ranks.world(1).CloseAtExit(); });
  closed[0] = ranks.world(0).CloseAtExit();
  other.join();
  CHECK(closed[0]);
  CHECK(closed[1]);
  CHECK(job.finalized == 2);
}

/// A child process that runs `body`, which ends the process: its status and its output to stderr.
class Child {
 public:
  template <typename Body>
  explicit Child(const Body& body) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    process_ = fork();
    REQUIRE(process_ >= 0);
    if (process_ == 0) {
      dup2(ends[1], STDERR_FILENO);
      body();
      _exit(0);
    }
    close(ends[1]);
    output_ = ends[0];
  }
  void Wait() {
    char text[512];
    for (ssize_t bytes = 0; (bytes = read(output_, text, sizeof text)) > 0;) errors.append(text, bytes);
    close(output_);
    int ended = 0;
    REQUIRE(waitpid(process_, &ended, 0) == process_);
    REQUIRE(WIFEXITED(ended));
    status = WEXITSTATUS(ended);
  }
  std::string errors;
  int status = -1;
  pid_t process() const { return process_; }

 private:
  pid_t process_ = -1;
  int output_ = -1;
};

[[noreturn]] void Forever() {
  for (;;) pause();
}

bool Contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("World ends the job with a message that names the ranks and their calls") {
  // All at once, as each waits for some deadline.
  const auto aborting = [](int code) { return [=] { World::Instance().Abort("its reason", code); }; };
  Child first(aborting(3));
  Child wide(aborting(0x104));
  Child zero(aborting(0x100));
  Child late([] {
    Job job;
    job.size = 2;
    // The report is received by a later call.
    job.failing_reports = 1;
    Ranks ranks(job, "libmpich_abi.so", Impatient(&JobOptions::timeout_seconds));
    ranks.Call(OperationKind::kBarrier);
    ranks.PostTo(0, OperationKind::kBarrier);
    Forever();
  });
  Child left([] {
    Job job;
    job.size = 2;
    Ranks ranks(job, "libopen_mpi_abi.so");
    float value = 0;
    auto reduction = Rank::Settling(OperationKind::kAllReduce);
    Give(*reduction, &value, 1);
    ranks.world(1).Post(std::move(reduction));
    ranks.PostTo(0, OperationKind::kClose);
    Forever();
  });
  Child silent([] {
    Job job;
    job.size = 3;
    job.deaf = 1;
    Ranks ranks(job, "libstandard_abi.so", Impatient(&JobOptions::silence_seconds));
    ranks.PostTo(0, OperationKind::kBroadcast);
    Forever();
  });
  Child device([] {
    Job job;
    job.size = 3;
    Ranks ranks(job, "libmpich_abi.so", Impatient(&JobOptions::timeout_seconds));
    // The first call ends everywhere. Rank 2 does not come to the second one; rank 1 has come.
    for (int rank = 0; rank < 3; rank++) {
      ranks.world(rank).BeginDeviceCall();
      ranks.world(rank).EndDeviceCall();
    }
    ranks.world(0).BeginDeviceCall();
    ranks.world(1).BeginDeviceCall();
    Forever();
  });
  Child silent_device([] {
    Job job;
    job.size = 3;
    job.deaf = 1;
    Ranks ranks(job, "libstandard_abi.so", Impatient(&JobOptions::silence_seconds));
    ranks.world(0).BeginDeviceCall();
    Forever();
  });
  for (Child* child : {&first, &wide, &zero, &late, &left, &silent, &device, &silent_device}) child->Wait();

  CHECK(first.errors == "cudnn-rnn: process " + std::to_string(first.process()) + ": its reason\n");
  // A status of a process has 8 bits, and 0 would be success.
  CHECK(first.status == 3);
  CHECK(wide.status == 4);
  CHECK(zero.status == kLeftExitCode);

  CHECK(Contains(late.errors,
                 "Cannot complete barrier (call 2, 0 bytes) as every rank must come to it within 0.3 s: "
                 "rank 1 of 2 on "));
  CHECK(Contains(late.errors, "(its last was call 1). All ranks are ended\n"));
  CHECK(Contains(late.errors, "MPI_Abort of the world with 75\n"));
  CHECK(late.status == kTimeoutExitCode);

  CHECK(Contains(left.errors, "it left while rank 1 of 2 on "));
  CHECK(Contains(left.errors, " waits for it in allReduce (call 1). Every rank must make the same calls"));
  CHECK(left.status == kLeftExitCode);

  CHECK(Contains(silent.errors, "Cannot complete broadcast (call 1, 0 bytes) as rank 1 of 3 on "));
  CHECK(Contains(silent.errors, " has sent no heartbeat for 0.3 s"));
  CHECK(silent.status == kTimeoutExitCode);

  CHECK(Contains(device.errors,
                 "Cannot complete call 2 of NCCL as every rank must come to it within 0.3 s: rank 2 of 3 on "));
  CHECK(Contains(device.errors, " is in no call since "));
  CHECK(!Contains(device.errors, ", rank 1 of 3"));
  CHECK(device.status == kTimeoutExitCode);

  CHECK(Contains(silent_device.errors, "Cannot complete call 1 of NCCL as rank 1 of 3 on "));
  CHECK(Contains(silent_device.errors, " has sent no heartbeat for 0.3 s"));
  CHECK(silent_device.status == kTimeoutExitCode);
}

}  // namespace
}  // namespace cudnn_rnn
