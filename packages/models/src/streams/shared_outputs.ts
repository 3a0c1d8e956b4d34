import { DTYPES, type FloatDType } from '@cudnn-rnn/ops'
import type { FloatArray } from '@cudnn-rnn/canonical'

/** The part of node:worker_threads that keeps a buffer in its thread. */
interface WorkerThreads {
  markAsUntransferable(buffer: ArrayBufferLike): void
}

/** A buffer per result costs more than the step of a small network: results share buffers of this size. */
const BLOCK_BYTES = 16384

/**
 * Copies of the outputs of a round, one array for each row. If the platform can refuse the transfer of a buffer, the
 * arrays of neighboring rows share one, as small Buffers of Node.js do: a transfer would take the results of others along.
 */
export class SharedOutputs {
  readonly #columns: number
  readonly #rowBytes: number
  readonly #blockRows: number
  readonly #arrayType: { new (buffer: ArrayBufferLike, offset: number, length: number): FloatArray }
  readonly #threads: WorkerThreads | undefined
  #block: FloatArray

  constructor(dtype: FloatDType, columns: number) {
    const { array, bytes } = DTYPES[dtype]
    this.#columns = columns
    this.#rowBytes = columns * bytes
    this.#arrayType = array
    this.#block = new array(0)
    this.#threads = (
      globalThis as { process?: { getBuiltinModule?: (name: string) => WorkerThreads | undefined } }
    ).process?.getBuiltinModule?.('node:worker_threads')
    this.#blockRows =
      this.#threads?.markAsUntransferable === undefined ? 1 : Math.max(1, Math.floor(BLOCK_BYTES / this.#rowBytes))
  }

  /** Copies one row of `outputs` [rows, columns]; rows are requested from the first to the last. */
  copyOf(outputs: FloatArray, row: number, rows: number): FloatArray {
    const place = row % this.#blockRows
    if (place === 0) {
      const end = Math.min(rows, row + this.#blockRows)
      this.#block = outputs.slice(row * this.#columns, end * this.#columns)
      if (end - row === 1) return this.#block
      this.#threads?.markAsUntransferable(this.#block.buffer)
    }
    return new this.#arrayType(this.#block.buffer, place * this.#rowBytes, this.#columns)
  }
}
