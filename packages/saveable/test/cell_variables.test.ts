import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkpointVariables, HighwayWrapper, LSTMCell, MultiRNNCell, NASCell } from '@cudnn-rnn/cells'
import { openCheckpoint } from '@cudnn-rnn/checkpoint'
import { expect, test } from 'vitest'
import { Saver, TensorSaveable } from '../src/index.js'

test('checkpointVariables of a cell are saved and restored under the keys of dynamic_rnn', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'cell-variables-'))
  try {
    const make = (seed: number) => {
      const cell = new MultiRNNCell([new HighwayWrapper(new NASCell(3)), new LSTMCell(2)])
      cell.build(3, { seed })
      return cell
    }
    const saverOf = (cell: MultiRNNCell) =>
      new Saver(checkpointVariables(cell).map((variable) => TensorSaveable.of(variable)))
    const saved = make(1)
    const prefix = await saverOf(saved).save(join(directory, 'model'))
    const reader = await openCheckpoint(prefix)
    const scope = 'rnn/multi_rnn_cell'
    expect(reader.names()).toEqual([
      `${scope}/cell_0/carry_b`,
      `${scope}/cell_0/carry_w`,
      `${scope}/cell_0/nas_cell/kernel`,
      `${scope}/cell_0/nas_cell/recurrent_kernel`,
      `${scope}/cell_1/lstm_cell/bias`,
      `${scope}/cell_1/lstm_cell/kernel`,
    ])
    await reader.close()
    const restored = make(2)
    expect(restored.variables).not.toEqual(saved.variables)
    await saverOf(restored).restore(prefix)
    expect(restored.variables).toEqual(saved.variables)
    const names = checkpointVariables(new LSTMCell(2), 'a')
    expect(names).toEqual([])
  } finally {
    await rm(directory, { recursive: true })
  }
})
