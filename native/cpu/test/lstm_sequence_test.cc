// The recurrence of TensorFlow's cells: equal on all instruction sets, independent of the number of threads. Its
// numbers against the cells in TypeScript: packages/cells/test.
#include "passes/lstm_sequence.h"

#include <doctest/doctest.h>

#include <vector>

#include "test_values.h"
#include "tested_kernels.h"

namespace cudnn_rnn {
namespace {

struct SequenceCase {
  ptrdiff_t time;
  ptrdiff_t batch;
  ptrdiff_t units;
  bool normalizes;
  GateActivation gate_activation;
  std::vector<int32_t> lengths;
};

// Units with and without a tail, and so many rows that the backward copies the matrix.
std::vector<SequenceCase> SequenceCases() {
  std::vector<SequenceCase> cases;
  for (const bool normalizes : {false, true}) {
    cases.push_back({7, 1, 64, normalizes, GateActivation::kSigmoid, {}});
    cases.push_back({5, 3, 37, normalizes, GateActivation::kSigmoid, {5, 0, 2}});
    cases.push_back({60, 6, 18, normalizes, GateActivation::kSigmoid, {}});
  }
  cases.push_back({7, 1, 64, false, GateActivation::kHardSigmoid, {}});
  cases.push_back({5, 3, 37, false, GateActivation::kHardSigmoid, {5, 0, 2}});
  return cases;
}

template <typename T>
struct SequenceResults {
  std::vector<T> hidden, cells, dz, dh, dc, d_gamma, d_beta;
};

template <typename T>
SequenceResults<T> Train(const Kernels& kernels, int threads, const SequenceCase& each) {
  ThreadPool pool(threads);
  BlockCache blocks;
  const Engine<T> engine = EngineOf<T>(&pool, &blocks, kernels);
  const auto [time, batch, units, normalizes, gate_activation, lengths] = each;
  const auto size = [](ptrdiff_t count) { return static_cast<size_t>(count); };
  SequenceResults<T> r;
  r.hidden = Sine<T>(size((time + 1) * batch * units), 0.3);
  r.cells = Sine<T>(size((time + 1) * batch * units), 0.2);
  r.dz = Sine<T>(size(time * batch * 4 * units), 0.37);
  r.dh = Sine<T>(size(batch * units), 0.41);
  r.dc = Sine<T>(size(batch * units), 0.43);
  r.d_gamma.resize(size(5 * units));
  r.d_beta.resize(size(5 * units));
  const std::vector<T> kernel = Sine<T>(size(units * 4 * units), 0.77);
  const std::vector<T> dropout = Sine<T>(size(time * batch * units), 0.5);
  const std::vector<T> gamma = Sine<T>(size(5 * units), 0.9);
  const std::vector<T> beta = Sine<T>(size(5 * units), 0.6);
  const std::vector<T> d_output = Sine<T>(size(time * batch * units), 0.47);
  std::vector<T> normalized(size(time * batch * units));
  std::vector<T> inverses(size(time * batch * 5));

  LstmSequence<T> sequence{};
  sequence.kernel = kernel.data();
  sequence.time = time;
  sequence.batch = batch;
  sequence.units = units;
  sequence.lengths = lengths.empty() ? nullptr : lengths.data();
  sequence.gate_activation = gate_activation;
  sequence.forget_bias = 1;
  sequence.dropout = dropout.data();
  if (normalizes) {
    sequence.gamma = gamma.data();
    sequence.beta = beta.data();
    sequence.epsilon = 1e-12;
    sequence.normalized_c = normalized.data();
    sequence.inverses = inverses.data();
  }
  sequence.z = r.dz.data();
  sequence.hidden = r.hidden.data();
  sequence.cells = r.cells.data();
  RunLstmForward(engine, sequence);
  RunLstmBackward(engine, sequence, {d_output.data(), r.dh.data(), r.dc.data(), r.d_gamma.data(), r.d_beta.data()});
  return r;
}

template <typename T>
double LargestDifference(const SequenceResults<T>& actual, const SequenceResults<T>& expected) {
  double difference = 0;
  for (const auto part :
       {&SequenceResults<T>::hidden, &SequenceResults<T>::cells, &SequenceResults<T>::dz, &SequenceResults<T>::dh,
        &SequenceResults<T>::dc, &SequenceResults<T>::d_gamma, &SequenceResults<T>::d_beta}) {
    const double own = Difference(actual.*part, expected.*part);
    if (!(own <= difference)) difference = own;
  }
  return difference;
}

TEST_CASE_TEMPLATE("a sequence is the same with any number of threads and nearly so on any instruction set", T, float,
                   double) {
  for (const SequenceCase& each : SequenceCases()) {
    const SequenceResults<T> expected = Train<T>(kPortableKernels, 1, each);
    for (const Kernels* kernels : TestedKernels()) {
      const SequenceResults<T> alone = Train<T>(*kernels, 1, each);
      CHECK(LargestDifference(alone, expected) < (sizeof(T) == 4 ? 2e-5 : 1e-13));
      const SequenceResults<T> shared = Train<T>(*kernels, 3, each);
      CHECK(shared.hidden == alone.hidden);
      CHECK(shared.dz == alone.dz);
      CHECK(shared.dh == alone.dh);
      CHECK(shared.d_gamma == alone.d_gamma);
    }
  }
}

}  // namespace
}  // namespace cudnn_rnn
