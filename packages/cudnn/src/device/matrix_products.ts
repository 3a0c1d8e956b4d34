import { CUBLAS_OP } from '../sys/cudnn_enums.js'
import type { CommandList } from './command_list.js'
import type { DeviceBuffer } from './device_buffer.js'

/** A row-major matrix in a buffer, or its transpose. */
export interface Matrix {
  readonly buffer: DeviceBuffer
  /** Bytes before it. */
  readonly offset?: number
  /** Elements from one row to the next, as it is stored. */
  readonly stride: number
  readonly transposed?: boolean
}

/** The types of a product in the numbers of cuBLAS: of both factors, of the result, of the sums. */
export interface ProductTypes {
  readonly cublasType: number
  readonly cublasCompute: number
  /** By default the factors'. */
  readonly typeC?: number
}

/**
 * Adds c [rows,columns] = beta·c + a · b, all row-major. cuBLAS is column-major: to it, the same memory holds the
 * transposes, and cᵀ = bᵀ · aᵀ needs no copy. The leading dimension is the stride of a row-major matrix.
 */
export function multiply(
  list: CommandList,
  { cublasType: typeA, cublasCompute: computeType, typeC = typeA }: ProductTypes,
  c: Pick<Matrix, 'buffer' | 'offset'>,
  [rows, inner, columns]: readonly [number, number, number],
  a: Matrix,
  b: Matrix,
  beta: 0 | 1 = 0,
): void {
  if (rows === 0 || columns === 0) return
  // cuBLAS accepts k = 0, but with beta = 0 and no operands the result, a whole buffer then, is simply zeros.
  if (inner === 0) {
    if (beta === 0) list.add('clear', { to: c.buffer, offset: 0, bytes: c.buffer.bytes })
    return
  }
  const operation = ({ transposed }: Matrix) => (transposed ? CUBLAS_OP.transpose : CUBLAS_OP.none)
  list.add('matrixProduct', {
    opA: operation(b),
    opB: operation(a),
    m: columns,
    n: rows,
    k: inner,
    a: b.buffer,
    aOffset: b.offset ?? 0,
    lda: b.stride,
    b: a.buffer,
    bOffset: a.offset ?? 0,
    ldb: a.stride,
    beta,
    c: c.buffer,
    cOffset: c.offset ?? 0,
    ldc: columns,
    typeA,
    typeC,
    computeType,
  })
}
