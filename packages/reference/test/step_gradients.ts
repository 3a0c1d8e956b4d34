import { Philox } from '@cudnn-rnn/ops/executor'
import type { CellStep, StepBackward, StepForward } from '../src/cell_step.js'

/** One step of one unit and row; values of the gates one after another. */
export interface OneStep {
  readonly x: readonly number[]
  readonly r: readonly number[]
  readonly c?: number
  readonly h?: number
  readonly cellClip?: number
}

/** h' and c' of one unit. */
export function stepped(cell: CellStep, { x, r, c = 0, h = 0, cellClip = Number.POSITIVE_INFINITY }: OneStep) {
  const buffers: StepForward = {
    units: 1,
    cellClip,
    inputSide: Float64Array.from(x),
    recurrentSide: Float64Array.from(r),
    cell: Float64Array.of(c),
    hidden: Float64Array.of(h),
    saved: new Float64Array(cell.savedPerUnit),
  }
  cell.forward(buffers, 0, 0, 0)
  return { h: buffers.hidden[0], c: buffers.cell[0], saved: buffers.saved }
}

/** Gradients of h'·dh + c'·dc of one unit. */
export function gradientsOf(cell: CellStep, step: OneStep, dh: number, dc: number) {
  const buffers: StepBackward = {
    units: 1,
    cellClip: step.cellClip ?? Number.POSITIVE_INFINITY,
    saved: stepped(cell, step).saved,
    previousHidden: Float64Array.of(step.h ?? 0),
    hiddenGradient: Float64Array.of(dh),
    cellGradient: Float64Array.of(dc),
    inputSideGradient: new Float64Array(step.x.length),
    recurrentSideGradient: new Float64Array(step.r.length),
  }
  cell.backward(buffers, 0, 0)
  return {
    x: [...buffers.inputSideGradient],
    r: [...buffers.recurrentSideGradient],
    h: buffers.hiddenGradient[0],
    c: buffers.cellGradient[0],
  }
}

/** The same by central differences. Without `c` if the cell has no cell state. */
export function differencesOf(
  cell: CellStep,
  step: Required<Omit<OneStep, 'cellClip'>> & OneStep,
  dh: number,
  dc: number,
) {
  const delta = 1e-6
  const loss = (changed: Partial<OneStep>) => {
    const { h, c } = stepped(cell, { ...step, ...changed })
    return h * dh + c * dc
  }
  const slope = (change: (delta: number) => Partial<OneStep>) =>
    (loss(change(delta)) - loss(change(-delta))) / (2 * delta)
  const changedAt = (values: readonly number[], place: number, by: number) =>
    values.map((value, index) => (index === place ? value + by : value))
  return {
    x: step.x.map((_, place) => slope((by) => ({ x: changedAt(step.x, place, by) }))),
    r: step.r.map((_, place) => slope((by) => ({ r: changedAt(step.r, place, by) }))),
    h: slope((by) => ({ h: step.h + by })),
    c: slope((by) => ({ c: step.c + by })),
  }
}

/**
 * Runs 3 units of batch row 1 of time step 2 at once, forward and backward, and returns for each unit the results beside those
 * of the unit alone.
 */
export function besideOneUnit(cell: CellStep, gates: number) {
  const [units, batch, step, b] = [3, 2, 2, 1]
  const cases = randomSteps(gates, units)
  const row = step * batch + b
  const sides = { x: new Float64Array((row + 1) * gates * units), r: new Float64Array(batch * gates * units) }
  const place = (gate: number, unit: number, at: number) => at * gates * units + gate * units + unit
  const [cellState, hidden] = [new Float64Array(batch * units), new Float64Array(batch * units)]
  const previousHidden = new Float64Array((row + 1) * units)
  const [dh, dc] = [new Float64Array(batch * units), new Float64Array(batch * units)]
  for (const [unit, each] of cases.entries()) {
    for (let gate = 0; gate < gates; gate++) {
      sides.x[place(gate, unit, row)] = each.step.x[gate]
      sides.r[place(gate, unit, b)] = each.step.r[gate]
    }
    cellState[b * units + unit] = each.step.c
    hidden[b * units + unit] = previousHidden[row * units + unit] = each.step.h
    dh[b * units + unit] = each.dh
    dc[b * units + unit] = each.dc
  }
  const saved = new Float64Array((row + 1) * cell.savedPerUnit * units)
  const common = { units, cellClip: Number.POSITIVE_INFINITY, saved }
  const forward = { ...common, inputSide: sides.x, recurrentSide: sides.r, cell: cellState, hidden }
  cell.forward(forward, row, row, b)
  const [inputSideGradient, recurrentSideGradient] = [sides.x.slice().fill(0), sides.r.slice().fill(0)]
  const gradients = { hiddenGradient: dh, cellGradient: dc, inputSideGradient, recurrentSideGradient }
  cell.backward({ ...common, previousHidden, ...gradients }, row, b)
  const gatesOf = (values: Float64Array, unit: number, at: number) =>
    Array.from({ length: gates }, (_, gate) => values[place(gate, unit, at)])
  return cases.map((each, unit) => {
    const alone = stepped(cell, each.step)
    return {
      together: {
        state: [hidden[b * units + unit], cellState[b * units + unit]],
        x: gatesOf(inputSideGradient, unit, row),
        r: gatesOf(recurrentSideGradient, unit, b),
        ...{ h: dh[b * units + unit], c: dc[b * units + unit] },
      },
      alone: { state: [alone.h, alone.c], ...gradientsOf(cell, each.step, each.dh, each.dc) },
    }
  })
}

/** Random steps of `gates` gates, with the gradients that arrive. */
export function randomSteps(gates: number, count: number) {
  const random = new Philox(3)
  const draw = () => 2 * random.normal()
  return Array.from({ length: count }, () => ({
    step: { x: Array.from({ length: gates }, draw), r: Array.from({ length: gates }, draw), c: draw(), h: draw() },
    dh: draw(),
    dc: draw(),
  }))
}
