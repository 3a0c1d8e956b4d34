import type { CommandList } from '../device/command_list.js'
import type { DeviceBuffer } from '../device/device_buffer.js'
import type { Arithmetic } from '../device/precision.js'
import { CUBLAS_OP } from '../sys/cudnn_enums.js'

/** A row-major matrix, or its transpose. */
export interface Factor {
  readonly buffer: DeviceBuffer
  /** Columns of the matrix as it is stored. */
  readonly columns: number
  readonly transposed?: boolean
}

/**
 * Adds c [rows,columns] = beta·c + a · b, all row-major. cuBLAS is column-major: to it, the same memory holds the
 * transposes, and cᵀ = bᵀ · aᵀ needs no copy. The leading dimension is the number of columns of a row-major matrix.
 */
export function multiply(
  list: CommandList,
  { cublasType: typeA, cublasCompute: computeType }: Arithmetic,
  c: DeviceBuffer,
  [rows, inner, columns]: readonly [number, number, number],
  a: Factor,
  b: Factor,
  beta: 0 | 1,
): void {
  if (rows === 0 || columns === 0) return
  // cuBLAS accepts k = 0, but with beta = 0 and no operands the result is simply zeros.
  if (inner === 0) {
    if (beta === 0) list.add('clear', { to: c, offset: 0, bytes: c.bytes })
    return
  }
  const operation = ({ transposed }: Factor) => (transposed ? CUBLAS_OP.transpose : CUBLAS_OP.none)
  list.add('matrixProduct', {
    opA: operation(b),
    opB: operation(a),
    m: columns,
    n: rows,
    k: inner,
    a: b.buffer,
    aOffset: 0,
    lda: b.columns,
    b: a.buffer,
    bOffset: 0,
    ldb: a.columns,
    beta,
    c,
    cOffset: 0,
    ldc: columns,
    typeA,
    typeC: typeA,
    computeType,
  })
}
