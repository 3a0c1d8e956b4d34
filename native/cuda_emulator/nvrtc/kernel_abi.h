// The interface between a compiled kernel module and the emulator's driver. The module includes no other header:
// kernels are compiled without a standard library, as with NVRTC.

namespace emulator_kernel {

struct Dim3 {
  unsigned x, y, z;
};

/// A device thread's place. One per OS thread and module; the driver sets it before each piece of a thread it runs.
struct ThreadState {
  Dim3 thread, block, block_size, grid_size;
  void* dynamic_shared;
  /// Lets the threads of the warp (0) or of the whole block (1) catch up.
  void (*wait)(int whole_block);
  /// One slot per lane of the current warp, for shuffles and votes: others after each time that the warp caught up.
  unsigned long long* exchange;
  /// The votes of the block: others, of zero, after each time that it caught up.
  int* votes;
  // A cooperative launch and one of clusters alone have these, as their blocks run together: operands of the warp's lanes for a matrix product,
  // a turn for the other threads, a store that they see at some later time, and a clock in nanoseconds.
  unsigned (*operands)[6];
  void (*spin)();
  void (*store)(unsigned* place, unsigned word);
  unsigned long long (*now)();
  /// A store to the same place in the shared memory of a block of the cluster, and the two halves of its barrier.
  void (*store_in_cluster)(unsigned* place, int rank, unsigned word);
  void (*arrive_at_cluster)();
  void (*wait_for_cluster)();
};

enum ParameterKind { kValue, kReadPointer, kWritePointer };

/// One __global__ function.
struct Kernel {
  int parameter_count;
  const unsigned* sizes;
  const int* kinds;
  /// Runs one thread; `values[i]` points at parameter i.
  void (*run)(void** values);
  /// Of __cluster_dims__; zeros without it.
  Dim3 cluster;
};

}  // namespace emulator_kernel
