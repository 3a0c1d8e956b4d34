import { type HostTensor, type Saveable, TensorSaveable } from '../src/index.js'

const NAMES = ['a/kernel', 'b/bias', 'c/slot']

/** Tensors whose every element follows from the step, so that a mixture of two saves is seen. */
export function savedTensors(kibibytes: number, step: number) {
  const restored = new Map<string, HostTensor>()
  const saveables: Saveable[] = NAMES.map((name, index) => {
    const data = Float32Array.from(
      { length: kibibytes * 256 },
      (_, element) => step * 7 + index + (element % 1000) / 1024,
    )
    return new TensorSaveable(
      name,
      () => ({ data, shape: [data.length] }),
      (tensor) => void restored.set(name, tensor),
    )
  })
  return { saveables, restored }
}

/** The step of `…/model-<step>`. */
export function stepOf(prefix: string): number {
  return Number(prefix.slice(prefix.lastIndexOf('-') + 1))
}
