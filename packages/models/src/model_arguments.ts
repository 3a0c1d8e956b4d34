import { type CellMode, describeValue } from '@cudnn-rnn/canonical'
import { checkNames, codedRangeError, codedTypeError } from '@cudnn-rnn/canonical/rules'
import type { Backend } from '@cudnn-rnn/ops'
import { checkIsBackend } from '@cudnn-rnn/ops/executor'
import type { DescriptorOptions } from './model_options.js'

/**
 * Checks the arguments of a model's constructor, but not the sizes, which `createRnnDescriptor` checks.
 *
 * @throws TypeError `ERR_NOT_A_BACKEND`, `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`
 * @throws RangeError `ERR_INVALID_OPTION`, `ERR_OTHER_CELL`
 */
export function checkModelArguments(
  className: string,
  backend: Backend,
  rnnMode: CellMode,
  options: DescriptorOptions,
  optionNames: readonly string[],
): void {
  refusePositional(className, backend, options)
  checkIsBackend(`build ${className}`, backend)
  checkDescriptorOptions(`build ${className}`, rnnMode, options)
  checkNames(`build ${className}`, options, [...optionNames, ...absentNames(options), 'cellMode', 'biasMode'])
}

/** Options of some models that a descriptor of any model lists, as undefined. */
function absentNames(options: object): string[] {
  if (typeof options !== 'object' || options === null) return []
  return ['numProj', 'cellClip'].filter((name) => (options as Record<string, unknown>)[name] === undefined)
}

/** TensorFlow's models take sizes by position: `CudnnLSTM(num_layers, num_units, input_size)`. */
function refusePositional(className: string, backend: unknown, options: unknown): void {
  const positional = [backend, options].find((value) => typeof value === 'number')
  if (positional === undefined) return
  throw codedTypeError(
    'ERR_INVALID_OPTION_TYPE',
    `Cannot build ${className} as its sizes must be fields of one object: current value is ${positional}. Write new ${className}(backend, { numLayers: 1, numUnits: 128, inputSize: 64 })`,
    { value: positional },
  )
}

/** An {@link RnnDescriptor} is valid options of the model that has its cell, with two biases for each gate. */
function checkDescriptorOptions(action: string, rnnMode: CellMode, options: DescriptorOptions): void {
  const { cellMode = rnnMode, biasMode = 'double' } = options ?? {}
  if (cellMode !== rnnMode) {
    throw codedRangeError(
      'ERR_OTHER_CELL',
      `Cannot ${action} as the descriptor's cellMode must be ${rnnMode}: current value is ${describeValue(cellMode)}. Build the model of that cell`,
      { expected: rnnMode, cellMode },
    )
  }
  if (biasMode !== 'double') {
    throw codedRangeError(
      'ERR_INVALID_OPTION',
      `Cannot ${action} as the descriptor's biasMode must be double: current value is ${describeValue(biasMode)}`,
      { option: 'biasMode', value: biasMode },
    )
  }
}
