// Tests of the threads and the passes without Node.js, for the sanitizers: exits with 1 and says what failed.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include "isa.h"
#include "job_queue.h"
#include "narrow_weights.h"
#include "rnn_backward.h"
#include "rnn_forward.h"
#include "rnn_stepper.h"
#include "shared_loops.h"

namespace {
std::atomic<int> allocations{0};
}

void* operator new(size_t bytes) {
  allocations++;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace cudnn_rnn {
namespace {

int failures = 0;

void Expect(bool holds, const char* what) {
  if (holds) return;
  failures++;
  std::printf("failed: %s\n", what);
}

// Every item of every loop is done once, and none before all of the loop before.
void SharedLoopsRunEveryItemOnce() {
  constexpr int kLoops = 2000;
  constexpr int kItems = 7;
  for (const int threads : {1, 2, 3, 5}) {
    ThreadPool pool(threads);
    SharedLoops loops(threads);
    // Not atomic: that items of different loops never meet is what the loops promise.
    std::vector<int> counts(kItems, 0);
    std::atomic<bool> in_order{true};
    pool.Run(threads, [&](int index) {
      SharedLoops::Member member(&loops, index);
      for (int loop = 0; loop < kLoops; loop++) {
        member.Run(kItems, [&](ptrdiff_t item) {
          if (counts[item] != loop) in_order = false;
          counts[item]++;
        });
        const ptrdiff_t other = kItems - 1;
        member.Run(kItems, [&](ptrdiff_t item) {
          if (counts[other - item] != loop + 1) in_order = false;
        });
      }
    });
    Expect(in_order, "the loops run one after another");
    for (const int count : counts) Expect(count == kLoops, "every item is done once in every loop");
  }
}

void HelpersFinishAlone() {
  // A loop whose home thread never comes.
  SharedLoops loops(2);
  SharedLoops::Member member(&loops, 0);
  int done = 0;
  for (int loop = 0; loop < 100; loop++) member.Run(10, [&](ptrdiff_t) { done++; });
  Expect(done == 1000, "a thread alone does the work of all");
}

void ThreadPoolServesManyCallers() {
  ThreadPool pool(3);
  std::atomic<int> done{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; caller++) {
    callers.emplace_back([&] {
      for (int call = 0; call < 300; call++) {
        SharedLoops loops(3);
        const auto work = [&](int index) {
          SharedLoops::Member member(&loops, index);
          member.Run(5, [&](ptrdiff_t) { done++; });
        };
        if (call % 2 == 0) {
          pool.Run(3, work);
        } else {
          // Alone where the pool is taken: then the caller is member 0 and helps itself.
          pool.RunOrAlone(3, work);
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  Expect(done == 4 * 300 * 5, "every call of the pool does its work once");
}

void JobQueueRunsInOrderAndStops() {
  std::atomic<int> notified{0};
  std::vector<int> order;
  {
    JobQueue queue([&] { notified++; });
    uint64_t last = 0;
    for (int k = 0; k < 1000; k++) last = queue.Push([&order, k] { order.push_back(k); });
    queue.Await(last);
    queue.Wait(last);
    Expect(queue.completed() == last, "all jobs are done");
    queue.Push([] { throw std::runtime_error("on purpose"); });
    queue.Wait(last + 1);
    Expect(queue.FailureOf(last + 1).message == "on purpose", "a failure is kept");
    bool ran = false;
    Expect(queue.RunOrPush([&] { ran = true; }) == last + 2 && ran && queue.completed() == last + 2,
           "a brief job runs at once where nothing is queued");
    queue.RunOrPush([] { throw std::runtime_error("at once"); });
    Expect(queue.FailureOf(last + 3).message == "at once", "the failure of a brief job is kept");
    std::atomic<bool> released{false};
    queue.Push([&] {
      while (!released) std::this_thread::yield();
    });
    std::atomic<bool> waited{false};
    queue.RunOrPush([&] { waited = released.load(); });
    released = true;
    queue.Wait(last + 5);
    Expect(waited, "a brief job waits for what is queued");
    for (int k = 0; k < 100; k++) queue.Push([] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); });
    queue.Stop();
  }
  for (size_t k = 0; k < order.size(); k++) Expect(order[k] == static_cast<int>(k), "jobs run in order");
  Expect(notified > 0, "who waits is told");
}

template <typename T>
struct Results {
  std::vector<T> output, h, c, dx, dh, dc, dw;
};

template <typename T>
std::vector<T> Wave(size_t count, double step) {
  std::vector<T> values(count);
  for (size_t k = 0; k < count; k++) values[k] = static_cast<T>(0.3 * std::sin(step * static_cast<double>(k + 1)));
  return values;
}

// Zeros in the padding, as every opaque buffer has.
template <typename T>
std::vector<T> WaveParams(const Network<T>& network) {
  std::vector<T> params(network.params_size());
  const auto& options = network.options();
  std::vector<T> region = Wave<T>(static_cast<size_t>(options.units) * std::max(options.input_size, network.output_size()), 0.77);
  for (int p = 0; p < network.pseudo_layers(); p++) {
    for (int gate = 0; gate < network.gates(); gate++) {
      for (const Side side : {Side::kInput, Side::kRecurrent}) {
        network.MoveWeight(params.data(), region.data(), p, side, gate, true);
        network.MoveBias(params.data(), region.data(), p, side, gate, true);
      }
    }
    if (options.projection > 0) network.MoveWeight(params.data(), region.data(), p, Side::kProjection, 0, true);
  }
  return params;
}

template <typename T>
Engine<T> EngineOf(ThreadPool* pool, BlockCache* blocks, const Kernels& kernels) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return {pool, &kernels.f32, blocks, nullptr};
  } else {
    return {pool, &kernels.f64, blocks, nullptr};
  }
}

template <typename T>
Results<T> Train(const Network<T>& network, const Kernels& kernels, int threads, ptrdiff_t time, ptrdiff_t batch,
                 const std::vector<int32_t>& lengths) {
  ThreadPool pool(threads);
  BlockCache blocks;
  const Engine<T> engine = EngineOf<T>(&pool, &blocks, kernels);
  const auto& options = network.options();
  const size_t states = static_cast<size_t>(network.pseudo_layers() * batch);
  const std::vector<T> params = WaveParams(network);
  const std::vector<T> input = Wave<T>(static_cast<size_t>(time * batch * options.input_size), 0.37);
  Results<T> r;
  r.output.resize(static_cast<size_t>(time * batch * network.output_size()));
  r.h.resize(states * network.columns());
  r.c.resize(states * options.units);
  r.dx.resize(input.size());
  r.dh.resize(r.h.size());
  r.dc.resize(r.c.size());
  r.dw.resize(params.size());
  Tape<T> tape{};
  tape.time = time;
  tape.batch = batch;
  tape.lengths = lengths;
  ForwardPass<T> forward{};
  forward.network = &network;
  forward.time = time;
  forward.batch = batch;
  forward.input = input.data();
  forward.params.data = params.data();
  forward.lengths = lengths.empty() ? nullptr : lengths.data();
  forward.output = r.output.data();
  forward.h_final = r.h.data();
  forward.c_final = r.c.data();
  forward.tape = &tape;
  RunForward(engine, forward);
  BackwardPass<T> backward{};
  backward.network = &network;
  backward.input = input.data();
  backward.params = params.data();
  backward.tape = &tape;
  backward.d_output = r.output.data();
  backward.d_input = r.dx.data();
  backward.dh = r.dh.data();
  backward.dc = r.dc.data();
  backward.d_params = r.dw.data();
  RunBackward(engine, backward);
  return r;
}

// The tests below are about every cell in one direction, and in both with lengths; sizes with odd tails; few rows, and so
// many that a backward copies its matrices.
struct TestCase {
  NetworkOptions options;
  ptrdiff_t time;
  ptrdiff_t batch;
  std::vector<int32_t> lengths;
};

std::vector<TestCase> TestCases() {
  std::vector<TestCase> cases;
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRelu, Cell::kTanh}) {
    for (const ptrdiff_t batch : {5, 50}) {
      NetworkOptions options{cell, 2, 1, 37, 19, 0, false, true, true, INFINITY, 0.25, 7};
      cases.push_back({options, 11, batch, {}});
      options.directions = 2;
      if (cell == Cell::kLstm) options.projection = 21;
      std::vector<int32_t> lengths;
      while (static_cast<ptrdiff_t>(lengths.size()) < batch) lengths.insert(lengths.end(), {9, 0, 4, 11, 1});
      cases.push_back({options, 11, batch, lengths});
    }
  }
  return cases;
}

void PassesDoNotDependOnThreads() {
  for (const Kernels* kernels : SupportedKernels()) {
    for (const TestCase& each : TestCases()) {
      const Network<float> network(each.options);
      const auto one = Train(network, *kernels, 1, each.time, each.batch, each.lengths);
      for (const int threads : {2, 3, 4}) {
        const auto several = Train(network, *kernels, threads, each.time, each.batch, each.lengths);
        Expect(one.output == several.output && one.h == several.h, "forward does not depend on the threads");
        Expect(one.dx == several.dx && one.dw == several.dw && one.dh == several.dh,
               "backward does not depend on the threads");
      }
    }
  }
}

template <typename T>
double Difference(const std::vector<T>& actual, const std::vector<T>& expected) {
  double magnitude = 1, difference = 0;
  for (size_t k = 0; k < expected.size(); k++) {
    magnitude = std::max(magnitude, std::abs(static_cast<double>(expected[k])));
    // Not max, which would lose a NaN.
    const double own = std::abs(static_cast<double>(actual[k]) - static_cast<double>(expected[k]));
    if (!(own <= difference)) difference = own;
  }
  return difference / magnitude;
}

// What vitest holds to the reference on the processors it runs on, this holds to the portable kernels on the others. The
// tolerances are those of packages/cpu/test/sizes.test.ts.
template <typename T>
void InstructionSetsAgree(double tolerance) {
  for (const TestCase& each : TestCases()) {
    const Network<T> network(each.options);
    const auto expected = Train(network, kPortableKernels, 1, each.time, each.batch, each.lengths);
    for (const Kernels* kernels : SupportedKernels()) {
      const auto actual = Train(network, *kernels, 1, each.time, each.batch, each.lengths);
      for (const auto part : {&Results<T>::output, &Results<T>::h, &Results<T>::c, &Results<T>::dx, &Results<T>::dh,
                              &Results<T>::dc, &Results<T>::dw}) {
        Expect(Difference(actual.*part, expected.*part) <= tolerance, "instruction sets agree");
      }
    }
  }
}

// The kernels that training does not use.
void InstructionSetsAgreeOnNarrowWeights() {
  for (const TestCase& each : TestCases()) {
    if (each.options.directions == 2) continue;
    const Network<float> network(each.options);
    const std::vector<float> params = WaveParams(network);
    const std::vector<float> input = Wave<float>(static_cast<size_t>(each.time * each.batch * each.options.input_size), 0.37);
    for (const WeightFormat format : {WeightFormat::kBfloat16, WeightFormat::kInt8}) {
      const NarrowWeights narrow(network, params.data(), format);
      const auto infer = [&](const Kernels& kernels) {
        ThreadPool pool(2);
        BlockCache blocks;
        std::vector<float> output(static_cast<size_t>(each.time * each.batch * network.output_size()));
        std::vector<float> h(static_cast<size_t>(network.pseudo_layers() * each.batch * network.columns()));
        std::vector<float> c(static_cast<size_t>(network.pseudo_layers() * each.batch * each.options.units));
        ForwardPass<float> pass{};
        pass.network = &network;
        pass.time = each.time;
        pass.batch = each.batch;
        pass.input = input.data();
        pass.params = {params.data(), &narrow};
        pass.output = output.data();
        pass.h_final = h.data();
        pass.c_final = c.data();
        RunForward(EngineOf<float>(&pool, &blocks, kernels), pass);
        return output;
      };
      const std::vector<float> expected = infer(kPortableKernels);
      for (const Kernels* kernels : SupportedKernels()) {
        // Where a processor multiplies int8 in integers, the activations are rounded as well.
        const double tolerance = format == WeightFormat::kInt8 ? 1e-3 : 2e-5;
        Expect(Difference(infer(*kernels), expected) <= tolerance, "instruction sets agree on narrow weights");
      }
    }
  }
}

// The second step on: the pool's threads are awake by then.
void StepsAllocateNothing() {
  for (const int threads : {1, 2}) {
    ThreadPool pool(threads);
    BlockCache blocks;
    const Engine<float> engine{&pool, &SupportedKernels()[0]->f32, &blocks, nullptr};
    const Network<float> network({Cell::kLstm, 2, 1, 200, 64, 0, false, true, true, INFINITY, 0, 0});
    const std::vector<float> params(network.params_size());
    const NarrowWeights int8(network, params.data(), WeightFormat::kInt8);
    for (const NarrowWeights* narrow : {static_cast<const NarrowWeights*>(nullptr), &int8}) {
      Stepper<float> stepper(network, 3, engine, narrow != nullptr);
      const std::vector<float> input = Wave<float>(3 * 64, 0.1);
      std::vector<float> output(3 * 200);
      stepper.Run(engine, {params.data(), narrow}, input.data(), output.data(), 1);
      const int before = allocations;
      for (int step = 0; step < 100; step++) stepper.Run(engine, {params.data(), narrow}, input.data(), output.data(), 1);
      Expect(allocations == before, "a step allocates nothing");
    }
  }
}

}  // namespace
}  // namespace cudnn_rnn

int main() {
  using namespace cudnn_rnn;
  SharedLoopsRunEveryItemOnce();
  HelpersFinishAlone();
  ThreadPoolServesManyCallers();
  JobQueueRunsInOrderAndStops();
  PassesDoNotDependOnThreads();
  StepsAllocateNothing();
  InstructionSetsAgree<float>(2e-5);
  InstructionSetsAgree<double>(1e-12);
  InstructionSetsAgreeOnNarrowWeights();
  std::printf("native tests on");
  for (const Kernels* kernels : SupportedKernels()) std::printf(" %s", kernels->name);
  std::printf(": %d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
