import { addRow, copyRow } from '@cudnn-rnn/ops/executor'
import type { HostValue, StepTape } from './step_tape.js'

/** Columns [begin, begin + count) of x. */
export function takeColumns(tape: StepTape, x: HostValue, begin: number, count: number): HostValue {
  const { rows, columns } = x
  const y = tape.newArray(rows * count)
  for (let row = 0; row < rows; row++) copyRow(y, row * count, x.data, row * columns + begin, count)
  return tape.result(y, [...x.shape.slice(0, -1), count], (dy) => {
    for (let row = 0; row < rows; row++) addRow(x.gradient, row * columns + begin, dy, row * count, count)
  })
}

/** x in `parts` equal blocks of columns. */
export function split(tape: StepTape, x: HostValue, parts: number): HostValue[] {
  const count = x.columns / parts
  return Array.from({ length: parts }, (_, part) => takeColumns(tape, x, part * count, count))
}

/** The values side by side. */
export function concat(tape: StepTape, values: readonly HostValue[]): HostValue {
  const columns = values.reduce((sum, value) => sum + value.columns, 0)
  const { rows } = values[0]
  const y = tape.newArray(rows * columns)
  let begin = 0
  const blocks = values.map((value) => {
    const block = { value, begin }
    begin += value.columns
    return block
  })
  for (const { value, begin: to } of blocks) {
    for (let row = 0; row < rows; row++) copyRow(y, row * columns + to, value.data, row * value.columns, value.columns)
  }
  return tape.result(y, [...values[0].shape.slice(0, -1), columns], (dy) => {
    for (const { value, begin: from } of blocks) {
      for (let row = 0; row < rows; row++) {
        addRow(value.gradient, row * value.columns, dy, row * columns + from, value.columns)
      }
    }
  })
}

/** The same elements in another shape. */
export function reshaped(tape: StepTape, x: HostValue, shape: readonly number[]): HostValue {
  return tape.result(x.data, shape, (dy) => addRow(x.gradient, 0, dy, 0, dy.length))
}
