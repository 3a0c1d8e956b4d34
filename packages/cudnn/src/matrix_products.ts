import { CUBLAS_OP } from './cudnn_enums.js'
import type { DeviceBuffer } from './device_buffer.js'
import type { DeviceSession } from './device_session.js'
import type { Arithmetic } from './precision.js'

/** A row-major matrix, or its transpose. */
export interface Factor {
  readonly buffer: DeviceBuffer
  /** Columns of the matrix as it is stored. */
  readonly columns: number
  readonly transposed?: boolean
}

/**
 * Appends c [rows,columns] = beta·c + a · b, all row-major: cuBLAS is column-major, where the same memory holds the
 * transposes, so it is asked for bᵀ · aᵀ.
 */
export function appendMatrixProduct(
  { native, handle }: DeviceSession,
  { cublasType, cublasCompute }: Arithmetic,
  c: DeviceBuffer,
  [rows, inner, columns]: readonly [number, number, number],
  a: Factor,
  b: Factor,
  beta: 0 | 1,
): void {
  if (rows === 0 || columns === 0) return
  if (inner === 0) {
    if (beta === 0) native.clear(handle, c.handle, 0, c.bytes)
    return
  }
  const operation = ({ transposed }: Factor) => (transposed ? CUBLAS_OP.transpose : CUBLAS_OP.none)
  native.matrixProduct(
    handle,
    operation(b),
    operation(a),
    columns,
    rows,
    inner,
    b.buffer.handle,
    b.columns,
    a.buffer.handle,
    a.columns,
    beta,
    c.handle,
    columns,
    cublasType,
    cublasCompute,
  )
}
