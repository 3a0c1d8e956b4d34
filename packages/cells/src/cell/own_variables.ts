import type { FloatDType } from '@cudnn-rnn/ops'
import { CellVariables, type VariableSpec } from './cell_variables.js'

/** The variables that a wrapper has beside its cell's. */
export class OwnVariables extends CellVariables {
  readonly #specs: (inputSize: number) => readonly VariableSpec[]

  constructor(name: string, dtype: FloatDType, specs: (inputSize: number) => readonly VariableSpec[]) {
    super(name, dtype)
    this.#specs = specs
  }

  override variableSpecs(inputSize: number): readonly VariableSpec[] {
    return this.#specs(inputSize)
  }
}
