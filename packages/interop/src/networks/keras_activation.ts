import { CELL_ACTIVATIONS, type CellActivation, type CellActivationName } from '@cudnn-rnn/canonical'

/** Other names, and parameters that are not the defaults here. */
const KERAS_NAMES: ReadonlyMap<string, CellActivation> = new Map(
  Object.entries<CellActivation>({
    celu: 'elu',
    hard_swish: 'hard_silu',
    leaky_relu: { name: 'leaky_relu', alpha: 0.2 },
    swish: 'silu',
  }),
)
/** Functions of ONNX that Keras does not have under these names. */
const FOREIGN: ReadonlySet<string> = new Set<CellActivationName>(['affine', 'scaled_tanh', 'thresholded_relu'])

/**
 * The function that an option of a Keras layer names, or the rule for it in words.
 *
 * @param value of the option; null and undefined are `linear`.
 * @param major version of Keras that wrote the file: `hard_sigmoid` is another function since Keras 3.
 */
export function kerasActivation(
  option: string,
  value: unknown,
  major: number | undefined,
): CellActivation | { readonly refusal: string } {
  const name = value ?? 'linear'
  if (name === 'hard_sigmoid' && major !== 2) {
    if (major === 3) return { name, alpha: 1 / 6 }
    return {
      refusal: `${option} must not be hard_sigmoid in a file without a version: it is x/6 + 0.5 in Keras 3 and 0.2·x + 0.5 in older ones`,
    }
  }
  const renamed = typeof name === 'string' ? KERAS_NAMES.get(name) : undefined
  if (renamed !== undefined) return renamed
  if (typeof name === 'string' && Object.hasOwn(CELL_ACTIVATIONS, name) && !FOREIGN.has(name)) {
    return name as CellActivationName
  }
  const known = [...Object.keys(CELL_ACTIVATIONS), ...KERAS_NAMES.keys()].filter((each) => !FOREIGN.has(each))
  const words = typeof name === 'string' ? JSON.stringify(name) : 'a custom function'
  return { refusal: `${option} must be one of ${[...new Set(known)].sort().join(', ')}: current value is ${words}` }
}
