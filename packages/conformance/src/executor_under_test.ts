import type { Backend, FloatDType } from '@cudnn-rnn/backend'
import type { RoundingOracle } from './rounding_oracle.js'

/** What the parts of the suite know of the executor they test. */
export interface ExecutorUnderTest {
  /** Opens a fresh executor of the dtype under test. */
  readonly open: () => Promise<Backend>
  readonly dtype: FloatDType
  /** Error divided by the larger of 1 and the expected tensor's largest magnitude. */
  readonly tolerance: number
  readonly roundingOracle?: RoundingOracle | undefined
}
