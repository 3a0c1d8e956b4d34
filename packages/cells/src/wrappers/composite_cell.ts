import { checkOptionNames, hasMember } from '@cudnn-rnn/canonical/rules'
import type { CellState } from '../cell/cell_state.js'
import {
  type BuildOptions,
  type CellVariables,
  changeTogether,
  checkBuild,
  type VariableMap,
  type VariableSpec,
} from '../cell/cell_variables.js'
import type { DropoutMasks } from '../cell/dropout_masks.js'
import { checkFloatTensor, type FloatTensor } from '../cell/float_tensor.js'
import { GraphCell } from '../graph/graph_cell.js'
import type { RNNCell } from '../cell/rnn_cell.js'
import { inScope, scopedName, scopedVariables } from '../cell/variable_scopes.js'

/** An owner of some variables of a composite cell. */
export interface CellPart {
  /** Scope of its variables inside the composite cell's; empty for the same scope. */
  readonly scope: string
  readonly cell: CellVariables
  /** Columns of its input where the composite cell's input has `inputSize`. */
  inputSizeOf(inputSize: number): number
}

/** A cell whose variables belong to its parts: other cells, and its own. */
export abstract class CompositeCell<State extends CellState> extends GraphCell<State> {
  /** The parts in the order in which TensorFlow creates their variables. */
  protected abstract readonly parts: readonly CellPart[]
  /** The part whose input is the composite cell's own. */
  protected abstract readonly inputPart: CellPart

  override get inputSize(): number | undefined {
    return this.inputPart.cell.inputSize
  }

  override get variables(): VariableMap {
    return scopedVariables(this.parts)
  }

  override get runsOnTensors(): boolean {
    return this.parts.every(({ cell }) => !isRnnCell(cell) || cell.runsOnTensors)
  }

  override get randomSources(): readonly DropoutMasks[] {
    return this.parts.flatMap(({ cell }) => (isRnnCell(cell) ? cell.randomSources : []))
  }

  override variableSpecs(inputSize: number): readonly VariableSpec[] {
    return this.parts.flatMap(({ scope, cell, inputSizeOf }) =>
      cell.variableSpecs(inputSizeOf(inputSize)).map((spec) => ({ ...spec, name: scopedName(scope, spec.name) })),
    )
  }

  /** Builds every part, or none if one refuses; part k draws from seed + k. */
  override build(inputSize: number, options: BuildOptions = {}): void {
    const { seed = 0 } = checkBuild(this.name, inputSize, options)
    this.checkInputSize(inputSize)
    this.#changeParts(() => {
      for (const [k, { cell, inputSizeOf }] of this.parts.entries()) {
        cell.build(inputSizeOf(inputSize), { seed: seed + k })
      }
    })
  }

  override savepoint(): () => void {
    const restores = this.parts.map(({ cell }) => cell.savepoint())
    return () => {
      for (const restore of restores) restore()
    }
  }

  /** Throws RangeError `ERR_INVALID_OPTION` if the cell itself cannot take inputs of `inputSize` columns, which its parts can. */
  protected checkInputSize(_inputSize: number): void {}

  override prepareVariables(values: Readonly<Record<string, FloatTensor>>): () => void {
    const action = `set variables of ${this.name}`
    const ofOne = this.variableSpecs(1)
    checkOptionNames(
      action,
      values,
      ofOne.map(({ name }) => name),
    )
    this.#checkFit(action, values, ofOne)
    const given = new Map(Object.entries(values))
    const writes = this.parts
      .map((part) => ({ cell: part.cell, values: this.#ownValues(given, part) }))
      .filter(({ values }) => Object.keys(values).length > 0)
      .map(({ cell, values }) => cell.prepareVariables(values))
    return () => {
      this.#changeParts(() => {
        for (const write of writes) write()
      })
    }
  }

  #changeParts(change: () => void): void {
    changeTogether(
      this.parts.map(({ cell }) => cell),
      change,
    )
  }

  /** Throws unless the values fit one inputSize, if it is known or the first of them states it. */
  #checkFit(action: string, values: Readonly<Record<string, FloatTensor>>, ofOne: readonly VariableSpec[]): void {
    const ofNone = this.variableSpecs(0)
    const lead = ofOne.find(({ shape }, k) => shape[0] !== ofNone[k].shape[0])?.name ?? ''
    const inputSize = this.inputSize ?? (values[lead] === undefined ? undefined : this.inputSizeOf(action, values))
    if (inputSize === undefined) return
    this.checkInputSize(inputSize)
    for (const { name, shape } of this.variableSpecs(inputSize)) {
      const value = values[name]
      if (value !== undefined) checkFloatTensor(action, name, value, this.dtype, shape)
    }
  }

  /** The values of a part under its own names. */
  #ownValues(given: VariableMap, { scope, cell }: CellPart): Readonly<Record<string, FloatTensor>> {
    const names = new Set(cell.variableSpecs(1).map(({ name }) => name))
    return Object.fromEntries([...inScope(given, scope)].filter(([name]) => names.has(name)))
  }
}

/** True for every copy of the package; a part may be an attention or a projection. */
function isRnnCell(cell: CellVariables): cell is RNNCell<CellState> {
  return hasMember(cell, 'runsOnTensors')
}
