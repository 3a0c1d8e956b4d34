#include "cudnn/layer.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace emulator {
namespace {

// The bit of one element: its row and column in a [T, B, D·H] array of the receiving direction, for any P.
std::size_t MaskBit(const RnnPass& pass, std::size_t receiver, std::size_t b, std::size_t t, std::size_t column) {
  const RnnShape& shape = pass.shape;
  const std::size_t width = shape.directions * shape.hidden;
  return ((receiver * pass.sequences.time + t) * pass.sequences.Batch() + b) * width + column;
}

template <class Visit>
void ForEachStep(const Sequences& sequences, Visit visit) {
  for (std::size_t b = 0; b < sequences.Batch(); ++b) {
    for (std::size_t t = 0; t < sequences.lengths[b]; ++t) visit(b, t);
  }
}

}  // namespace

LayerWeights::LayerWeights(const RnnShape& shape, std::size_t pseudo, const void* space)
    : input_bias(shape.gates * shape.hidden), recurrent_bias(shape.gates * shape.hidden) {
  std::size_t at = shape.MatrixStart(pseudo);
  const auto take = [&](std::size_t count) {
    at += count;
    return Load(shape.type, space, at - count, count);
  };
  input = take(shape.InputMatrices(pseudo));
  recurrent = take(shape.gates * shape.hidden * shape.output);
  if (shape.projected) projection = take(shape.output * shape.hidden);
  at = shape.BiasStart(pseudo);
  if (shape.input_bias) input_bias = take(shape.gates * shape.hidden);
  if (shape.recurrent_bias) recurrent_bias = take(shape.gates * shape.hidden);
}

Rows LoadVectors(const Sequences& sequences, FloatType type, const void* buffer, std::size_t width) {
  Rows rows(sequences.rows, width);
  ForEachStep(sequences, [&](std::size_t b, std::size_t t) {
    Load(type, buffer, sequences.Vector(b, t) * width, width, rows[sequences.Row(b, t)]);
  });
  return rows;
}

void StoreVectors(const Sequences& sequences, FloatType type, void* buffer, const Rows& rows, bool filled,
                  double fill) {
  ForEachStep(sequences, [&](std::size_t b, std::size_t t) {
    Store(type, buffer, sequences.Vector(b, t) * rows.width, rows.width, rows[sequences.Row(b, t)]);
  });
  if (sequences.Vectors() == sequences.rows) return;
  const std::vector<double> padding(rows.width, filled ? fill : std::numeric_limits<double>::quiet_NaN());
  for (std::size_t b = 0; b < sequences.Batch(); ++b) {
    for (std::size_t t = sequences.lengths[b]; t < sequences.time; ++t) {
      Store(type, buffer, sequences.Vector(b, t) * rows.width, rows.width, padding.data());
    }
  }
}

Rows LoadState(const RnnPass& pass, const void* buffer, std::size_t pseudo, std::size_t width) {
  const std::size_t batch = pass.sequences.Batch();
  Rows state(batch, width);
  if (buffer != nullptr) Load(pass.shape.type, buffer, pseudo * batch * width, batch * width, state[0]);
  return state;
}

void StoreState(const RnnPass& pass, void* buffer, std::size_t pseudo, const Rows& state) {
  if (buffer != nullptr) Store(pass.shape.type, buffer, pseudo * state.data.size(), state.data.size(), state[0]);
}

Rows LoadSlot(const RnnPass& pass, const char* reserve, std::size_t offset, std::size_t width) {
  Rows rows(pass.sequences.rows, width);
  Load(pass.shape.type, reserve + offset, 0, rows.data.size(), rows[0]);
  return rows;
}

void StoreSlot(const RnnPass& pass, char* reserve, std::size_t offset, const Rows& rows) {
  Store(pass.shape.type, reserve + offset, 0, rows.data.size(), rows[0]);
}

void DrawMask(const RnnPass& pass, const DropoutStates& states, unsigned char* mask) {
  const RnnShape& shape = pass.shape;
  const std::size_t receivers = (shape.layers - 1) * shape.directions;
  const std::size_t bits = receivers * pass.sequences.time * pass.sequences.Batch() * shape.directions * shape.hidden;
  std::fill_n(mask, (bits + 7) / 8, static_cast<unsigned char>(0));
  for (std::size_t bit = 0; bit < bits; ++bit) {
    if (Survives(states, bit, pass.dropout_rate)) mask[bit / 8] |= static_cast<unsigned char>(1u << bit % 8);
  }
}

void ApplyMask(const RnnPass& pass, const unsigned char* mask, std::size_t pseudo, Rows& rows) {
  if (pass.dropout_rate == 0) return;
  const double scale = 1 / (1 - static_cast<double>(pass.dropout_rate));
  const std::size_t receiver = pseudo - pass.shape.directions;
  ForEachStep(pass.sequences, [&](std::size_t b, std::size_t t) {
    double* row = rows[pass.sequences.Row(b, t)];
    for (std::size_t column = 0; column < rows.width; ++column) {
      const std::size_t bit = MaskBit(pass, receiver, b, t, column);
      row[column] *= (mask[bit / 8] >> bit % 8 & 1) != 0 ? scale : 0;
    }
  });
}

Step::Step(const Sequences& sequences, bool backward, std::size_t s) {
  for (std::size_t b = 0; b < sequences.Batch(); ++b) {
    const std::size_t length = sequences.lengths[b];
    if (length <= s) continue;
    batch.push_back(b);
    const std::size_t t = backward ? length - 1 - s : s;
    row.push_back(sequences.Row(b, t));
    if (s > 0) previous.push_back(sequences.Row(b, backward ? t + 1 : t - 1));
  }
}

Rows Gathered(const Rows& state, const Step& step) {
  Rows gathered(step.Count(), state.width);
  for (std::size_t i = 0; i < step.Count(); ++i) std::copy_n(state[step.batch[i]], state.width, gathered[i]);
  return gathered;
}

Rows PreviousHidden(const RnnPass& pass, bool backward, const Rows& hidden, const Rows& initial) {
  Rows previous(pass.sequences.rows, hidden.width);
  for (std::size_t s = 0; s < pass.sequences.time; ++s) {
    const Step step(pass.sequences, backward, s);
    for (std::size_t i = 0; i < step.Count(); ++i) {
      const double* from = s > 0 ? hidden[step.previous[i]] : initial[step.batch[i]];
      std::copy_n(from, hidden.width, previous[step.row[i]]);
    }
  }
  return previous;
}

}  // namespace emulator
