#include "core/cudnn_objects.h"

namespace fake {

CudnnTables& TheCudnnTables() {
  static CudnnTables* tables = new CudnnTables;  // never destroyed, see settings.cc
  return *tables;
}

}  // namespace fake
