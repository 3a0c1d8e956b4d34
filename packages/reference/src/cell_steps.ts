import type { CellMode } from '@cudnn-rnn/canonical'
import type { CellStep } from './cell_step.js'
import { gruStep } from './gru_step.js'
import { lstmStep } from './lstm_step.js'
import { reluStep, tanhStep } from './plain_step.js'

export const CELL_STEPS: Readonly<Record<CellMode, CellStep>> = Object.freeze({
  lstm: lstmStep,
  gru: gruStep,
  rnn_relu: reluStep,
  rnn_tanh: tanhStep,
})
