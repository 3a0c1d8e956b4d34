import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import type { RowNetwork } from '../../src/index.js'

/** The sum of a row's input and its number of time steps. */
export type RowSum = readonly [sum: number, steps: number]

/** One call of {@link SummingRows.step}. */
export interface RecordedRound {
  readonly rows: readonly number[]
  readonly input: readonly number[]
}

/**
 * A network of one input column. A row's output is the sum of its input and its number of time steps. With `isElsewhere`
 * a round is computed when `finish` is called.
 */
export class SummingRows implements RowNetwork<RowSum> {
  readonly dtype = 'float32'
  readonly inputSize = 1
  readonly outputSize = 2
  readonly rounds: RecordedRound[] = []
  /** Names of the calls in their order. */
  readonly calls: string[] = []
  /** The error of the next round. */
  failure: Error | undefined
  disposals = 0
  readonly #isElsewhere: boolean
  readonly #rows = new Map<number, RowSum>()
  #finish: (() => void) | undefined

  constructor({ isElsewhere = false } = {}) {
    this.#isElsewhere = isElsewhere
  }

  step(rows: Int32Array, input: Float32Array, output: Float32Array): Promise<void> | undefined {
    this.calls.push('step')
    this.rounds.push({ rows: [...rows], input: [...input] })
    const taken = [...input]
    const compute = () => {
      const { failure } = this
      this.failure = undefined
      if (failure !== undefined) throw failure
      for (const [index, row] of rows.entries()) {
        const [sum, steps] = this.#of(row)
        const next: RowSum = [sum + taken[index], steps + 1]
        this.#rows.set(row, next)
        output.set(next, 2 * index)
      }
    }
    if (!this.#isElsewhere) return void compute()
    return new Promise((resolve, reject) => {
      this.#finish = () => {
        try {
          compute()
          resolve()
        } catch (error) {
          reject(error)
        }
      }
    })
  }

  /** Completes the round that runs, and waits until its results were delivered and the next one begins. */
  async finish(): Promise<void> {
    const finish = this.#finish
    if (finish === undefined) throw new Error('no round runs')
    this.#finish = undefined
    finish()
    await endOfTurn()
    await endOfTurn()
  }

  reset(row: number): void {
    this.calls.push(`reset ${row}`)
    this.#rows.set(row, [0, 0])
  }

  async state(row: number): Promise<RowSum> {
    this.calls.push(`state ${row}`)
    return this.#of(row)
  }

  checkedState(state: RowSum): RowSum {
    if (!Array.isArray(state) || state.length !== 2) throw codedRangeError('ERR_SHAPE', 'Cannot restore')
    return [state[0], state[1]]
  }

  restore(row: number, state: RowSum): void {
    this.calls.push(`restore ${row}`)
    this.#rows.set(row, state)
  }

  dispose(): void {
    this.disposals++
  }

  #of(row: number): RowSum {
    return this.#rows.get(row) ?? [0, 0]
  }
}

const { setImmediate } = globalThis as unknown as { setImmediate(task: () => void): unknown }

/** Resolves after the rounds that were due at the end of this turn of the event loop. */
export function endOfTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
