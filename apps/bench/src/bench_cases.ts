import type { CellMode } from '@cudnn-rnn/canonical'
import { Philox } from '@cudnn-rnn/rnn/executors'
import type { Comparison, Precision } from './comparison.js'
import type { Implementation } from './implementation_table.js'
import type { Pass, Workload } from './workload.js'

/** What of the space of sizes is measured. */
export interface CaseSelection {
  /** The executor and its baselines. */
  readonly implementations: readonly Implementation[]
  /** Numbers of threads; every network of the grid is measured with each. */
  readonly threads: readonly number[]
  /** The seed that draws networks. */
  readonly seed: number
  /** How many are drawn. */
  readonly drawn: number
  /** The grid of all cells, in training too; else of LSTM in inference. */
  readonly full: boolean
}

const CELL_MODES = ['lstm', 'gru', 'rnn_relu', 'rnn_tanh'] as const

/** H and B of the grid: whole vectors and odd numbers of them, tiles of few and of many rows. */
const GRID_UNITS = [24, 48, 100, 128, 200, 300]
const GRID_BATCHES = [1, 2, 3, 8, 32]
const GRID_TIME = 50

/** H of single steps with carried state, T of them at B 1. */
const STEP_UNITS = [64, 128, 256, 512]
const STEP_TIME = 70

const BATCHES = [1, 2, 3, 4, 8, 12, 16, 32, 64]
const TIMES = [1, 5, 50, 200]
const [LEAST_UNITS, MOST_UNITS] = [16, 512]

/** The reduced precisions of a network that is drawn for them. */
const REDUCED = [
  ['inference', 'bfloat16'],
  ['inference', 'int8'],
  ['training', 'bfloat16'],
] as const

/** The grid, single steps, then the drawn networks; none without implementations that can run it. */
export function benchCases({ implementations, threads, seed, drawn, full }: CaseSelection): Comparison[] {
  const comparison = (
    name: string,
    workload: Workload,
    pass: Pass,
    count: number,
    precision: Precision = 'float32',
  ): Comparison => {
    const [ours] = implementations
    const series = { threads: count, pass }
    return {
      id: `${name}/${workload.cellMode}/${pass}/${workload.batch}x${workload.time}x${workload.numUnits}/${count}`,
      workload,
      seriesList: [
        ...(precision === 'float32' ? [] : [{ ...series, implementation: ours.name, precision: 'float32' as const }]),
        ...implementations
          .filter(({ refusal }) => refusal(workload, pass, precision) === undefined)
          .map(({ name }) => ({ ...series, implementation: name, precision })),
      ],
    }
  }
  const network = (cellMode: CellMode, batch: number, time: number, numUnits: number): Workload => ({
    ...{ cellMode, numLayers: 1, bidirectional: false, batch, time, inputSize: numUnits, numUnits },
  })
  const cells: readonly CellMode[] = full ? CELL_MODES : ['lstm']
  const passes: readonly Pass[] = full ? ['inference', 'training'] : ['inference']
  const grid = cells.flatMap((cell) =>
    passes.flatMap((pass) =>
      GRID_UNITS.flatMap((units) =>
        GRID_BATCHES.flatMap((batch) =>
          threads.map((count) => comparison('grid', network(cell, batch, GRID_TIME, units), pass, count)),
        ),
      ),
    ),
  )
  const steps = (['lstm', 'gru'] as const).flatMap((cell) =>
    STEP_UNITS.map((units) => comparison('step', network(cell, 1, STEP_TIME, units), 'streaming', 1)),
  )
  const choices = new Choices(seed)
  const random = Array.from({ length: drawn }, (_, k) => {
    const workload = drawnWorkload(choices)
    const pass = choices.next() < 0.25 ? 'training' : 'inference'
    return comparison(`drawn-${k + 1}`, workload, pass, choices.of(threads))
  })
  const reduced = Array.from({ length: Math.ceil(drawn / 4) }, (_, k) => {
    const workload = drawnWorkload(choices)
    const count = choices.of(threads)
    return REDUCED.map(([pass, precision]) =>
      comparison(`reduced-${k + 1}/${precision}`, workload, pass, count, precision),
    )
  })
  return [...grid, ...steps, ...random, ...reduced.flat()].filter(({ seriesList }) => seriesList.length > 0)
}

/** H is uniform in its logarithm; of four networks one has two layers and one two directions, and half have another input. */
function drawnWorkload(choices: Choices): Workload {
  const numUnits = Math.round(LEAST_UNITS * (MOST_UNITS / LEAST_UNITS) ** choices.next())
  return {
    cellMode: choices.of(CELL_MODES),
    numLayers: choices.next() < 0.25 ? 2 : 1,
    bidirectional: choices.next() < 0.25,
    batch: choices.of(BATCHES),
    time: choices.of(TIMES),
    inputSize: Math.max(1, Math.round(numUnits * choices.of([1, 1, 0.3, 2]))),
    numUnits,
  }
}

/** Choices by a seed. */
class Choices {
  readonly #random: Philox

  constructor(seed: number) {
    this.#random = new Philox(seed)
  }

  /** In [0, 1). */
  next(): number {
    const value = new Float32Array(1)
    this.#random.fillUniform(value, 0.5)
    return Math.min(Math.max(value[0] + 0.5, 0), 1 - 2 ** -24)
  }

  of<Value>(values: readonly Value[]): Value {
    return values[Math.floor(this.next() * values.length)]
  }
}
