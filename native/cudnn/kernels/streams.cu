// The states of streams, which are in rows of [L,B,C] from step to step; the conventions are dense.cu's, which stands
// before it in the same source. A step takes the batch rows `rows` [R] as states [L,R,C] and gives them back. A number below
// 0 stands for a row that fills the step up.

// y[l,r,c] = x[l,rows[r],c], and 0 in rows that fill up. `count` is L·R·C.
extern "C" __global__ void gather_states(REAL* y, const REAL* x, const int* rows, Index count, Index picked,
                                         Index batch, Index columns) {
  EACH(k, count) {
    Index row = rows[k / columns % picked], layer = k / columns / picked;
    y[k] = row < 0 ? (REAL)0 : x[(layer * batch + row) * columns + k % columns];
  }
}

// y[l,rows[r],c] = x[l,r,c], or 0 if x is null. Each row is named once. `count` is L·R·C.
extern "C" __global__ void scatter_states(REAL* y, const REAL* x, const int* rows, Index count, Index picked,
                                          Index batch, Index columns) {
  EACH(k, count) {
    Index row = rows[k / columns % picked], layer = k / columns / picked;
    if (row >= 0) y[(layer * batch + row) * columns + k % columns] = x ? x[k] : (REAL)0;
  }
}
