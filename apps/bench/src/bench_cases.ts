import type { CellMode } from '@cudnn-rnn/canonical'
import type { Comparison, Series, WeightType } from './comparison.js'
import type { Implementation } from './implementation_table.js'
import type { Pass, Workload } from './workload.js'

/** B, T, H of the table, in order of work. */
const SIZES = [
  [1, 70, 128],
  [1, 70, 512],
  [1, 70, 1024],
  [16, 70, 512],
  [64, 70, 512],
  [64, 50, 1024],
] as const

/** H of single steps at B 1. */
export const STEP_UNITS = [64, 128, 256, 512] as const

/** How much of a benchmark is run. */
export interface CaseSelection {
  /** Our executors, best first. */
  readonly executors: readonly Implementation[]
  readonly baselines: readonly Implementation[]
  readonly threads: number
  /** Three of the six sizes. */
  readonly quick: boolean
}

const CELL_MODES = ['lstm', 'gru', 'rnn_relu', 'rnn_tanh'] as const

/** Every comparison of a benchmark, section by section and small before large, so that slow implementations are found out early. */
export function benchCases(selection: CaseSelection): Comparison[] {
  const { executors, baselines, threads, quick } = selection
  const sizes = quick ? [SIZES[0], SIZES[1], SIZES[3]] : SIZES
  const best = executors.slice(0, 1)
  const series = (implementation: Implementation, changes: Partial<Series> = {}): Series => ({
    implementation: implementation.name,
    threads,
    weights: 'float32',
    pass: 'inference',
    busy: false,
    ...changes,
  })
  const passes = ['inference', 'training'] as const

  const table = sizes.flatMap((size) =>
    passes.flatMap((pass) =>
      CELL_MODES.map((mode) => {
        const work = workload(mode, size)
        const seriesList = [...executors, ...baselines].filter(({ refusal }) => refusal(work, pass) === undefined)
        return comparison(
          'table',
          work,
          pass,
          seriesList.map((implementation) => series(implementation, { pass })),
        )
      }),
    ),
  )
  const steps = (['lstm', 'gru'] as const).flatMap((mode) =>
    STEP_UNITS.map((units) => {
      const work = workload(mode, [1, 70, units])
      const others = baselines.filter(({ refusal }) => refusal(work, 'streaming') === undefined)
      const seriesList = [...best, ...others].map((implementation) =>
        series(implementation, { pass: 'streaming', threads: 1 }),
      )
      return comparison('step', work, 'streaming', seriesList)
    }),
  )
  const streaming = CELL_MODES.map((mode) =>
    comparison(
      'streaming',
      workload(mode, SIZES[1]),
      'streaming',
      best.flatMap((executor) => [series(executor), series(executor, { pass: 'streaming' })]),
    ),
  )
  const stack = { numLayers: 2, bidirectional: true }
  const onStacks = [
    ...best,
    ...baselines.filter(({ refusal }) => !refusal(workload('lstm', SIZES[1], stack), 'inference')),
  ]
  const threaded = CELL_MODES.map((mode) =>
    comparison(
      'threads',
      workload(mode, SIZES[1], stack),
      'inference',
      onStacks.flatMap((implementation) => [
        series(implementation, { threads: 1 }),
        series(implementation, { threads: 2 }),
      ]),
    ),
  )
  const weightTypes: readonly WeightType[] = ['float32', 'bfloat16', 'int8']
  const weights = CELL_MODES.map((mode) =>
    comparison(
      'weights',
      workload(mode, SIZES[2]),
      'inference',
      best.flatMap((executor) => weightTypes.map((type) => series(executor, { weights: type }))),
    ),
  )
  const busy = sizes.flatMap((size) =>
    passes.flatMap((pass) =>
      CELL_MODES.map((mode) =>
        comparison(
          'busy',
          workload(mode, size),
          pass,
          best.flatMap((executor) => [series(executor, { pass }), series(executor, { pass, busy: true })]),
        ),
      ),
    ),
  )
  return [...table, ...steps, ...streaming, ...threaded, ...weights, ...busy].filter(
    ({ seriesList }) => seriesList.length > 0,
  )
}

function workload(
  cellMode: CellMode,
  [batch, time, numUnits]: readonly [number, number, number],
  { numLayers = 1, bidirectional = false } = {},
): Workload {
  return { cellMode, numLayers, bidirectional, batch, time, inputSize: numUnits, numUnits }
}

function comparison(
  section: Comparison['section'],
  work: Workload,
  pass: Pass,
  seriesList: readonly Series[],
): Comparison {
  const { cellMode, batch, time, numUnits } = work
  return { id: `${section}/${cellMode}/${pass}/${batch}x${time}x${numUnits}`, section, workload: work, seriesList }
}
