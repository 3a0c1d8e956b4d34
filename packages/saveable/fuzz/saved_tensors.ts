import { type NumericTensor, type Saveable, TensorSaveable } from '../src/index.js'

const NAMES = ['a/kernel', 'b/bias', 'c/slot']

/** Tensors whose every element follows from the step, so that a mixture of two saves is seen. */
export function savedTensors(kibibytes: number, step: number) {
  const restored = new Map<string, NumericTensor>()
  const saveables: Saveable[] = NAMES.map((name, index) => {
    const data = elementsOf(kibibytes, step, index)
    return new TensorSaveable(
      name,
      () => ({ data, shape: [data.length] }),
      (tensor) => void restored.set(name, tensor),
    )
  })
  return { saveables, restored }
}

function elementsOf(kibibytes: number, step: number, index: number): Float32Array {
  return Float32Array.from({ length: kibibytes * 256 }, (_, element) => step * 7 + index + (element % 1000) / 1024)
}

/** The step whose tensors were restored, once every bit of them is known to be that step's. */
export function stepRestored(kibibytes: number, restored: ReadonlyMap<string, NumericTensor>): number {
  const first = restored.get(NAMES[0]!)?.data[0]
  const step = Number(first) / 7
  for (const [index, name] of NAMES.entries()) {
    const [actual, expected] = [restored.get(name)?.data, elementsOf(kibibytes, step, index)]
    if (!(actual instanceof Float32Array) || Buffer.compare(bytesOf(actual), bytesOf(expected)) !== 0) {
      throw new Error(`${name} differs from the save of step ${step}`)
    }
  }
  return step
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}
