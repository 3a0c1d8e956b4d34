import type { Backend, FloatDType } from '@cudnn-rnn/ops'
import type { Extent } from './extent.js'
import type { RoundingOracle } from './rounding_oracle.js'

/** The executor under test, as the parts of the suite receive it. */
export interface ExecutorUnderTest {
  /** Opens a fresh executor of the dtype under test. */
  readonly open: () => Promise<Backend>
  readonly dtype: FloatDType
  /** Error divided by the larger of 1 and the expected tensor's largest magnitude. */
  readonly tolerance: number
  readonly roundingOracle?: RoundingOracle | undefined
  readonly extent: Extent
}
