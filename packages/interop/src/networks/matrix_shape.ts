/** Whether a stored tensor is a matrix. */
export function isMatrix(shape: readonly number[] | undefined): shape is readonly [rows: number, columns: number] {
  return shape?.length === 2
}
