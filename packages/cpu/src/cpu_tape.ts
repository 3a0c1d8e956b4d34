import type { FloatArray } from '@cudnn-rnn/canonical'
import { type RnnPassSizes, RnnTape } from '@cudnn-rnn/executor-kit'
import type { NativeTape } from './native_addon.js'

/** Intermediate values of a training forward of the CPU executor. */
export interface TapeContents {
  readonly sizes: RnnPassSizes
  readonly params: FloatArray
  readonly input: FloatArray
  readonly native: NativeTape
}

/** The tape of one training forward. */
export class CpuTape extends RnnTape<TapeContents> {
  /** A backward that is still queued keeps the native memory until it is done. */
  protected override free({ native }: TapeContents): void {
    native.release()
  }
}
