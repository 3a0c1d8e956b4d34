import type { FloatDType, TensorLike } from '@cudnn-rnn/ops'
import { checkIsTensor, checkRule } from './tensor_arguments.js'

/** Checks that the operands of an elementwise update have one dtype, one shape and one opaque layout. */
export function checkUpdate(action: string, dtype: FloatDType, operands: Readonly<Record<string, TensorLike>>): void {
  const names = Object.keys(operands)
  const tensors = names.map((name) => checkIsTensor(action, name, operands[name]))
  checkAlike(action, dtype, names, tensors)
}

/** Like {@link checkUpdate}, for tensors that `checkIsTensor` returned. */
export function checkAlike(
  action: string,
  dtype: FloatDType,
  names: readonly string[],
  tensors: readonly TensorLike[],
): void {
  const [first] = tensors
  if (first === undefined) return
  const rule = { dtype, shape: first.shape, layout: 'layout' in first ? first.layout : undefined }
  for (let k = 0; k < tensors.length; k++) checkRule(action, names[k], tensors[k], rule)
}
