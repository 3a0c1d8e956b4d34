#include "core/cudnn_objects.h"

namespace emulator {

CudnnTables& TheCudnnTables() {
  static CudnnTables* tables = new CudnnTables;  // never destroyed, see settings.cc
  return *tables;
}

}  // namespace emulator
