import { addRow, copyRow } from '@cudnn-rnn/ops/executor'
import type { HostValue, StepTape } from './step_tape.js'

/**
 * The elements of x [B·S,C] under a kernel at each of S positions, side by side: [B·S,K·C], zeros in the padding. A product
 * with the kernel [K·C,N] is then the convolution.
 *
 * @param sources [S·K] of `samePaddingSources`.
 */
export function patches(tape: StepTape, x: HostValue, positions: number, sources: Int32Array): HostValue {
  const { rows, columns } = x
  const taps = sources.length / positions
  const batch = rows / positions
  const y = tape.newArray(rows * taps * columns)
  for (let b = 0; b < batch; b++) {
    for (let k = 0; k < sources.length; k++) {
      if (sources[k] < 0) continue
      const from = (b * positions + sources[k]) * columns
      copyRow(y, (b * sources.length + k) * columns, x.data, from, columns)
    }
  }
  return tape.result(y, [rows, taps * columns], (dy) => {
    const dx = x.gradient
    for (let b = 0; b < batch; b++) {
      for (let k = 0; k < sources.length; k++) {
        if (sources[k] < 0) continue
        const to = (b * positions + sources[k]) * columns
        addRow(dx, to, dy, (b * sources.length + k) * columns, columns)
      }
    }
  })
}
