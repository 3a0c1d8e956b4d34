import { checkArguments, checkOptions, listOf, optional, TEXT } from '@cudnn-rnn/arguments'
import { checkOptionNames, codedRangeError } from '@cudnn-rnn/canonical'
import type { CellOptions } from './cell_options.js'
import type { CellState, StateSize } from './cell_state.js'
import { type BuildOptions, checkBuild, type VariableMap, type VariableSpec } from './cell_variables.js'
import { copyTensor, type FloatTensor } from './float_tensor.js'
import { CELL, type CellStep, RNNCell } from './rnn_cell.js'
import { inScope, scopedVariables } from './variable_scopes.js'

const CELLS = listOf(CELL)

/**
 * TensorFlow's `MultiRNNCell`: cells stacked, each fed the output of the one below. Its state is the list of theirs; its
 * variables are `cell_<k>/<name of cell>/<variable>`.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION` for no cells, one cell twice, or mixed dtypes
 */
export class MultiRNNCell extends RNNCell<readonly CellState[]> {
  readonly cells: readonly RNNCell<CellState>[]

  // biome-ignore lint/suspicious/noExplicitAny: a stack mixes cells of any state, and step() hands each its own back.
  constructor(cells: readonly RNNCell<any>[], options: Pick<CellOptions, 'name'> = {}) {
    checkArguments('build MultiRNNCell', { cells }, { cells: CELLS })
    checkOptions('build MultiRNNCell', options, { name: optional(TEXT) })
    super(options.name ?? 'multi_rnn_cell', cells[0]?.dtype)
    const dtypes = [...new Set(cells.map(({ dtype }) => dtype))]
    if (cells.length === 0 || new Set(cells).size !== cells.length || dtypes.length !== 1) {
      throw codedRangeError(
        'ERR_INVALID_OPTION',
        `Cannot build MultiRNNCell as cells must be one or more different cells of one dtype: current list has ${cells.length} (${dtypes.join(', ')})`,
        { option: 'cells' },
      )
    }
    this.cells = [...cells]
  }

  get stateSize(): StateSize & readonly StateSize[] {
    return this.cells.map(({ stateSize }) => stateSize)
  }

  get outputSize(): number {
    return this.cells.at(-1)!.outputSize
  }

  override get inputSize(): number | undefined {
    return this.cells[0]!.inputSize
  }

  override get variables(): VariableMap {
    return scopedVariables(this.#scoped)
  }

  override variableSpecs(inputSize: number): readonly VariableSpec[] {
    return this.#scoped.flatMap(({ scope, cell }, k) =>
      cell.variableSpecs(this.#inputSizeOf(k, inputSize)).map((spec) => ({ ...spec, name: `${scope}/${spec.name}` })),
    )
  }

  /** Builds every cell; cell k draws from seed + k. */
  override build(inputSize: number, options: BuildOptions = {}): void {
    checkBuild(this.name, inputSize, options)
    const { seed = 0 } = options
    for (const [k, cell] of this.cells.entries()) cell.build(this.#inputSizeOf(k, inputSize), { seed: seed + k })
  }

  override prepareVariables(values: Readonly<Record<string, FloatTensor>>): () => void {
    const known = this.variableSpecs(1).map(({ name }) => name)
    checkOptionNames(`set variables of ${this.name}`, values, known)
    const given = new Map(Object.entries(values))
    const writes = this.#scoped
      .map(({ scope, cell }) => ({ cell, values: Object.fromEntries(inScope(given, scope)) }))
      .filter(({ values }) => Object.keys(values).length > 0)
      .map(({ cell, values }) => cell.prepareVariables(values))
    return () => {
      for (const write of writes) write()
    }
  }

  override step(input: FloatTensor, state: readonly CellState[]): CellStep<readonly CellState[]> {
    const steps: CellStep<CellState>[] = []
    for (const [k, cell] of this.cells.entries()) steps.push(cell.step(steps[k - 1]?.output ?? input, state[k]!))
    const { output } = steps.at(-1)!
    return {
      output: copyTensor(output),
      state: steps.map((step) => step.state),
      backward: (dOutput, dState, variableGradients) => {
        const states: CellState[] = []
        let gradient = dOutput
        for (let k = steps.length - 1; k >= 0; k--) {
          const own = inScope(variableGradients, this.#scoped[k]!.scope)
          const below = steps[k]!.backward(gradient, dState[k]!, own)
          states.unshift(below.state)
          gradient = below.input
        }
        return { input: gradient, state: states }
      },
    }
  }

  get #scoped() {
    return this.cells.map((cell, k) => ({ scope: `cell_${k}/${cell.name}`, cell }))
  }

  #inputSizeOf(k: number, inputSize: number): number {
    return k === 0 ? inputSize : this.cells[k - 1]!.outputSize
  }
}
