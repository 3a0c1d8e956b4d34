// The rows of a batch that a step is about.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cudnn_rnn {

// The listed rows or, without a list, `count` from `first` on.
struct BatchRows {
  const int32_t* list;
  ptrdiff_t first;
  ptrdiff_t count;

  ptrdiff_t operator[](ptrdiff_t index) const { return list == nullptr ? first + index : list[index]; }
  BatchRows Part(ptrdiff_t begin, ptrdiff_t end) const {
    return {list == nullptr ? nullptr : list + begin, first + begin, end - begin};
  }
};

}  // namespace cudnn_rnn
