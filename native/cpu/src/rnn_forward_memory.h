// Where the lanes of a forward pass read and write.
#ifndef CUDNN_RNN_CPU_RNN_FORWARD_MEMORY_H_
#define CUDNN_RNN_CPU_RNN_FORWARD_MEMORY_H_

#include <cstddef>
#include <vector>

#include "memory_block.h"
#include "rnn_forward.h"
#include "rnn_forward_schedule.h"

namespace cudnn_rnn {

// Training keeps every step of the record; inference holds the pre-activations of one stretch, two h by turns and one c.
template <typename T>
struct LaneMemory {
  LayerRecord<T> record;
  T* bias;           // [panels][z_width]: what every pre-activation starts with
  ptrdiff_t z_rows;  // rows of a panel of z
  const T* input;    // [T,B,in]
  T* output;         // [T,B,D·C]; a direction writes its columns
};

template <typename T>
class ForwardMemory {
 public:
  // Allocates the tape of a pass that has one.
  ForwardMemory(const Engine<T>& engine, const ForwardPass<T>& pass, const ForwardSchedule& schedule);
  ~ForwardMemory() { blocks_->GiveBack(std::move(block_)); }
  ForwardMemory(const ForwardMemory&) = delete;
  ForwardMemory& operator=(const ForwardMemory&) = delete;

  const LaneMemory<T>& lane(int pseudo_layer) const { return lanes_[pseudo_layer]; }
  // What a thread needs for int8 weights; null without.
  Int8Rows* int8_rows(int thread) { return int8_rows_.empty() ? nullptr : &int8_rows_[thread]; }

 private:
  void Carve(const ForwardPass<T>& pass, const ForwardSchedule& schedule, Arena* arena);
  void CarveRecord(const ForwardPass<T>& pass, const ForwardSchedule& schedule, int pseudo_layer, Arena* arena);

  BlockCache* const blocks_;
  std::vector<LaneMemory<T>> lanes_;  // by pseudo-layer
  std::vector<Int8Rows> int8_rows_;   // by thread
  MemoryBlock block_;
};

}  // namespace cudnn_rnn

#endif  // CUDNN_RNN_CPU_RNN_FORWARD_MEMORY_H_
