import type { FloatArray } from '@cudnn-rnn/canonical'
import type { RnnPassSizes } from '../rnn_arguments.js'
import { RnnTape } from '../rnn_tape.js'
import type { KernelTapeMemory } from './kernel_boundary.js'

/** Intermediate values of a training forward of an executor over the kernels. */
export interface TapeContents {
  readonly sizes: RnnPassSizes
  readonly params: FloatArray
  readonly paramsVersion: number | undefined
  readonly input: FloatArray
  readonly kept: KernelTapeMemory
}

/** The tape of one training forward. */
export class KernelTape extends RnnTape<TapeContents> {
  /** A backward that is still queued keeps the memory until it is done. */
  protected override free({ kept }: TapeContents): void {
    kept.release()
  }
}
